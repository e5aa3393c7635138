package server

import (
	"net/http"
	"net/netip"

	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/redacted"
	"ql/internal/wire"
)

// crossOrigin refuses requests that pages of other origins make.
var crossOrigin = http.NewCrossOriginProtection()

// CheckForged refuses requests that a page of another origin has a browser send, with the cookie of
// who is signed in. Programs, which say nothing of pages, pass.
func (r *Request) CheckForged() error {
	isForeign := r.Caller.FetchSite == "cross-site" || r.Caller.FetchSite == "same-site"
	if isForeign || crossOrigin.Check(r.Request) != nil {
		return fault.New(fault.OriginNotAllowed, "pages of other origins do not call this: it is for the dashboard")
	}
	return nil
}

// hasSecureCookie tells whether the cookie of who is signed in is one that is sent by https alone.
func (r *Request) hasSecureCookie() bool { return r.https || !r.plainCookies }

// SignIn returns the secret of who is signed in, "" for nobody.
func (r *Request) SignIn() redacted.Text {
	name := wire.PlainSignInName
	if r.hasSecureCookie() {
		name = wire.SignInName
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return redacted.Text(c.Value)
}

// SetSignIn hands the secret of a sign-in to the browser by a cookie, or, for "", takes it away.
func (r *Request) SetSignIn(h http.Header, secret redacted.Text) {
	h.Add("Set-Cookie", wire.SignInCookie(secret, r.hasSecureCookie()))
}

// CheckSignIn refuses passwords that others could read on their way, from where no browser would send
// the cookie back besides.
func (r *Request) CheckSignIn() error {
	if r.https || r.plainCookies || r.Caller.Addr.IsLoopback() {
		return nil
	}
	return fault.New(fault.OriginNotAllowed, "people sign in by https only, and this call came by http: use the https address of the service")
}

// IsLocal tells whether somebody on this machine calls it by its own name: neither through a proxy
// nor by a name that leads here from elsewhere.
func (r *Request) IsLocal() bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	host, _, err := hostname.ParseHostPort(r.Host)
	return err == nil && (host.Name == "localhost" || host.Addr.IsLoopback())
}
