// Package domainproof finds out whether somebody may speak for a domain: a value that was told to them
// alone is in a record of its DNS, or in a file of its site. Which value, and what follows, is left to
// its users.
package domainproof

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ql/internal/network"
)

const (
	// atOnce is how many domains are asked at once.
	atOnce = 16
	// longest is how long the record, and then the file, may take.
	longest = 5 * time.Second
	// mostBytes is how long a file may be.
	mostBytes = 4 << 10
)

// ErrUnknown says that no name server told what a record has, or that it is not there.
var ErrUnknown = errors.New("the record could not be looked up")

// ErrBusy says that too many domains are being asked.
var ErrBusy = errors.New("too many domains are being proved at once")

// Checker asks domains. It may be used by any number of goroutines.
type Checker struct {
	client *network.Client
	slots  chan struct{}
}

// New returns a checker. It asks whom the policy allows, and follows no redirects: they may lead to
// others.
func New(p network.Policy, o network.Options) *Checker {
	o.Redirects, o.Bytes, o.Total, o.Cut = 0, mostBytes, longest, true
	return &Checker{client: network.NewClient(p, o), slots: make(chan struct{}, atOnce)}
}

// Close lets go of what is not in use.
func (c *Checker) Close() { c.client.Close() }

// take takes one of the slots, if there is one, until it is given back.
func (c *Checker) take() (give func(), err error) {
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	default:
		return nil, ErrBusy
	}
}

// CheckRecord reports whether a value is in a TXT record. The error is ErrBusy, ErrUnknown, or that of
// the context.
func (c *Checker) CheckRecord(ctx context.Context, record, value string) (bool, error) {
	give, err := c.take()
	if err != nil {
		return false, err
	}
	defer give()
	texts, err := c.client.TXT(ctx, record)
	switch {
	case err == nil:
		return slices.Contains(texts, value), nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	return false, ErrUnknown
}

// Check reports whether a value is in a TXT record, or a line of a file. The error is ErrBusy, or that
// of the context.
func (c *Checker) Check(ctx context.Context, record, url, value string) (bool, error) {
	give, err := c.take()
	if err != nil {
		return false, err
	}
	defer give()
	if texts, err := c.client.TXT(ctx, record); err == nil && slices.Contains(texts, value) {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	a, err := c.client.Do(ctx, network.Request{URL: url})
	if err != nil {
		return false, ctx.Err() // whatever else is wrong, there is no proof
	}
	const ok = 200
	return a.Status == ok && hasLine(string(a.Body), value), nil
}

// hasLine tells whether a value is a line of a text, of nothing else but spaces: amid other words it
// may be what a page shows of a stranger's.
func hasLine(text, value string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == value {
			return true
		}
	}
	return false
}
