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
	if u, err := url.Parse(s.BaseURL); err == nil && u.Path != "" {
		refuse("base-url: %s has a path, and the dashboard and the cookie of who is signed in have none: use the root of a host, such as %s://%s", s.BaseURL, u.Scheme, u.Host)
	}
	if (s.DevUsername == "") != (s.DevPassword == "") {
		refuse("dev-username and dev-password: the development account needs both, and one is missing")
	}
	if s.NodeListen != "" && s.Database == "" {
		refuse("node-listen: nodes share a database: set database")
	}
	if s.Join && (s.Database == "" || s.Blobs == nil) {
		refuse("join: nodes share a database and a bucket: set database and blobs")
	}
	if s.DatabaseDirect != "" && s.Database == "" {
		refuse("database-direct: it is the way to a database without its pooler, and there is none: set database")
	}
	wrong = append(wrong, s.checkTLS()...)
	if s.ReadHeaderTimeout > s.ReadTimeout {
		refuse("read-header-timeout: %s is longer than read-timeout, %s", s.ReadHeaderTimeout, s.ReadTimeout)
	}
	if s.MetricsListen != "" && s.MetricsListen == s.Listen {
		refuse("metrics-listen: %s is the address for callers: metrics need one of their own", s.MetricsListen)
	}
	wrong = append(wrong, s.checkMail()...)
	return append(wrong, s.checkSites()...)
}

// checkTLS refuses settings of certificates that do not go together.
func (s *Settings) checkTLS() (wrong []error) {
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	switch certs, keys := len(s.TLSCert), len(s.TLSKey); {
	case certs == keys:
	case certs == 0 || keys == 0:
		refuse("tls-cert and tls-key: TLS needs both, and one is missing")
	default:
		refuse("tls-cert and tls-key: each certificate has a key, and there are %d and %d", certs, keys)
	}
	if s.ACMESites && s.SiteListen == "" {
		refuse("acme-sites: there are no sites: set site-host")
	}
	if s.ACMESites && !s.TLS() {
		refuse("acme-sites: the service itself needs a certificate too: set acme-domains, or tls-cert and tls-key")
	}
	if len(s.ACMEDomains) == 0 && !s.ACMESites {
		if s.ACMEEmail != "" {
			refuse("acme-email: it is used with acme-domains and acme-sites, and there are none")
		}
		if s.ACMEURL != "" {
			refuse("acme-url: it is used with acme-domains and acme-sites, and there are none")
		}
	}
	return wrong
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

// OwnHosts are the hosts at and below which nobody else has a site.
func (s *Settings) OwnHosts() []string {
	hosts := s.Hosts()
	if s.SiteHost != "" {
		hosts = append(hosts, s.SiteHost)
	}
	for i, host := range hosts {
		if name, _, err := hostname.ParseHostPort(host); err == nil {
			hosts[i] = name.String()
		}
	}
	return hosts
}

// TLS reports whether the service itself speaks HTTPS.
func (s *Settings) TLS() bool { return len(s.TLSCert) > 0 || len(s.ACMEDomains) > 0 }

// Loopback reports whether only this machine reaches the service.
func (s *Settings) Loopback() bool { return isLoopback(s.Listen) }
