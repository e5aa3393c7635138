// Package hostname is the one grammar of hosts: domain names, addresses and ports as
// they stand in origins, e-mail addresses, entries of whitelists and URLs, each in one
// canonical form. Who may call from a host, or be called there, is for others to decide.
package hostname

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

var (
	// ErrDomain says that a text is no domain name.
	ErrDomain = errors.New("a domain looks like shop.example.com")
	// ErrIPv4 says that a text is neither a domain name nor an address of IPv4, though
	// some would read it as one, such as 127.1 and 0x7f.1.
	ErrIPv4 = errors.New("an IPv4 address has four decimal numbers")
	// ErrIPv6 says that what stands in brackets is no address of IPv6.
	ErrIPv6 = errors.New("an IPv6 address in brackets looks like [2001:db8::1]")
	// ErrPort says that a text is no port.
	ErrPort = errors.New("a port is a number from 1 to 65535")
)

// Host is a domain name or an address. The zero Host is neither.
type Host struct {
	Name string     // lower case, ASCII, without a final dot; "" for an address
	Addr netip.Addr // the zero Addr for a name
}

// IsAddr tells whether the host is an address.
func (h Host) IsAddr() bool { return h.Addr.IsValid() }

// String writes the host as URLs do: an address of IPv6 in brackets.
func (h Host) String() string {
	switch {
	case !h.IsAddr():
		return h.Name
	case h.Addr.Is6():
		return "[" + h.Addr.String() + "]"
	}
	return h.Addr.String()
}

// Parse reads a host as people write it, and as a browser does in an origin: letters of
// all scripts, no zone of an address.
func Parse(text string) (Host, error) {
	h, err := parse(text, written)
	if err == nil && h.IsAddr() && (h.Addr.Zone() != "" || strings.HasSuffix(text, ".")) {
		return Host{}, ErrDomain
	}
	return h, err
}

// ParseURL reads the host of a URL that is called: ASCII alone, with the underscores
// that some names have. The error is ErrDomain, ErrIPv4 or ErrIPv6.
func ParseURL(text string) (Host, error) { return parse(text, called) }

// ParseHostPort reads a host as ParseURL does, and the port that may follow it, as in a
// Host header; without one it is 0.
func ParseHostPort(text string) (h Host, port uint16, err error) {
	text, port, err = cutPort(text)
	if err == nil {
		h, err = ParseURL(text)
	}
	return h, port, err
}

func parse(text string, g grammar) (Host, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() {
			return Host{}, ErrIPv6
		}
		return Host{Addr: addr}, nil
	}
	name, err := g.parse(strings.TrimSuffix(text, "."))
	if err != nil {
		return Host{}, err
	}
	if !endsInNumber(name) {
		return Host{Name: name}, nil
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return Host{}, ErrIPv4
	}
	return Host{Addr: addr}, nil
}

// ParsePort reads a port in its only spelling.
func ParsePort(digits string) (uint16, error) {
	if !IsDigits(digits) || digits[0] == '0' {
		return 0, ErrPort
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0, ErrPort
	}
	return uint16(n), nil
}

// IsAddr tells whether a canonical host, as Host.String writes it, is an address.
func IsAddr(host string) bool {
	if strings.HasPrefix(host, "[") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// IsDigits tells whether a text is made of decimal digits.
func IsDigits(s string) bool {
	return strings.Trim(s, "0123456789") == "" && s != ""
}
