package network

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/internal/hostname"
)

const maxURL = 2048

// localNames are endings of names that never lead to a public host.
var localNames = []string{"local", "internal", "localdomain", "home.arpa", "intranet", "lan", "corp"}

// parse reads a URL and finds what can be said against it before its name is
// resolved. What follows of it at the time of the call is for the dialer. Nothing is said against the
// host, with its port, that is known; nil for none.
func (p *Policy) parse(text string, httpsOnly bool, known *string) (*url.URL, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, refuse(InvalidURL, "%s is no URL such as https://example.com/path", shown(text))
	}
	if err := p.checkScheme(u, httpsOnly && !p.PlainHTTP); err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, refuse(InvalidURL, "a URL with a username or password is not taken: credentials go into a header")
	}
	if u.Opaque != "" || u.Host == "" {
		return nil, refuse(InvalidURL, "%s names no host: a URL looks like https://example.com/path", shown(text))
	}
	if known == nil || u.Host != *known {
		if err := p.checkHost(u); err != nil {
			return nil, err
		}
		if err := p.checkPort(u); err != nil {
			return nil, err
		}
	}
	u.Fragment, u.RawFragment = "", "" // never sent
	return u, nil
}

// checkText refuses what parsers are known to read differently.
func checkText(text string) error {
	if text == "" {
		return refuse(InvalidURL, "the URL is empty")
	}
	if len(text) > maxURL {
		return refuse(InvalidURL, "the URL has %d characters: at most %d are taken", len(text), maxURL)
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || c == 0x7f:
			return refuse(InvalidURL, "a URL has no spaces or control characters: write them as %%20 and the like")
		case c == '\\':
			return refuse(InvalidURL, `a URL has no \: write / or %%5C`)
		case c > 0x7f:
			return refuse(InvalidURL, "a URL has ASCII characters only: write others as %%C3%%A4 and the like, and a domain by its xn-- form")
		}
	}
	return nil
}

func (p *Policy) checkScheme(u *url.URL, httpsOnly bool) error {
	switch {
	case u.Scheme == "https", u.Scheme == "http" && !httpsOnly:
		return nil
	case u.Scheme == "http":
		return refuse(AddressNotAllowed, "http is not allowed here: the URL must begin with https://%s", allowedBy("egress_http"))
	case httpsOnly:
		return refuse(InvalidURL, "the URL must begin with https://")
	}
	return refuse(InvalidURL, "the URL must begin with https:// or http://")
}

func (p *Policy) checkHost(u *url.URL) error {
	host := u.Hostname()
	text := host
	if strings.HasPrefix(u.Host, "[") {
		text = "[" + host + "]"
	}
	h, err := hostname.ParseURL(text)
	switch {
	case errors.Is(err, hostname.ErrIPv6):
		return refuse(InvalidURL, "%s is no IPv6 address", shown(host))
	case errors.Is(err, hostname.ErrIPv4):
		return refuse(InvalidURL, "%s is no host: an address of IPv4 has four decimal numbers", shown(host))
	case err != nil:
		return refuse(InvalidURL, "%s is no host such as example.com", shown(host))
	case h.IsAddr():
		return p.checkAddress(host, h.Addr)
	}
	return p.checkName(host, h.Name)
}

func (p *Policy) checkAddress(host string, a netip.Addr) error {
	if k := p.refusal(a); k != "" {
		return refuse(AddressNotAllowed, "calls to %s are not allowed: the address is for %s%s", host, k, k.allowedBy())
	}
	return nil
}

// checkName refuses names that say themselves that they are not public, where
// nothing but public hosts is allowed.
func (p *Policy) checkName(host, name string) error {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		if k := p.refusal(netip.AddrFrom4([4]byte{127, 0, 0, 1})); k != "" {
			return refuse(AddressNotAllowed, "calls to %s are not allowed: the name is for %s%s", host, k, k.allowedBy())
		}
		return nil
	}
	if !p.public() {
		return nil
	}
	if !strings.Contains(name, ".") {
		return refuse(AddressNotAllowed, "calls to %s are not allowed: a public host has a dot in its name%s", host, private.allowedBy())
	}
	for _, ending := range localNames {
		if strings.HasSuffix(name, "."+ending) {
			return refuse(AddressNotAllowed, "calls to %s are not allowed: names in .%s are for %s%s", host, ending, private, private.allowedBy())
		}
	}
	return nil
}

func (p *Policy) checkPort(u *url.URL) error {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return refuse(InvalidURL, "the URL has a colon and no port behind it")
		}
		return nil
	}
	port, err := hostname.ParsePort(text)
	if err != nil {
		return refuse(InvalidURL, "%s is no port: ports are numbers from 1 to 65535", shown(text))
	}
	if !p.allowsPort(port) {
		return refuse(AddressNotAllowed, "port %d is not allowed: use %s%s", port, p.portList(), allowedBy("egress_ports"))
	}
	return nil
}

func (p *Policy) portList() string {
	list := "80"
	more := slices.Sorted(slices.Values(p.Ports))
	for _, port := range append([]uint16{443}, more...) {
		list += fmt.Sprintf(" or %d", port)
	}
	return list
}

// shown quotes the start of what was found.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	return strconv.QuoteToASCII(text)
}
