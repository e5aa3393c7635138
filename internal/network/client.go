package network

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Options are how a Client calls. A zero field means its default.
type Options struct {
	HTTPSOnly bool // unless the policy allows http
	Redirects int  // that are followed at most; 0 follows none
	// Reuse keeps connections open for the next call to the same host.
	Reuse bool
	// Cut takes an answer as it is once its status has come: a body that is too
	// long, stops or fails is cut there. Otherwise the call fails.
	Cut bool

	Bytes   int64         // of an answer's body, as sent and decompressed; 8 MiB
	Ratio   int64         // by how much a body may grow when decompressed; 100
	Connect time.Duration // until a host is reached; 5 seconds
	Total   time.Duration // for a call with all its redirects; 15 seconds

	UserAgent string         // "ql"
	Roots     *x509.CertPool // whose certificates are believed; nil for the system's
	Resolver  *net.Resolver  // of names; nil for the system's
}

func (o Options) withDefaults() Options {
	if o.Bytes <= 0 {
		o.Bytes = 8 << 20
	}
	if o.Ratio <= 0 {
		o.Ratio = 100
	}
	if o.Connect <= 0 {
		o.Connect = 5 * time.Second
	}
	if o.Total <= 0 {
		o.Total = 15 * time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = "ql"
	}
	return o
}

// ForWebhooks are the options of a client that tells servers something: over
// https alone, without redirects, and without interest in what they answer.
func ForWebhooks() Options { return Options{HTTPSOnly: true, Cut: true, Bytes: 4 << 10} }

// ForFetches are the options of a client that scripts ask by.
func ForFetches() Options { return Options{Redirects: 3, Reuse: true} }

const (
	maxHeaderBytes = 64 << 10
	idle           = 30 * time.Second
	idleAtAll      = 128
	idleByHost     = 10
)

// Client calls hosts that its policy allows. It keeps no cookies, knows no
// proxy, and may be used by any number of goroutines.
type Client struct {
	policy    Policy
	o         Options
	transport transport
	agent     []string // as headers have it, for all requests
	encoding  []string // that an answer may be packed in
	// plain are the headers of requests that have none of their own. Nobody changes them.
	plain http.Header
	// known is the last host, with its port, that nothing was said against.
	known atomic.Pointer[string]
}

// NewClient returns a client.
func NewClient(p Policy, o Options) *Client {
	p.Networks, p.Ports = slices.Clone(p.Networks), slices.Clone(p.Ports)
	c := &Client{policy: p, o: o.withDefaults(), encoding: []string{"gzip"}}
	c.agent = []string{c.o.UserAgent}
	if o.Cut { // of what is packed the start alone is worth nothing
		c.encoding = []string{"identity"}
	}
	c.plain = http.Header{userAgent: c.agent, acceptEncoding: c.encoding}
	dialer := &net.Dialer{Timeout: c.o.Connect, Resolver: o.Resolver, ControlContext: c.control}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	c.transport = transport{follows: o.Redirects > 0, Transport: &http.Transport{
		Proxy:                  nil, // not even that of the environment
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
		TLSHandshakeTimeout:    c.o.Connect,
		DisableKeepAlives:      !o.Reuse,
		DisableCompression:     true, // it is undone here, within bounds
		MaxIdleConns:           idleAtAll,
		MaxIdleConnsPerHost:    idleByHost,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              protocols,
	}}
	return c
}

// Close lets go of the connections that are not in use.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Check says whether a URL could be called, as far as this can be told without
// asking for its name: nil, or an *Error with a code.
func (c *Client) Check(url string) error {
	_, err := c.Prepare(url)
	return err
}

// Request is a call.
type Request struct {
	Method string // GET where left out; CONNECT and TRACE are not taken
	URL    string
	Header map[string][]string
	Body   []byte

	// The bounds of this call where they are narrower than the client's; 0 for
	// the client's.
	Bytes int64
	Ratio int64
	Total time.Duration
}

// Answer is what came back.
type Answer struct {
	Status int
	Header map[string][]string // by canonical names
	Body   []byte
	URL    *url.URL // after redirects
}

var methods = []string{
	"", http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

const fitting = "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"

// Call is a request to an address that may be called, as far as this can be told without asking for
// its name.
type Call struct {
	client *Client
	url    *url.URL
}

// Prepare looks at an address. The error is an *Error with a code.
func (c *Client) Prepare(address string) (Call, error) {
	u, err := c.parse(address)
	return Call{c, u}, err
}

// parse is that of the policy, which does not look at the same host again and again.
func (c *Client) parse(address string) (*url.URL, error) {
	known := c.known.Load()
	u, err := c.policy.parse(address, c.o.HTTPSOnly, known)
	if err == nil && (known == nil || *known != u.Host) {
		host := strings.Clone(u.Host) // the rest of the address goes
		c.known.Store(&host)
	}
	return u, err
}

// Do makes a call. Errors are of type *Error, except that of an ended context.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	call, err := c.Prepare(r.URL)
	if err != nil {
		return Answer{}, err
	}
	return call.Do(ctx, r)
}

// Do is Client.Do to the address that was looked at, whatever that of the request is.
func (a Call) Do(ctx context.Context, r Request) (Answer, error) {
	bounds := a.client.bounds(r)
	limited, cancel := context.WithTimeoutCause(ctx, bounds.total, errTooSlow)
	defer cancel()
	return a.do(ctx, limited, bounds, r)
}

// do makes a call in a context that ends with its time.
func (a Call) do(ctx, limited context.Context, bounds bounds, r Request) (Answer, error) {
	c := a.client
	request, err := a.request(limited, r)
	if err != nil {
		return Answer{}, err
	}
	unpack := len(r.Header) == 0 || request.Header.Get(acceptEncoding) == ""
	if unpack && len(r.Header) > 0 {
		request.Header[acceptEncoding] = c.encoding
	}
	response, err := c.send(request)
	if err != nil {
		return Answer{}, explain(ctx, limited, err)
	}
	defer response.Body.Close() //nolint:errcheck // what was to be read was read
	answer := Answer{Status: response.StatusCode, Header: response.Header, URL: response.Request.URL}
	answer.Body, err = bounds.read(response, unpack && !c.o.Cut)
	if err != nil && !c.o.Cut {
		return Answer{}, explain(ctx, limited, err)
	}
	return answer, nil
}

const (
	acceptEncoding = "Accept-Encoding"
	userAgent      = "User-Agent"
)

// request makes what package http sends.
func (a Call) request(ctx context.Context, r Request) (*http.Request, error) {
	if !slices.Contains(methods, r.Method) {
		return nil, refuse(InvalidRequest, "%s is no method that can be used: %s fits", shown(r.Method), fitting)
	}
	var body io.Reader
	if len(r.Body) > 0 {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, "/", body)
	if err != nil {
		return nil, refuse(InvalidURL, "%s cannot be called", shown(r.URL)).because(err)
	}
	request.URL, request.Host = a.url, a.url.Host // which was read already
	request.Header, err = a.client.header(r.Header)
	return request, err
}

// send sends a request, and follows where the answer leads. Most lead nowhere: for those it does
// without a http.Client, which copies the headers of each request.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	response, err := c.transport.RoundTrip(r)
	if err != nil || c.o.Redirects == 0 || !redirects(response) {
		return response, err
	}
	follower := http.Client{CheckRedirect: c.redirect, Transport: &answered{transport: c.transport, first: response}}
	return follower.Do(r)
}

// redirects reports whether an answer leads to another address.
func redirects(r *http.Response) bool {
	const kind = 100
	return r.StatusCode/kind == http.StatusMultipleChoices/kind && r.Header.Get("Location") != ""
}

// answered is a transport that has the answer to its first request already.
type answered struct {
	transport
	first *http.Response
}

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(r *http.Request) (*http.Response, error) {
	if response := a.first; response != nil {
		a.first = nil
		return response, nil
	}
	return a.transport.RoundTrip(r)
}

func (c *Client) bounds(r Request) bounds {
	b := bounds{bytes: c.o.Bytes, ratio: c.o.Ratio, total: c.o.Total}
	if r.Bytes > 0 {
		b.bytes = min(b.bytes, r.Bytes)
	}
	if r.Ratio > 0 {
		b.ratio = min(b.ratio, r.Ratio)
	}
	if r.Total > 0 {
		b.total = min(b.total, r.Total)
	}
	return b
}

// control sees the address of every connection before it is made.
func (c *Client) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return refuse(AddressNotAllowed, "calls to this host are not allowed")
	}
	if k := c.policy.refusal(at.Addr()); k != "" {
		return refuse(AddressNotAllowed, "calls to this host are not allowed: its name leads to an address that is for %s%s", k, k.allowedBy())
	}
	if !c.policy.allowsPort(at.Port()) {
		return refuse(AddressNotAllowed, "port %d is not allowed: use %s%s", at.Port(), c.policy.portList(), allowedBy("egress_ports"))
	}
	return nil
}

// transport looks at where an answer redirects to before package http does,
// which takes what it cannot read for a broken answer.
type transport struct {
	*http.Transport
	follows bool
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !redirects(response) {
		return response, nil
	}
	to := response.Header.Get("Location")
	if _, err = r.URL.Parse(to); err == nil {
		return response, nil
	}
	if !t.follows {
		response.Header.Del("Location")
		return response, nil
	}
	response.Body.Close() //nolint:errcheck // nobody wants what is in it
	return nil, refuse(FetchFailed, "the host redirects to %s, which is no address", shown(to)).because(err)
}

// redirect decides whether a redirect is followed.
func (c *Client) redirect(next *http.Request, via []*http.Request) error {
	if c.o.Redirects == 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > c.o.Redirects {
		return refuse(FetchFailed, "the host redirects more than %d times", c.o.Redirects)
	}
	if _, err := c.policy.parse(next.URL.String(), c.o.HTTPSOnly, nil); err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return err
		}
		return refuse(e.Code, "the host redirects to where no call may go: %s", e.Message)
	}
	next.Header.Del("Referer") // it would tell another host what was asked here
	first := via[0].URL
	elsewhere := func(r *http.Request) bool { return !sameHost(r.URL, first) }
	if elsewhere(next) || slices.ContainsFunc(via, elsewhere) {
		for name := range next.Header {
			if !slices.Contains(harmless, name) {
				next.Header.Del(name)
			}
		}
	}
	return nil
}

func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// harmless are the headers that another host may see too: the rest may hold a
// key under any name.
var harmless = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "User-Agent"}
