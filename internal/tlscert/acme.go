package tlscert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme/autocert"
)

// watch returns how a manager finds certificates for domains. The manager renews in the
// background and reports no failures, so its calls and its cache are wrapped.
func (m *Monitor) watch(manager *autocert.Manager, domains []string) getCertificate {
	manager.Cache = watchedCache{manager.Cache, m}
	manager.Client.HTTPClient = &http.Client{Transport: watchedTransport{http.DefaultTransport, m.failed}}
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := manager.GetCertificate(hello)
		// What strangers ask for is no failure of ours.
		name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
		if err != nil && slices.Contains(domains, name) && !errors.Is(err, context.Canceled) {
			m.failed(fmt.Errorf("%s: %w", name, err))
		}
		return c, err
	}
}

// firstExpiry returns when the first of the stored certificates expires.
func firstExpiry(cache autocert.Cache, domains []string) (first time.Time) {
	for _, domain := range domains {
		for _, kind := range []string{"", "+rsa"} { // as autocert names them
			expires := expiry(context.Background(), cache, domain+kind)
			if !expires.IsZero() && (first.IsZero() || expires.Before(first)) {
				first = expires
			}
		}
	}
	return first
}

// expiry returns when a stored certificate expires, zero where there is none.
func expiry(ctx context.Context, cache autocert.Cache, key string) time.Time {
	text, err := cache.Get(ctx, key)
	if err != nil {
		return time.Time{}
	}
	block := findPEM(text, "CERTIFICATE")
	if block == nil {
		return time.Time{}
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return leaf.NotAfter
}

// watchedCache reports certificates that could not be stored.
type watchedCache struct {
	autocert.Cache
	monitor *Monitor
}

// Put implements autocert.Cache.
func (c watchedCache) Put(ctx context.Context, key string, data []byte) error {
	err := c.Cache.Put(ctx, key, data)
	if err != nil {
		c.monitor.failed(fmt.Errorf("%s could not be stored: %w", key, err))
	}
	return err
}

// watchedTransport reports calls to a certificate authority that failed.
type watchedTransport struct {
	http.RoundTripper
	failed func(error)
}

// maxProblem bounds what is read of an answer to find out what it says.
const maxProblem = 64 << 10

// RoundTrip implements http.RoundTripper.
func (w watchedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.RoundTripper.RoundTrip(req)
	if err != nil {
		if req.Context().Err() == nil {
			w.failed(fmt.Errorf("the certificate authority %s cannot be reached: %w", req.URL.Host, err))
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
		w.failed(fmt.Errorf("the certificate authority %s refuses: %s", req.URL.Host, why))
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
		return fmt.Sprintf("status %d: %s", status, truncate(said.Detail))
	}
	if string(said.Status) != `"invalid"` {
		return ""
	}
	for _, c := range said.Challenges {
		if c.Error.Detail != "" {
			return truncate(c.Error.Detail)
		}
	}
	if said.Error.Detail != "" {
		return truncate(said.Error.Detail)
	}
	return "it could not make sure that the domain is this server's"
}

// truncate keeps a log readable whatever others say.
func truncate(text string) string {
	const most = 500
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
