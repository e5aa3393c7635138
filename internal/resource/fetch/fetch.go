// Package fetch is what FETCH reaches: other servers, through the guarded
// client of internal/network, within what an account's plan allows. Where a
// call may go and how much of an answer is read is decided there; what is sent
// and what a reply means to a script is internal/engine's.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/internal/network"
	"ql/lang/value"
)

// Limits are what a plan allows.
type Limits struct {
	Calls  int // of one run; 0 for none
	AtOnce int // of the account
	Time   time.Duration
	Bytes  int // of an answer, as sent and decompressed
	Ratio  int // decompressed to sent
}

// LimitsOf returns what the limits of a plan say about calls.
func LimitsOf(l account.Limits) Limits {
	return Limits{Calls: l.Fetches, AtOnce: l.FetchesAtOnce, Time: l.FetchTime, Bytes: l.FetchBytes, Ratio: l.FetchRatio}
}

// Options are what the calls of an account are made with.
type Options struct {
	Client *network.Client
	Limits Limits
	// Limiter holds the account's calls to Limits.AtOnce; nil for no bound.
	Limiter *Limiter
	// Allowance is what may be sent; nil for any amount.
	Allowance Allowance
	// Guard runs calls that are made side by side; may be left out.
	Guard *guard.Guard
	// Reserve reserves memory for the reply of such a call, and waits for it; nil for none.
	Reserve func(ctx context.Context, bytes int64) (release func(), err error)
	// Done is told of each call that was made: how it ended is the code of its
	// error, "ok" or "cut_off"; nil for nobody.
	Done func(how string, took time.Duration)
}

// Allowance is how much an account may send.
type Allowance interface {
	// Reserve reserves an amount before it is sent; giveBack undoes that, or a part of it. More says
	// that others follow at once. The error is for the script.
	Reserve(ctx context.Context, bytes int64, more bool) (giveBack func(bytes int64), err error)
}

// Network makes the calls of an account. It may be used by any number of runs
// at once.
type Network struct {
	o Options
}

// New returns what makes the calls of an account.
func New(o Options) *Network { return &Network{o: o} }

// Fetch implements engine.Network.
func (n *Network) Fetch(ctx context.Context, r engine.Request) (engine.Reply, error) {
	return n.fetch(ctx, r, nil)
}

// fetch makes a call, by the caller of those that follow each other; nil for one alone.
func (n *Network) fetch(ctx context.Context, r engine.Request, caller *network.Caller) (engine.Reply, error) {
	l := &n.o.Limits
	switch {
	case l.Calls == 0:
		return engine.Reply{}, value.Errorf("not_available", "this account may not FETCH")
	case r.Number > l.Calls:
		return engine.Reply{}, &value.LimitError{Name: "fetches", Max: int64(l.Calls)}
	case r.Timeout > l.Time:
		return engine.Reply{}, value.Exceeded("fetch_time", l.Time.Milliseconds(), "TIMEOUT is longer than the %g seconds that a FETCH may take", l.Time.Seconds())
	}
	if r.Timeout == 0 {
		r.Timeout = l.Time
	}
	call, err := n.o.Client.Prepare(r.URL)
	if err != nil {
		return engine.Reply{}, explain(err, "")
	}
	refund := func() {}
	if n.o.Allowance != nil {
		bytes := sent(r)
		giveBack, err := n.o.Allowance.Reserve(ctx, bytes, caller != nil)
		if err != nil {
			return engine.Reply{}, err
		}
		refund = func() { giveBack(bytes) }
	}
	if n.o.Limiter != nil {
		if err := n.o.Limiter.acquire(ctx, l.AtOnce); err != nil {
			refund()
			return engine.Reply{}, err
		}
		defer n.o.Limiter.release()
	}
	most, limit := l.Bytes, "fetch_bytes"
	if r.Most < most {
		most, limit = r.Most, "value_size" // of what a script can hold
	}
	began := time.Now()
	request := network.Request{
		Method: r.Method, URL: r.URL, Header: r.Header, Body: r.Body,
		Bytes: int64(most), Ratio: int64(l.Ratio), Total: r.Timeout,
	}
	var answer network.Answer
	if caller != nil {
		answer, err = caller.Do(call, request)
	} else {
		answer, err = call.Do(ctx, request)
	}
	err = explain(err, limit)
	n.done(err, time.Since(began))
	if err != nil {
		if neverLeft(err) {
			refund()
		}
		return engine.Reply{}, err
	}
	return engine.Reply{Status: answer.Status, Header: answer.Header, Body: answer.Body}, nil
}

// Serve implements engine.Network.
func (n *Network) Serve(ctx context.Context, calls <-chan engine.Request, done func(engine.Request, engine.Reply, error)) {
	n.o.Guard.Go(part, func() {
		var r engine.Request
		var reply engine.Reply
		caller := network.NewCaller(ctx)
		defer caller.Close()
		one := func() (err error) {
			if err = ctx.Err(); err != nil { // nobody waits for it any more
				return err
			}
			if reply, err = n.fetch(ctx, r, caller); err == nil {
				err = n.hold(ctx, &reply)
			}
			return err
		}
		for r = range calls {
			reply = engine.Reply{}
			err := n.o.Guard.DoErr(part, one)
			done(r, reply, err)
		}
	})
}

const part = "fetch"

// hold reserves the memory of a reply that waits to be taken.
func (n *Network) hold(ctx context.Context, r *engine.Reply) error {
	if n.o.Reserve == nil || len(r.Body) == 0 {
		return nil
	}
	release, err := n.o.Reserve(ctx, int64(len(r.Body)))
	if err != nil && ctx.Err() == nil {
		*r = engine.Reply{}
		return value.Errorf("fetch_failed", "the node has no memory for the reply now: make fewer calls at once")
	}
	r.Release = release
	return err
}

// sent is about how many bytes a call sends.
func sent(r engine.Request) int64 {
	n := len(r.Method) + len(r.URL) + len(r.Body)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return int64(n)
}

// neverLeft reports whether a call was refused before anything of it was sent.
// One that a redirect led astray was sent, and is not worth telling apart.
func neverLeft(err error) bool {
	var known *value.Error
	return errors.As(err, &known) && (known.Code == "address_not_allowed" || known.Code == value.BadArgument)
}

// done tells how a call went.
func (n *Network) done(err error, took time.Duration) {
	if n.o.Done == nil {
		return
	}
	how := "ok"
	if err != nil {
		how = codeOf(err)
	}
	n.o.Done(how, took)
}

func codeOf(err error) string {
	var known *value.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return "cut_off"
}

// explain turns the error of a call into one of the script; bytes is the limit
// that bounds an answer. Its cause, which holds the URL, goes no further.
func explain(err error, bytes string) error {
	if err == nil {
		return nil
	}
	var e *network.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case network.InvalidURL:
		return value.Errorf("invalid_url", "%s", e.Message)
	case network.AddressNotAllowed:
		return value.Errorf("address_not_allowed", "%s", e.Message)
	case network.InvalidRequest:
		return value.Errorf(value.BadArgument, "%s", e.Message)
	case network.LimitExceeded:
		limit := bytes
		if e.Limit == network.LimitRatio {
			limit = "fetch_ratio"
		}
		return value.Exceeded(limit, e.Most, "%s", e.Message)
	case network.FetchFailed:
		return value.Errorf("fetch_failed", "%s", e.Message)
	}
	return fmt.Errorf("a call failed with the code %q", e.Code)
}
