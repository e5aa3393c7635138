package config

import "testing"

// TestSites: where sites are served, what below, and what links to them begin with.
func TestSites(t *testing.T) {
	for name, test := range map[string]struct {
		flags          map[string]string
		listen, host   string
		share          bool
		bound, address string // where it listens, and the address of ada's site
	}{
		"nothing set":     {},
		"dev":             {flags: map[string]string{"dev": "true"}, listen: "127.0.0.1:8081", host: "localhost", bound: "127.0.0.1:8081", address: "http://ada.localhost:8081"},
		"dev, any port":   {flags: map[string]string{"dev": "true", "listen": "127.0.0.1:0"}, listen: "127.0.0.1:0", host: "localhost", bound: "127.0.0.1:4711", address: "http://ada.localhost:4711"},
		"dev, IPv6":       {flags: map[string]string{"dev": "true", "listen": "[::1]:90"}, listen: "[::1]:91", host: "localhost", bound: "[::1]:91", address: "http://ada.localhost:91"},
		"dev, by name":    {flags: map[string]string{"dev": "true", "listen": "localhost:90"}, listen: "localhost:91", host: "localhost", bound: "127.0.0.1:91", address: "http://ada.localhost:91"},
		"dev, one port":   {flags: map[string]string{"dev": "true", "site-listen": "127.0.0.1:8080"}, listen: "127.0.0.1:8080", host: "localhost", share: true, bound: "127.0.0.1:8080", address: "http://ada.localhost:8080"},
		"a host":          {flags: map[string]string{"site-host": "Sites.Example"}, listen: "127.0.0.1:8081", host: "sites.example", bound: "127.0.0.1:8081", address: "http://ada.sites.example:8081"},
		"an address":      {flags: map[string]string{"site-url": "https://sites.example/"}, listen: "127.0.0.1:8081", host: "sites.example", bound: "127.0.0.1:8081", address: "https://ada.sites.example"},
		"behind a proxy":  {flags: map[string]string{"site-url": "https://sites.example:8443", "site-listen": "127.0.0.1:9"}, listen: "127.0.0.1:9", host: "sites.example", bound: "127.0.0.1:9", address: "https://ada.sites.example:8443"},
		"one port":        {flags: map[string]string{"site-host": "sites.example", "base-url": "https://api.example", "listen": ":443", "site-listen": ":443", "tls-cert": "c", "tls-key": "k"}, listen: ":443", host: "sites.example", share: true, bound: "0.0.0.0:443", address: "https://ada.sites.example"},
		"one port, plain": {flags: map[string]string{"site-host": "sites.example", "base-url": "http://api.example", "listen": ":80", "site-listen": ":80"}, listen: ":80", host: "sites.example", share: true, bound: "0.0.0.0:80", address: "http://ada.sites.example"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Load(Sources{Flags: test.flags})
			if err != nil {
				t.Fatal(err)
			}
			if s.SiteListen != test.listen || s.SiteHost != test.host || s.SitesShare() != test.share {
				t.Errorf("sites are at %q below %q, share %t", s.SiteListen, s.SiteHost, s.SitesShare())
			}
			if test.host == "" {
				return
			}
			if got := s.SiteOrigin("ada", test.bound); got != test.address {
				t.Errorf("the site is at %s, want %s", got, test.address)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for want, s := range map[string]Settings{
		"http://localhost:80":  {},
		"https://localhost:80": {TLSCert: []string{"x"}},
		"https://a.example":    {ACMEDomains: []string{"a.example"}},
		"https://b.example/x":  {ACMEDomains: []string{"a.example"}, BaseURL: "https://b.example/x"},
	} {
		if got := s.OwnURL("localhost:80"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
