// Package remote calls a service by its public JSON API, for commands that are told --server. It
// sends a credential to the one address that was named and to no other: certificates are verified,
// redirects are not followed, and plain http goes no further than this machine unless that is
// asked for. What is read of an answer is bounded.
//
// What a command shows of an answer is left to package cli. Hosts that scripts name are called by
// package network, whose rules are others.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/redacted"
)

// mostAnswer bounds an answer that is held in memory: the output of a job may be large, a page of
// a list is not.
const mostAnswer = 128 << 20

// accountHeader names the account that a call is meant for, so that the key of another one does
// nothing.
const accountHeader = "QL-Account"

// Options are whom to call, and as whom.
type Options struct {
	URL       string // of the service, such as https://ql.example.com
	PlainHTTP bool   // lets http go to other machines
	Agent     string // what the client calls itself
	// Key is a named key; otherwise Password is that of Account.
	Key, Password redacted.Text
	// Account is whom the calls are meant for; "" for whose key it is.
	Account string
	// Transport is http's own where it is nil.
	Transport http.RoundTripper
}

// Client calls a service.
type Client struct {
	base *url.URL
	http *http.Client
	o    Options
	most int64 // bytes of an answer that is held in memory
}

// ErrAddress is an address that cannot be called.
var ErrAddress = errors.New("is no address of a service")

// New returns a client. Its error says what is wrong with the address.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("%w: one such as https://ql.example.com fits", ErrAddress)
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, fmt.Errorf("%w: it has a username, a query or a fragment, and a scheme with a host fits", ErrAddress)
	case base.Scheme == "http" && !o.PlainHTTP && !isHere(base.Hostname()):
		return nil, fmt.Errorf("%w that a key is sent to: http shows it to everybody on the way; https fits, or --allow-http", ErrAddress)
	}
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/"), ""
	transport := o.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.ResponseHeaderTimeout = 2 * time.Minute // longer than any call waits
		own.MaxResponseHeaderBytes = 64 << 10
		transport = own
	}
	return &Client{base: base, o: o, most: mostAnswer, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// isHere tells whether a host is this machine.
func isHere(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// The methods of calls.
const (
	Get    = http.MethodGet
	Post   = http.MethodPost
	Put    = http.MethodPut
	Patch  = http.MethodPatch
	Delete = http.MethodDelete
)

// Call is one call of the API.
type Call struct {
	Method string
	Path   []string // the parts of the address behind /v1, each as it is called
	Query  url.Values
	JSON   any       // the body, unless Body is it
	Body   io.Reader // of whatever type
	Size   int64     // of Body, -1 where that is not known
	Header map[string]string
}

// Do makes a call and decodes its answer, where into is not nil.
func (c *Client) Do(ctx context.Context, call Call, into any) error {
	_, err := c.do(ctx, call, into, c.most)
	return err
}

// do is Do with a bound of its own, and tells how long the answer was.
func (c *Client) do(ctx context.Context, call Call, into any, most int64) (int64, error) {
	res, err := c.send(ctx, call)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }() // read, or given up
	if into == nil {
		return 0, nil
	}
	if isContent(res) {
		return 0, ErrIsContent
	}
	body, err := readAnswer(res.Body, most)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return 0, c.foreign(res.StatusCode)
	}
	return int64(len(body)), nil
}

// largestPage is how many entries of a list the service gives at once.
const largestPage = 500

// List reads a list, page by page, until there are most entries, or no more. The entries are in a
// field of the answer, and cursor is the parameter that takes where the next page begins.
func List[T any](ctx context.Context, c *Client, call Call, field, cursor string, most int) ([]T, error) {
	list := []T{}
	query := maps.Clone(call.Query)
	if query == nil {
		query = url.Values{}
	}
	call.Query = query
	left := c.most // bytes of all pages together
	for len(list) < most {
		query.Set("limit", strconv.Itoa(min(most-len(list), largestPage)))
		answer := map[string]json.RawMessage{}
		n, err := c.do(ctx, call, &answer, left)
		if err != nil {
			return nil, err
		}
		left -= n
		var page []T
		var next *string
		if json.Unmarshal(answer[field], &page) != nil || len(answer["next"]) > 0 && json.Unmarshal(answer["next"], &next) != nil {
			return nil, c.foreign(http.StatusOK)
		}
		list = append(list, page...)
		if len(page) == 0 || next == nil || *next == "" {
			break
		}
		query.Set(cursor, *next)
	}
	return list, nil
}

// Download makes a call whose answer is a file, which the caller closes. The size is -1 where the
// service does not say it.
func (c *Client) Download(ctx context.Context, call Call) (content io.ReadCloser, size int64, err error) {
	res, err := c.send(ctx, call)
	if err != nil {
		return nil, 0, err
	}
	if !isContent(res) {
		return nil, 0, errors.Join(ErrIsNoContent, res.Body.Close())
	}
	return res.Body, res.ContentLength, nil
}

// The answers at the address of a file or folder where the other was asked for.
var (
	ErrIsContent   = errors.New("the answer is a file")
	ErrIsNoContent = errors.New("the answer is no file")
)

// isContent tells whether an answer is a file that somebody stored, whatever is in it.
func isContent(res *http.Response) bool { return res.Header.Get("Content-Disposition") != "" }

// send makes a call. Its error is the service's, where that is one of the table of errors.
func (c *Client) send(ctx context.Context, call Call) (*http.Response, error) {
	address := *c.base
	parts := []string{address.EscapedPath(), "v1"}
	for _, part := range call.Path {
		if part == "." || part == ".." { // by which a proxy would lead elsewhere
			return nil, fault.New(fault.InvalidRequest, "%q is no name", part)
		}
		parts = append(parts, url.PathEscape(part))
	}
	escaped := strings.Join(parts, "/")
	address.Path, _ = url.PathUnescape(escaped)
	address.RawPath = escaped
	address.RawQuery = call.Query.Encode()
	body, size := call.Body, call.Size
	if call.JSON != nil {
		text, err := json.Marshal(call.JSON)
		if err != nil {
			return nil, err
		}
		body, size = bytes.NewReader(text), int64(len(text))
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, address.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.ContentLength = size
	}
	if call.JSON != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range call.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Accept", "application/json, */*;q=0.1")
	req.Header.Set("User-Agent", c.o.Agent)
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key.Reveal())
		if c.o.Account != "" {
			req.Header.Set(accountHeader, c.o.Account)
		}
	} else {
		req.SetBasicAuth(c.o.Account, c.o.Password.Reveal())
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, c.refusal(res)
}

// refusal reads what an answer that is none says.
func (c *Client) refusal(res *http.Response) error {
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		if to, err := res.Location(); err == nil {
			to.User, to.RawQuery, to.Fragment = nil, "", ""
			return fault.New(fault.InvalidRequest, "%s leads to %s: name that by --server, if it is yours; the key is sent nowhere by itself", c.base.Redacted(), to)
		}
		return c.foreign(res.StatusCode)
	}
	body, err := readAnswer(res.Body, c.most)
	if err != nil {
		return err
	}
	var answer struct {
		Error *struct {
			Code    string   `json:"code"`
			Message string   `json:"message"`
			Field   string   `json:"field"`
			Details []Detail `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error == nil || answer.Error.Code == "" {
		return c.foreign(res.StatusCode)
	}
	e := fault.New(fault.Code(answer.Error.Code), "%s", answer.Error.Message)
	if !strings.HasPrefix(e.Message, answer.Error.Field+": ") { // which most messages begin with
		e.Field = answer.Error.Field
	}
	if len(answer.Error.Details) > 0 {
		return &DetailedError{e, answer.Error.Details}
	}
	return e
}

// Detail is one of the errors of a script's text.
type Detail struct {
	File    string `json:"file"` // "" for the script itself
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// DetailedError is the refusal of a script that does not compile.
type DetailedError struct {
	Refusal *fault.Error
	Details []Detail
}

// Error says what the refusal does.
func (e *DetailedError) Error() string { return e.Refusal.Error() }

// Unwrap returns the refusal.
func (e *DetailedError) Unwrap() error { return e.Refusal }

// readAnswer reads an answer that is held in memory.
func readAnswer(from io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if int64(len(body)) > most {
		return nil, fmt.Errorf("the answer is longer than %d bytes, which is more than this command takes", most)
	}
	return body, nil
}

// foreign is an answer that is not the service's, such as a proxy's.
func (c *Client) foreign(status int) error {
	return fmt.Errorf("%s answered %d with what is no answer of this service: is it one, and of this version?", c.base.Redacted(), status)
}

// unreachable says why there is no answer, without the address, which is said once.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted: what was asked for may be done, or not")
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s cannot be called: %w", c.base.Redacted(), err)
}
