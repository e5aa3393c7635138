package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"ql/internal/hostname"
)

// completeSites fills in where sites are, where something says that there are any.
func (s *Settings) completeSites() {
	if s.SiteHost == "" && s.SiteURL != "" {
		if host, _, err := urlHost(s.SiteURL); err == nil {
			s.SiteHost = host.Name
		}
	}
	if s.SiteHost == "" && s.Dev {
		s.SiteHost = localhost
	}
	if s.SiteListen == "" && s.SiteHost != "" {
		s.SiteListen = nextPort(s.Listen)
	}
}

// nextPort returns an address to listen on with the port after that of another; "" where there is
// none.
func nextPort(listen string) string {
	_, port, ok := cutListen(listen)
	if !ok || port == 65535 {
		return ""
	}
	if port > 0 { // else any free one
		port++
	}
	return listen[:strings.LastIndexByte(listen, ':')+1] + strconv.Itoa(int(port))
}

// SitesShare reports whether sites are served where the service listens, and told from it by
// their hosts.
func (s *Settings) SitesShare() bool {
	_, port, _ := cutListen(s.Listen)
	return s.SiteListen == s.Listen && port != 0
}

// checkSites keeps sites, whose pages anybody may write, from the origins of the service's own
// pages, and from their cookies.
func (s *Settings) checkSites() (wrong []error) {
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if s.SiteListen == "" {
		if s.SiteHost != "" {
			refuse("site-listen: there is no port after that of listen, %s: name one", s.Listen)
		}
		return wrong
	}
	if s.SiteHost == "" {
		refuse("site-host: sites need a domain below which each account has a host: name one, or leave out site-listen")
		return wrong
	}
	if s.SiteListen == s.MetricsListen {
		refuse("metrics-listen: %s is the address of sites: metrics need one of their own", s.MetricsListen)
	}
	if s.Dev && !s.DevPublic && isLoopback(s.Listen) && !isLoopback(s.SiteListen) {
		refuse("site-listen: with dev only this machine is listened to, and %s is reached by others: use 127.0.0.1, or set dev-public", s.SiteListen)
	}
	if s.SitesShare() && s.BaseURL == "" && !s.Dev {
		refuse("site-listen: it is that of listen, and without base-url nobody can tell which hosts are the service's: set that, or give sites a listener of their own")
	}
	if s.SiteURL != "" {
		if host, _, err := urlHost(s.SiteURL); err != nil || host.Name != s.SiteHost {
			refuse("site-url: its host is not that of site-host, %s", s.SiteHost)
		}
	}
	for _, own := range []struct{ name, url string }{{"base-url", s.BaseURL}, {"json-api-url", s.JSONAPIURL}, {"file-url", s.FileURL}} {
		if err := s.checkOwn(own.name, own.url); err != nil {
			return append(wrong, err)
		}
	}
	return wrong
}

// checkOwn refuses an address of the service's own that a site could have, or whose cookies a site
// could set.
func (s *Settings) checkOwn(name, address string) error {
	if address == "" {
		return nil
	}
	host, origin, err := urlHost(address)
	if err != nil {
		return err
	}
	if s.SiteURL != "" {
		if _, site, err := urlHost(s.SiteURL); err == nil && site == origin {
			return fmt.Errorf("site-url: it has the origin of %s, and pages of sites could then act as the service's own: give sites a host or a port of their own", name)
		}
	}
	if host.Name == s.SiteHost && !s.Dev || strings.HasSuffix(host.Name, "."+s.SiteHost) {
		return fmt.Errorf("site-host: %s has the host %s, which is that of a site, or whose cookies sites could set: give sites a domain that the service has no part of", name, host.Name)
	}
	return nil
}

// urlHost returns the host of an address, and its origin.
func urlHost(address string) (host hostname.Host, origin hostname.Origin, err error) {
	if origin, err = hostname.OriginOf(address); err == nil {
		host, err = hostname.Parse(origin.Host)
	}
	return host, origin, err
}

// OwnURL is how callers reach the service: local is the address by which this machine does.
func (s *Settings) OwnURL(local string) string {
	switch {
	case s.BaseURL != "":
		return s.BaseURL
	case len(s.ACMEDomains) > 0:
		return "https://" + s.ACMEDomains[0]
	}
	return s.scheme() + "://" + local
}

// Local reports whether the service is a developer's, for this machine alone.
func (s *Settings) Local() bool { return s.Dev && !s.DevPublic }

// DashboardURL is where owners' pages are; own is how callers reach the service. A developer calls them
// by localhost, so that browsers keep their cookies from what is at other addresses of this machine.
func (s *Settings) DashboardURL(own string) string {
	if s.Local() && s.BaseURL == "" {
		own = strings.Replace(own, "//127.0.0.1:", "//localhost:", 1)
	}
	return own + "/app/"
}

// Where links lead by which somebody makes an account, sets a new password, or signs in, before their
// token. That of the last is behind a #, which browsers send to nobody.
const (
	WelcomePath = "/app/welcome/"
	ResetPath   = "/app/reset/"
	SignInPath  = "/app/sign-in#"
)

// PublicURL is OwnURL of a service that may not run. Where no setting says how callers reach it, it is a
// guess: a service may have been started with another --listen.
func (s *Settings) PublicURL() (address string, isGuess bool) {
	isGuess = s.BaseURL == "" && len(s.ACMEDomains) == 0
	at := strings.LastIndexByte(s.Listen, ':')
	switch s.Listen[:max(at, 0)] {
	case "", "0.0.0.0", "[::]", "127.0.0.1", "[::1]":
		return s.OwnURL(localhost + s.Listen[max(at, 0):]), isGuess
	}
	return s.OwnURL(s.Listen), isGuess
}

func (s *Settings) scheme() string {
	if s.TLS() {
		return "https"
	}
	return "http"
}

// SiteOrigin is the address of the site of an account, without a slash at its end; bound is where
// sites are served, with the port that was taken.
func (s *Settings) SiteOrigin(username, bound string) string {
	scheme, port := s.scheme(), bound[strings.LastIndexByte(bound, ':')+1:]
	if u, err := url.Parse(s.SiteURL); s.SiteURL != "" && err == nil {
		scheme, port = u.Scheme, u.Port()
	}
	address := scheme + "://" + username + "." + s.SiteHost
	if port == "" || port == "80" && scheme == "http" || port == "443" && scheme == "https" {
		return address
	}
	return address + ":" + port
}
