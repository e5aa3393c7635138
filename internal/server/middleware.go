package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"ql/internal/fault"
)

// CheckHost returns what refuses requests whose Host header is none of these names: a page
// could let its own name lead here (DNS rebinding). Nil allows any name. Addresses of
// loopback are this machine's own; health is asked for by whatever name.
func CheckHost(allowed []string) func(*http.Request) error {
	return func(r *http.Request) error {
		if allowed == nil || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || isAllowed(allowed, r.Host) {
			return nil
		}
		return fault.New(fault.NotFound,
			"this service is not called %q, which the Host header says: call it by its own address, or have its operator add the name to allowed_hosts", r.Host)
	}
}

func isAllowed(hosts []string, called string) bool {
	called = strings.ToLower(called)
	name := called
	if host, _, err := net.SplitHostPort(called); err == nil {
		name = host
	}
	if slices.Contains(hosts, name) || slices.Contains(hosts, called) || name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && addr.IsLoopback()
}

// LocalMetrics shows metrics to callers on this machine, by a name that check does not
// refuse. Only development does: behind a proxy of the same machine everybody
// calls from there.
func LocalMetrics(metrics, next http.Handler, check func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && r.Method == http.MethodGet && check(r) == nil {
			if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && at.Addr().Unmap().IsLoopback() {
				metrics.ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
