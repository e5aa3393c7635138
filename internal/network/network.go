// Package network is the one way out of the node: whatever calls a host that
// somebody else has named goes through its Client. A call leaves only for a
// public address and an allowed port, and the address is looked at when the
// connection is made, after all names are resolved: so a name that leads
// elsewhere by then, a redirect, or an odd spelling of an address changes
// nothing. What is read of an answer is bounded in time, bytes and expansion.
//
// What is called, when, and what an answer means is left to its users.
package network

import (
	"fmt"
	"net/netip"
	"slices"
)

// Policy is what an operator allows besides public hosts on ports 80 and 443.
// The zero Policy allows nothing more.
type Policy struct {
	// Private allows this machine and private networks, as for one developer.
	// Link-local addresses and those of clouds' metadata stay refused.
	Private bool
	// Networks are further ones, of whatever kind. An address of a cloud's
	// metadata is only allowed by a network of this one address.
	Networks []netip.Prefix
	Ports    []uint16 // further ones
	AnyPort  bool
	// PlainHTTP allows http to clients that otherwise take https only.
	PlainHTTP bool
}

// Code says what kind of error it is; scripts and callers may rely on it.
type Code string

// The codes.
const (
	InvalidURL        Code = "invalid_url"
	AddressNotAllowed Code = "address_not_allowed"
	InvalidRequest    Code = "invalid_request"
	FetchFailed       Code = "fetch_failed"
	LimitExceeded     Code = "limit_exceeded"
)

// Error is a call that was refused or failed. Its message is for whoever asked
// for the call: it tells nothing of the node's own network.
type Error struct {
	Code    Code
	Message string
	// Limit is the bound that was passed, of LimitExceeded, and Most its value.
	Limit Limit
	Most  int64
	cause error
}

// Limit names a bound of an answer.
type Limit string

// The bounds.
const (
	LimitBytes Limit = "bytes"
	LimitRatio Limit = "ratio"
)

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, for logs.
func (e *Error) Unwrap() error { return e.cause }

// exceeds is the error of an answer that passes a bound.
func exceeds(l Limit, most int64, format string, args ...any) *Error {
	e := refuse(LimitExceeded, format, args...)
	e.Limit, e.Most = l, most
	return e
}

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// kind is what a range of addresses is for.
type kind string

const (
	loopback   kind = "this machine"
	private    kind = "a private network"
	metadata   kind = "a cloud's metadata"
	linkLocal  kind = "the local link"
	reserved   kind = "no public host"
	multicast  kind = "many hosts at once"
	example    kind = "documentation"
	benchmark  kind = "measurements"
	translated kind = "an address in another one"
)

// allowedBy names the setting by which the operator may allow such addresses. It is the same on
// every service, and so tells nothing of this one. Of a cloud's metadata nobody is told: who has a
// reason to open it to scripts finds it in the documentation of the setting.
func (k kind) allowedBy() string {
	if k == metadata {
		return ""
	}
	return allowedBy("egress_networks")
}

func allowedBy(setting string) string {
	return "; who runs the service may allow it by the setting " + setting
}

// span is a range of addresses that are not public.
type span struct {
	prefix netip.Prefix
	kind   kind
}

func spans(k kind, prefixes ...string) []span {
	list := make([]span, len(prefixes))
	for i, p := range prefixes {
		list[i] = span{netip.MustParsePrefix(p), k}
	}
	return list
}

// nat64 is the prefix under which a gateway reaches IPv4 hosts.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// global is where the public addresses of IPv6 are, apart from exceptions.
var global = netip.MustParsePrefix("2000::/3")

// special are the ranges that are not public, after the registries of
// special-purpose addresses. The first that fits tells the kind.
var special = slices.Concat(
	// Most are in ranges that are refused anyway, and some of those may be
	// allowed: these stay refused.
	spans(metadata,
		"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::254/128", "fd00:ec2::23/128", // AWS
		"fd20:ce::254/128",   // Google
		"168.63.129.16/32",   // Azure, though public by its number
		"100.100.100.200/32", // Alibaba
		"192.0.0.192/32",     // Oracle
	),
	spans(loopback, "127.0.0.0/8", "::1/128"),
	spans(private, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
	spans(linkLocal, "169.254.0.0/16", "fe80::/10", "fec0::/10"),
	spans(multicast, "224.0.0.0/4", "255.255.255.255/32", "ff00::/8"),
	spans(example, "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
	spans(benchmark, "198.18.0.0/15", "2001:2::/48"),
	spans(translated,
		"192.88.99.0/24", "2002::/16", // 6to4
		"2001::/32",                      // Teredo
		"64:ff9b::/96", "64:ff9b:1::/48", // NAT64
		"::/96", // IPv4-compatible
	),
	spans(reserved, "0.0.0.0/8", "192.0.0.0/24", "240.0.0.0/4", "2001::/23", "100::/64"),
)

// kindOf returns what an address is for; "" for a public one.
func kindOf(a netip.Addr) kind {
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.kind
		}
	}
	if a.Is6() && !global.Contains(a) {
		return reserved
	}
	return ""
}

// refusal returns why an address may not be called; "" where it may be.
func (p *Policy) refusal(a netip.Addr) kind {
	if a.Zone() != "" {
		return linkLocal
	}
	a = a.Unmap()
	k := kindOf(a)
	switch {
	case k == "":
		return ""
	case p.Private && (k == loopback || k == private):
		return ""
	}
	for _, n := range p.Networks {
		switch {
		case !n.Contains(a):
		case k == metadata && !n.IsSingleIP():
		case nat64.Contains(a):
			// The gateway is allowed; what lies behind is checked like all else.
			b := a.As16()
			return p.refusal(netip.AddrFrom4([4]byte(b[12:])))
		default:
			return ""
		}
	}
	return k
}

// public reports whether nothing but public hosts is allowed.
func (p *Policy) public() bool { return !p.Private && len(p.Networks) == 0 }

func (p *Policy) allowsPort(port uint16) bool {
	const http, https = 80, 443
	return port != 0 && (p.AnyPort || port == http || port == https || slices.Contains(p.Ports, port))
}
