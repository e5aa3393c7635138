package tlscert

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme/autocert"
)

// errNoSite says that no site is served at a domain.
var errNoSite = errors.New("no site is served at this domain")

// siteManager obtains certificates for the domains of sites.
type siteManager struct {
	*autocert.Manager
	log   *slog.Logger
	clock func() time.Time

	mu     sync.Mutex
	logged map[string]time.Time // when a failure was
}

func newSiteManager(o Options) *siteManager {
	m := &siteManager{log: o.Log, clock: o.Clock, logged: map[string]time.Time{}}
	m.Manager = newManager(o, func(ctx context.Context, domain string) error {
		has, err := o.Sites.HasSite(ctx, strings.TrimSuffix(domain, "."))
		if err == nil && !has {
			err = errNoSite
		}
		return err
	})
	m.Client.HTTPClient = &http.Client{Transport: &orderGuard{
		next: watchedTransport{http.DefaultTransport, m.refused}, sites: o.Sites, cache: m.Cache, clock: o.Clock, counted: map[string]time.Time{},
	}}
	return m
}

// refused logs what the authority says of an order, which the manager does not tell.
func (m *siteManager) refused(err error) {
	if m.isNews(err.Error()) {
		m.log.Warn("a certificate for the domain of a site was not obtained", "error", err)
	}
}

// GetCertificate implements tls.Config.GetCertificate. There is one certificate for a domain: who knows
// none of its kind of keys, which all have known for long, gets none, since it would be one more to be
// ordered by strangers.
func (m *siteManager) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, err := m.Manager.GetCertificate(&tls.ClientHelloInfo{
		ServerName: hello.ServerName, SupportedProtos: hello.SupportedProtos, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	})
	if err != nil && !isChallenge(hello) && m.isNews(hello.ServerName) {
		m.log.Warn("there is no certificate for the domain of a site: its owner sees to it that the domain leads here, and it is tried again in an hour", "domain", hello.ServerName, "error", err)
	}
	return c, err
}

// isNews tells whether a failure was not logged within the last hour.
func (m *siteManager) isNews(failure string) bool {
	now := m.clock()
	m.mu.Lock()
	defer m.mu.Unlock()
	return once(m.logged, failure, now, logAgainAfter)
}

// once tells whether a name was not seen for so long, and forgets those that were not.
func once(seen map[string]time.Time, name string, now time.Time, within time.Duration) bool {
	for other, at := range seen {
		if now.Sub(at) >= within {
			delete(seen, other)
		}
	}
	if _, has := seen[name]; has {
		return false
	}
	seen[name] = now
	return true
}

// orderGuard lets no order for a certificate out that is not to be: also those of the manager's renewals,
// which ask no policy. Orders are counted here, where each is one, however many callers wait for it.
type orderGuard struct {
	next  http.RoundTripper
	sites Sites
	cache autocert.Cache
	clock func() time.Time

	mu      sync.Mutex
	counted map[string]time.Time
}

// An order that the authority has not taken, since it wants another nonce, is sent again at once.
const sentAgain = time.Minute

// RoundTrip implements http.RoundTripper.
func (g *orderGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	domains, err := orderedDomains(req)
	for _, domain := range domains {
		if err == nil {
			err = g.order(req.Context(), domain)
		}
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was sent
		}
		return nil, err
	}
	return g.next.RoundTrip(req)
}

func (g *orderGuard) order(ctx context.Context, domain string) error {
	now := g.clock()
	g.mu.Lock()
	isNew := once(g.counted, domain, now, sentAgain)
	g.mu.Unlock()
	if !isNew {
		return nil
	}
	err := g.sites.OrderCertificate(ctx, domain, expiry(ctx, g.cache, domain).After(now))
	if err != nil {
		g.mu.Lock()
		delete(g.counted, domain)
		g.mu.Unlock()
		return fmt.Errorf("no certificate is ordered for %s: %w", domain, err)
	}
	return nil
}

// orderedDomains returns those of a new order (RFC 8555 section 7.4); none of other requests.
func orderedDomains(req *http.Request) (domains []string, err error) {
	switch {
	case req.Method != http.MethodPost:
		return nil, nil
	case req.GetBody == nil:
		return nil, errors.New("what is asked of the authority cannot be read")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // of bytes in memory
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var signed struct {
		Payload string `json:"payload"`
	}
	var order struct {
		Identifiers []struct {
			Value string `json:"value"`
		} `json:"identifiers"`
	}
	if err := json.Unmarshal(text, &signed); err != nil {
		return nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(signed.Payload)
	if err != nil || len(payload) == 0 { // none, where something is asked for only
		return nil, err
	}
	if err := json.Unmarshal(payload, &order); err != nil {
		return nil, err
	}
	for _, i := range order.Identifiers {
		domains = append(domains, i.Value)
	}
	return domains, nil
}
