package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/telemetry"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// renewals tells the operator of TLS certificates that are not renewed. Whoever
// fails at that goes on with the old certificate, so nobody would notice before
// it ends.
type renewals struct {
	log   *slog.Logger
	clock func() time.Time
	// ends returns when the certificate ends that does so first; zero where none
	// is known.
	ends func() time.Time

	failures atomic.Uint64
	mu       sync.Mutex
	told     string // the last failure that was logged
	when     time.Time
	warned   time.Time // of the end
}

const (
	// tellAgain is after how long the same failure is logged again.
	tellAgain = time.Hour
	// endsSoon is how long before its end a certificate should have been renewed:
	// certificates of 90 days are 30 days before.
	endsSoon  = 14 * 24 * time.Hour
	warnAgain = 24 * time.Hour
)

// failed takes down a failure, and logs it where it is news.
func (r *renewals) failed(err error) {
	r.failures.Add(1)
	text, now := err.Error(), r.clock()
	r.mu.Lock()
	news := text != r.told || now.Sub(r.when) >= tellAgain
	if news {
		r.told, r.when = text, now
	}
	r.mu.Unlock()
	if news {
		r.log.Error("a TLS certificate could not be renewed: the one before is used until it ends", "error", err, "days_left", r.daysLeft())
	}
}

// daysLeft returns how many days the certificate has that ends first, below 0
// where it has ended; NaN where none is known.
func (r *renewals) daysLeft() float64 {
	ends := r.ends()
	if ends.IsZero() {
		return math.NaN()
	}
	return math.Floor(float64(ends.Sub(r.clock()))/float64(24*time.Hour)*100) / 100
}

// remind logs, once a day, that a certificate ends soon.
func (r *renewals) remind(context.Context, time.Time) error {
	if r == nil {
		return nil
	}
	now, ends := r.clock(), r.ends()
	if ends.IsZero() || ends.Sub(now) > endsSoon || now.Sub(r.warned) < warnAgain {
		return nil
	}
	r.warned = now
	r.log.Error("a TLS certificate ends soon and was not renewed: clients refuse the service from then on", "ends", ends.UTC().Format(time.RFC3339), "days_left", r.daysLeft())
	return nil
}

// values are what is shown of it.
func (r *renewals) values() []telemetry.Value {
	return []telemetry.Value{
		{Name: "ql_tls_certificate_days_left", Help: "Days until the TLS certificate ends that does so first; NaN where there is none yet.", Read: r.daysLeft},
		{Name: "ql_tls_renewal_failures_total", Help: "Failures to renew, read or obtain a TLS certificate.", Grows: true,
			Read: func() float64 { return float64(r.failures.Load()) }},
	}
}

// setTLS makes ready what encrypts connections, where the settings say so.
func (a *App) setTLS() error {
	s, p := &a.settings, &a.parts
	if !s.TLS() {
		return nil
	}
	r := &renewals{log: a.o.Log, clock: time.Now}
	if len(s.ACMEDomains) > 0 {
		p.tls = r.obtained(newManager(s.ACMEDomains, s.ACMEEmail, filepath.Join(s.Data, "acme")), s.ACMEDomains)
	} else {
		pair := &certificate{cert: s.TLSCert, key: s.TLSKey, clock: time.Now, failed: r.failed}
		if err := pair.load(); err != nil {
			return err
		}
		r.ends = pair.ends
		p.tls = &tls.Config{GetCertificate: pair.get}
	}
	p.tls.MinVersion = tls.VersionTLS12
	p.renewals = r
	return p.metrics.Watch(r.values()...)
}

func newManager(domains []string, email, folder string) *autocert.Manager {
	return &autocert.Manager{
		Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(domains...), Email: email, Cache: autocert.DirCache(folder),
		Client: &acme.Client{DirectoryURL: autocert.DefaultACMEDirectory, UserAgent: "autocert"},
	}
}

// obtained returns the configuration of a manager that obtains certificates for
// domains. The manager renews in the background and tells nobody of failures, so
// what it does is watched: what it asks for, and what it stores.
func (r *renewals) obtained(m *autocert.Manager, domains []string) *tls.Config {
	cache := m.Cache
	r.ends = func() time.Time { return storedEnds(cache, domains) }
	m.Cache = watchedCache{cache, r}
	m.Client.HTTPClient = &http.Client{Transport: watchedAuthority{http.DefaultTransport, r}}
	config := m.TLSConfig()
	get := config.GetCertificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := get(hello)
		// What strangers ask for is no failure of ours.
		name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
		if err != nil && slices.Contains(domains, name) && !errors.Is(err, context.Canceled) {
			r.failed(fmt.Errorf("%s: %w", name, err))
		}
		return c, err
	}
	return config
}

// storedEnds returns when the first of the stored certificates ends.
func storedEnds(cache autocert.Cache, domains []string) (first time.Time) {
	for _, domain := range domains {
		for _, kind := range []string{"", "+rsa"} { // as autocert names them
			text, err := cache.Get(context.Background(), domain+kind)
			if err != nil {
				continue
			}
			block := findPEM(text, "CERTIFICATE")
			if block == nil {
				continue
			}
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err == nil && (first.IsZero() || leaf.NotAfter.Before(first)) {
				first = leaf.NotAfter
			}
		}
	}
	return first
}

// watchedCache tells of certificates that could not be stored.
type watchedCache struct {
	autocert.Cache
	r *renewals
}

// Put implements autocert.Cache.
func (c watchedCache) Put(ctx context.Context, key string, data []byte) error {
	err := c.Cache.Put(ctx, key, data)
	if err != nil {
		c.r.failed(fmt.Errorf("%s could not be stored: %w", key, err))
	}
	return err
}

// watchedAuthority tells of calls to a certificate authority that failed.
type watchedAuthority struct {
	http.RoundTripper
	r *renewals
}

// maxProblem bounds what is read of an answer to find out what it says.
const maxProblem = 64 << 10

// RoundTrip implements http.RoundTripper.
func (w watchedAuthority) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.RoundTripper.RoundTrip(req)
	if err != nil {
		if req.Context().Err() == nil {
			w.r.failed(fmt.Errorf("the certificate authority %s cannot be reached: %w", req.URL.Host, err))
		}
		return res, err
	}
	if !strings.Contains(res.Header.Get("Content-Type"), "json") && res.StatusCode < 400 {
		return res, nil
	}
	start, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	res.Body = readCloser{io.MultiReader(bytes.NewReader(start), res.Body), res.Body}
	if why := refusal(res.StatusCode, start); why != "" {
		w.r.failed(fmt.Errorf("the certificate authority %s refuses: %s", req.URL.Host, why))
	}
	return res, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// problem is what an authority says of a failure.
type problem struct {
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

// refusal returns why an answer of an authority is a refusal; "" where it is none.
func refusal(status int, body []byte) string {
	var said struct {
		problem
		Status     json.RawMessage `json:"status"`
		Error      problem         `json:"error"`
		Challenges []struct {
			Error problem `json:"error"`
		} `json:"challenges"`
	}
	_ = json.Unmarshal(body, &said) // what is no JSON says nothing
	if status >= 400 {
		if strings.HasSuffix(said.Type, ":badNonce") {
			return "" // it is asked again with another
		}
		if said.Detail == "" {
			return fmt.Sprintf("status %d", status)
		}
		return fmt.Sprintf("status %d: %s", status, shortened(said.Detail))
	}
	if string(said.Status) != `"invalid"` {
		return ""
	}
	for _, c := range said.Challenges {
		if c.Error.Detail != "" {
			return shortened(c.Error.Detail)
		}
	}
	if said.Error.Detail != "" {
		return shortened(said.Error.Detail)
	}
	return "it could not make sure that the domain is this server's"
}

// shortened keeps a log readable whatever others say.
func shortened(text string) string {
	const most = 500
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
