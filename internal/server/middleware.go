package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"

	"ql/internal/fault"
	"ql/internal/hostname"
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
	host, port, err := hostname.ParseHostPort(called)
	if err != nil {
		return false
	}
	name := host.String()
	return slices.Contains(hosts, name) || port != 0 && slices.Contains(hosts, name+":"+strconv.Itoa(int(port))) ||
		name == "localhost" || host.Addr.IsLoopback()
}

// ByHost has the service answer what is called by a name of its own, and sites all else: those know
// which hosts are theirs. Health is asked for by whatever name, such as an address.
func ByHost(own []string, service, sites http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := hostname.ParseHostPort(r.Host)
		isHealth := (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") && (err != nil || host.IsAddr())
		if isHealth || isAllowed(own, r.Host) {
			service.ServeHTTP(w, r)
			return
		}
		sites.ServeHTTP(w, r)
	})
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
