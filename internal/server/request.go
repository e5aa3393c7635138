package server

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/forward"
	"ql/internal/hostname"
	"ql/internal/service"
	"ql/internal/wire"
)

// Request is a request with what is known of its caller.
type Request struct {
	*http.Request
	Caller   service.Caller
	Variable string // the variable part of the path

	https bool
	// keepsToHost has browsers take the cookie of a session from the host alone that it is for.
	keepsToHost bool
	// plainCookies has browsers keep who is signed in without https.
	plainCookies bool

	writer  http.ResponseWriter
	control *http.ResponseController
	body    countedBody
	// whole is what was read of the body, where keepsBody says that it may have to be sent on.
	whole     []byte
	keepsBody bool
	// sent is the body where it is sent on as it comes; nil elsewhere.
	sent *sentBody
	// isForwarded says that another node sent it on.
	isForwarded bool
	began       time.Time
	// bodyTime is how long after that a body which is held in memory must be there.
	bodyTime time.Duration
	memory   service.CallMemory
	gate     *admit.Gate
	// encodeError is that of the route.
	encodeError func(http.Header, wire.HeaderOptions, *service.Refusal) []byte
	isBroken    bool // its answer could not be written to its end
}

func (h *Handler) newRequest(w http.ResponseWriter, r *http.Request, began time.Time) *Request {
	address, encrypted := h.source(r)
	req := &Request{
		Request: r,
		Caller: service.Caller{
			Source: auth.Source{
				Addr:      address,
				Encrypted: encrypted,
				Origin:    auth.ReadOrigin(r.Header.Values("Origin")),
				FetchSite: r.Header.Get("Sec-Fetch-Site"),
				Changes:   r.Method != http.MethodGet && r.Method != http.MethodHead,
			},
			Page:    r.Header.Get("Origin"),
			Account: r.Header.Get("QL-Account"),
		},
		https: encrypted || h.o.HTTPS, writer: w, control: http.NewResponseController(w),
		body: countedBody{ReadCloser: r.Body}, began: began, bodyTime: h.o.BodyTime, gate: h.o.Gate,
	}
	_, req.isForwarded = forward.From(r.Context())
	req.Caller.Counted = req.isForwarded
	req.keepsBody = h.o.Nodes != nil && !req.isForwarded
	req.memory.Reservation = h.o.Ledger.Open(admit.NetworkHolder(address))
	req.Caller.Memory = &req.memory
	req.keepsToHost = h.o.HostCookies && req.https
	req.plainCookies = h.o.PlainCookies
	if len(r.Header["Cookie"]) > 0 {
		if c, err := r.Cookie(req.sessionName("/")); err == nil {
			req.Caller.Session = c.Value
		}
	}
	return req
}

// source returns the address of the caller, and whether it came by https. What
// a proxy says of those behind it counts only if the proxy is one of ours.
func (h *Handler) source(r *http.Request) (address netip.Addr, encrypted bool) {
	if from, ok := forward.From(r.Context()); ok {
		return from.Addr, from.Encrypted
	}
	encrypted = r.TLS != nil
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		address = peer.Addr().Unmap()
	}
	if !h.isProxy(address) {
		return address, encrypted
	}
	encrypted = encrypted || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap()
		if !h.isProxy(address) {
			break
		}
	}
	return address, encrypted
}

func (h *Handler) isProxy(a netip.Addr) bool {
	for _, p := range h.o.Proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Setting returns what headers depend on; origin is the page's, where it may
// read the answer.
func (r *Request) Setting(origin string) wire.HeaderOptions {
	return wire.HeaderOptions{HTTPS: r.https, Origin: origin, Languages: r.Header.Get("Accept-Language"), SameOrigin: r.Caller.FetchSite == "same-origin"}
}

// HeaderValue returns a header that is sent at most once; where it was sent more
// often, all of it, which fits nothing.
func (r *Request) HeaderValue(header string) string {
	values := r.Header.Values(header)
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ", ")
}

// TakesGzip tells whether the caller takes an answer that is compressed so.
func (r *Request) TakesGzip() bool {
	for one := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, parameter, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q, isWeight := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			return !isWeight || strings.Trim(q, "0.") != ""
		}
	}
	return false
}

// IdempotencyKey returns what a repeat of the call is to be known by; nil where
// nothing was sent.
func (r *Request) IdempotencyKey() *string {
	const header = "Idempotency-Key"
	if len(r.Header.Values(header)) == 0 {
		return nil
	}
	key := r.Header.Get(header)
	return &key
}

// sessionName is what the cookie of a session is called that is for the addresses below a path: for
// all of a host, where hosts beside it are somebody else's, such that none of them can set it.
func (r *Request) sessionName(path string) string {
	if r.keepsToHost && path == "/" {
		return wire.HostSessionName
	}
	return wire.SessionName
}

// SetSession hands a session to the caller by a cookie, for the addresses below a path. A page
// of another site gets one that browsers send back from that site alone.
func (r *Request) SetSession(h http.Header, id, path string, s wire.HeaderOptions) {
	if id != "" {
		h.Add("Set-Cookie", wire.SessionCookie(r.sessionName(path), id, path, s, r.IsListedCrossSite(s)))
	}
}

// IsListedCrossSite tells whether cookies are for a listed page of another site.
func (r *Request) IsListedCrossSite(s wire.HeaderOptions) bool {
	return s.Origin != "" && r.isCrossSite()
}

// isCrossSite tells whether the page that calls is of another site. Browsers
// say so; of one that does not, a page of another host counts as one.
func (r *Request) isCrossSite() bool {
	switch r.Caller.FetchSite {
	case "same-origin", "same-site":
		return false
	case "cross-site":
		return true
	}
	page, err := hostname.ParseOrigin(r.Caller.Page)
	here, hereErr := hostname.ParseOrigin("https://" + r.Host)
	return err != nil || hereErr != nil || page.Host != here.Host
}
