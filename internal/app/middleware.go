package app

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"ql/internal/fault"
	"ql/internal/server"
)

// middleware wraps the service's handler in what belongs to no operation.
func (a *App) middleware(h *server.Handler) http.Handler {
	var next http.Handler = h
	if a.settings.Dev && a.settings.MetricsListen == "" {
		next = withMetrics(a.parts.metrics.Handler(), next, a.checkHost())
	}
	return a.parts.traces.Middleware(next, func(r *http.Request) string { return cmp.Or(h.Pattern(r.URL.Path), "none") })
}

// allowedHosts are the names by which the service may be called; nil for any, where
// no setting names one. A developer's is called by those of this machine.
func (a *App) allowedHosts() []string {
	s := &a.settings
	hosts := slices.Concat(s.AllowedHosts, s.ACMEDomains)
	for _, address := range []string{s.BaseURL, s.JSONAPIURL, s.FileURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	if len(hosts) == 0 && s.Dev && !s.DevPublic {
		hosts = []string{"localhost"}
	}
	return hosts
}

// checkHost refuses calls whose Host header is another name: a page could let its own
// name lead here (DNS rebinding). Addresses of loopback are this machine's own; health is
// asked for by whatever name.
func (a *App) checkHost() func(*http.Request) error {
	hosts := a.allowedHosts()
	return func(r *http.Request) error {
		if hosts == nil || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || isAllowed(hosts, r.Host) {
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

// withMetrics shows metrics to callers on this machine, by a name that is not
// refused. Only development does: behind a proxy of the same machine everybody
// calls from there.
func withMetrics(metrics, next http.Handler, refusal func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && r.Method == http.MethodGet && refusal(r) == nil {
			if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && at.Addr().Unmap().IsLoopback() {
				metrics.ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
