package config

import (
	"fmt"
	"net/url"
	"slices"

	"ql/internal/hostname"
)

// check refuses settings that do not go together.
func (s *Settings) check() []error {
	var wrong []error
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if s.Dev && !s.DevPublic && !isLoopback(s.Listen) {
		refuse("listen: with dev only this machine is listened to, and %s is reached by others: use 127.0.0.1, or set dev-public where everybody who reaches it may run scripts", s.Listen)
	}
	if s.DevPublic && !s.Dev {
		refuse("dev-public: it only changes what dev does, and dev is off")
	}
	if (s.DevUsername == "") != (s.DevPassword == "") {
		refuse("dev-username and dev-password: the development account needs both, and one is missing")
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		refuse("tls-cert and tls-key: TLS needs both, and one is missing")
	}
	if s.TLSCert != "" && len(s.ACMEDomains) > 0 {
		refuse("acme-domains: the certificate comes from tls-cert already")
	}
	if s.ACMEEmail != "" && len(s.ACMEDomains) == 0 {
		refuse("acme-email: it is used with acme-domains, and there are none")
	}
	if s.ReadHeaderTimeout > s.ReadTimeout {
		refuse("read-header-timeout: %s is longer than read-timeout, %s", s.ReadHeaderTimeout, s.ReadTimeout)
	}
	if s.MetricsListen != "" && s.MetricsListen == s.Listen {
		refuse("metrics-listen: %s is the address for callers: metrics need one of their own", s.MetricsListen)
	}
	return append(wrong, s.checkSites()...)
}

// Hosts are the names by which the service may be called; nil for any, where no setting
// names one. A developer's is called by those of this machine.
func (s *Settings) Hosts() []string {
	hosts := slices.Concat(s.AllowedHosts, s.ACMEDomains)
	for _, address := range []string{s.BaseURL, s.JSONAPIURL, s.FileURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			host, _, err := hostname.ParseHostPort(u.Host)
			if err != nil { // which parseURL has refused
				continue
			}
			hosts = append(hosts, host.String())
		}
	}
	if len(hosts) == 0 && s.Dev && !s.DevPublic {
		hosts = []string{"localhost"}
	}
	return hosts
}

// TLS reports whether the service itself speaks HTTPS.
func (s *Settings) TLS() bool { return s.TLSCert != "" || len(s.ACMEDomains) > 0 }

// Loopback reports whether only this machine reaches the service.
func (s *Settings) Loopback() bool { return isLoopback(s.Listen) }
