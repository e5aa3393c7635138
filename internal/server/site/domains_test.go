package site_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/tlscert/tlscerttest"
)

// give has an account prove a domain of its site.
func (w *world) give(username, domain string) {
	w.t.Helper()
	w.Operate(func(o *operator.Operator) error {
		if _, err := o.Accounts.RequestSiteDomain(w.t.Context(), username, domain); err != nil {
			return err
		}
		_, err := o.Accounts.ProveSiteDomain(w.t.Context(), username, domain, func(context.Context, string, string) (bool, error) { return true, nil })
		return err
	})
}

// listeners are where sites may be served.
var listeners = map[string]func(testing.TB, ...func(*config.Settings)) *world{"a listener of their own": boot, "the service's listener": bootShared}

// TestOwnDomains: a site is at the domains that its owner has proved, until they are gone, and at no
// others.
func TestOwnDomains(t *testing.T) {
	for name, boot := range listeners {
		t.Run(name, func(t *testing.T) { testOwnDomains(t, boot(t)) })
	}
}

func testOwnDomains(t *testing.T, w *world) {
	w.Account("bob", account.Standard)
	w.put("ada", "index.ql", `SET "c" AS "1" OF !COOKIE EMIT "ada at ", !REQUEST('host')`)
	w.put("ada", "go.ql", `SET "status" AS 303 OF !RESPONSE SET "header:Location" AS !GET('to') OF !RESPONSE`)
	w.put("bob", "index.html", "bob's")
	w.Operate(func(o *operator.Operator) error {
		_, err := o.Accounts.RequestSiteDomain(t.Context(), "ada", "unproven.example")
		return err
	})
	w.give("ada", "shop.example")
	w.give("ada", "www.shop.example")
	w.give("bob", "bobs.example")
	address := w.SiteURL("ada")
	port := address[strings.LastIndexByte(address, ':'):]
	at := func(host, path string) answer {
		t.Helper()
		return w.call("GET", address+path, "", "Host", host)
	}
	want := func(host string, status int, body string) {
		t.Helper()
		if a := at(host, "/"); a.status != status || body != "" && a.body != body {
			t.Errorf("%s: %d %s", host, a.status, a.body)
		}
	}
	want("shop.example", 200, "ada at shop.example")
	want("SHOP.example.:4711", 200, "")
	want("www.shop.example", 200, "ada at www.shop.example")
	want("bobs.example", 200, "bob's")
	want("ada.sites.example", 200, "ada at ada.sites.example")
	for _, host := range []string{"unproven.example", "x.shop.example", "example", "other.example", "shop.example.evil", "_ql.shop.example"} {
		want(host, 421, "")
	}
	for _, cookie := range at("shop.example", "/").header.Values("Set-Cookie") {
		if strings.Contains(strings.ToLower(cookie), "domain=") {
			t.Errorf("a cookie is for more than the host: %s", cookie)
		}
	}

	// A page leads to what is its own.
	for to, location := range map[string]string{
		"https://www.shop.example" + port + "/a?b#c": "https://www.shop.example" + port + "/a?b#c",
		"http://ada.sites.example" + port:            "http://ada.sites.example" + port + "/",
		"http://shop.example" + port + "/x":          "/x",
		"https://bobs.example" + port + "/":          "",
		"https://bob.sites.example" + port + "/":     "",
		"https://unproven.example" + port + "/":      "",
		"https://www.shop.example:9/":                "",
		"https://www.shop.example" + port + "/../a":  "https://www.shop.example" + port + "/a",
		"https://u@www.shop.example" + port + "/":    "",
		"https://sites.example" + port + "/":         "",
		"javascript://www.shop.example" + port + "/": "",
	} {
		if a := w.call("GET", "http://shop.example"+port+"/go?to="+url.QueryEscape(to), ""); a.header.Get("Location") != location {
			t.Errorf("%s leads to %q, want %q", to, a.header.Get("Location"), location)
		}
	}

	// What is removed, or whose account is disabled, is gone with the next request.
	w.Operate(func(o *operator.Operator) error {
		return o.Accounts.RemoveSiteDomain(t.Context(), "ada", "shop.example")
	})
	want("shop.example", 421, "")
	want("www.shop.example", 200, "ada at www.shop.example")
	w.Operate(func(o *operator.Operator) error { return o.Accounts.SetFlag(t.Context(), "ada", "disabled", true) })
	want("www.shop.example", 421, "")
	w.give("bob", "shop.example")
	want("shop.example", 200, "bob's")
}

// TestSiteCertificates: on the listener of sites, and on one that they share, the name that is called
// chooses the operator's certificate for sites.
func TestSiteCertificates(t *testing.T) {
	own, wild := t.TempDir(), t.TempDir()
	tlscerttest.Write(t, own, 1)
	roots := x509.NewCertPool()
	roots.AddCert(tlscerttest.WriteFor(t, wild, 2, "*."+domain))
	for name, boot := range listeners {
		t.Run(name, func(t *testing.T) {
			w := boot(t, func(s *config.Settings) {
				s.TLSCert = []string{filepath.Join(own, "cert.pem"), filepath.Join(wild, "cert.pem")}
				s.TLSKey = []string{filepath.Join(own, "key.pem"), filepath.Join(wild, "key.pem")}
			})
			w.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
			if a := w.get("/"); !strings.HasPrefix(w.SiteURL("ada"), "https://") || a.status != 404 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}
