// Package tlscert provides the certificates that a server shows its callers: read from files,
// or obtained from an ACME authority, and renewed while it runs. The name that a caller asks for
// chooses among them. Who listens is left to others.
package tlscert

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Sites are the domains of sites, which come and go while the server runs.
type Sites interface {
	// HasSite tells whether a site is served at a domain.
	HasSite(ctx context.Context, domain string) (bool, error)
	// OrderCertificate is called before an authority is asked for a certificate. The error says why
	// it is not to be.
	OrderCertificate(ctx context.Context, domain string, renewal bool) error
}

// Options say where certificates come from: from files, from an ACME authority, or both.
type Options struct {
	// CertFiles and KeyFiles, of which there are as many, are the settings tls-cert and tls-key. The
	// first is shown to who asks for a name that none is for.
	CertFiles, KeyFiles []string

	Domains []string // of the server itself, obtained by ACME
	Sites   Sites    // likewise; nil for none

	Directory string // the address of the authority; that of Let's Encrypt where it is ""
	Email     string // of whom the authority writes to; may be empty
	Folder    string // where obtained certificates are stored

	Log   *slog.Logger
	Clock func() time.Time
}

// Open returns how connections are encrypted, and what watches the certificates of the server itself.
func Open(o Options) (*tls.Config, *Monitor, error) {
	monitor := &Monitor{log: o.Log, clock: o.Clock}
	s := selection{domains: o.Domains, sites: o.Sites, log: o.Log}
	var expiries []func() time.Time
	for i, cert := range o.CertFiles {
		pair := &keyPair{cert: cert, key: o.KeyFiles[i], clock: o.Clock, failed: monitor.failed}
		if err := pair.load(); err != nil {
			return nil, nil, err
		}
		s.pairs = append(s.pairs, pair)
		expiries = append(expiries, pair.notAfter)
	}
	if len(o.Domains) > 0 {
		manager := newManager(o, autocert.HostWhitelist(o.Domains...))
		cache := manager.Cache
		expiries = append(expiries, func() time.Time { return firstExpiry(cache, o.Domains) })
		s.ofDomains = monitor.watch(manager, o.Domains)
	}
	if o.Sites != nil {
		s.ofSites = newSiteManager(o).GetCertificate
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.getCertificate}
	if s.ofDomains != nil || s.ofSites != nil {
		config.NextProtos = []string{"h2", "http/1.1", acme.ALPNProto}
	}
	monitor.notAfter = func() time.Time { return firstOf(expiries) }
	return config, monitor, nil
}

// firstOf returns the first of moments, zero where none is known.
func firstOf(moments []func() time.Time) (first time.Time) {
	for _, get := range moments {
		if t := get(); !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

type getCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// selection chooses among certificates by the name that a caller asks for.
type selection struct {
	pairs     []*keyPair
	domains   []string
	ofDomains getCertificate // nil for none
	sites     Sites          // nil for none
	ofSites   getCertificate // nil for none
	log       *slog.Logger
}

// getCertificate implements tls.Config.GetCertificate. What the operator has set goes before what
// owners of sites have.
func (s *selection) getCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if s.ofDomains != nil && slices.Contains(s.domains, name) {
		return s.ofDomains(hello)
	}
	if s.ofSites != nil && isChallenge(hello) {
		return s.ofSites(hello)
	}
	for _, pair := range s.pairs {
		if pair.isFor(name) {
			return pair.getCertificate(hello)
		}
	}
	if s.ofSites != nil && name != "" {
		has, err := s.sites.HasSite(hello.Context(), name)
		if err != nil {
			s.log.Warn("whether a site is served at a domain could not be looked up", "domain", name, "error", err)
		}
		if has {
			return s.ofSites(hello)
		}
	}
	if len(s.pairs) == 0 {
		return nil, errNoCertificate
	}
	return s.pairs[0].getCertificate(hello)
}

// errNoCertificate ends a handshake: it is none of the service's failures.
var errNoCertificate = errors.New("there is no certificate for this name")

// isChallenge tells whether it is an authority that asks, to see whose the domain is.
func isChallenge(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto
}

func newManager(o Options, policy autocert.HostPolicy) *autocert.Manager {
	return &autocert.Manager{
		Prompt: autocert.AcceptTOS, HostPolicy: policy, Email: o.Email, Cache: autocert.DirCache(o.Folder),
		Client: &acme.Client{DirectoryURL: cmp.Or(o.Directory, autocert.DefaultACMEDirectory), UserAgent: "autocert"},
	}
}
