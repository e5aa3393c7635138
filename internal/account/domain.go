package account

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Origin is where a page comes from, in its canonical form: lower case, ASCII,
// without a final dot, the scheme's own port as 0.
type Origin struct {
	Scheme string // "https" or "http"
	Host   string // a domain, an IPv4 address, or an IPv6 address in brackets
	Port   uint16
}

// ErrOrigin says that a text is no origin of a web page.
var ErrOrigin = errors.New("an origin looks like https://shop.example.com")

// ParseOrigin reads an Origin header. It takes no less than a browser sends:
// null, a path, a user or letters beyond ASCII make it no origin.
func ParseOrigin(text string) (Origin, error) {
	if !isASCII(text) {
		return Origin{}, ErrOrigin
	}
	scheme, rest, ok := strings.Cut(strings.ToLower(text), "://")
	if !ok {
		return Origin{}, ErrOrigin
	}
	o, err := parseAuthority(scheme, rest)
	if err != nil {
		return Origin{}, ErrOrigin
	}
	return o, nil
}

// String writes the origin as browsers do.
func (o Origin) String() string { return writeOrigin(o.Scheme, o.Host, o.Port) }

func writeOrigin(scheme, host string, port uint16) string {
	if port == 0 {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + strconv.Itoa(int(port))
}

// parseAuthority reads host and port of an origin.
func parseAuthority(scheme, rest string) (Origin, error) {
	var own uint16
	switch scheme {
	case "https":
		own = 443
	case "http":
		own = 80
	default:
		return Origin{}, errPattern
	}
	host, port, err := cutPort(rest)
	if err != nil {
		return Origin{}, err
	}
	if port == own {
		port = 0
	}
	host, err = parseAddressOrHost(host)
	if err != nil {
		return Origin{}, err
	}
	return Origin{scheme, host, port}, nil
}

// cutPort takes the port off; without one it is 0.
func cutPort(text string) (host string, port uint16, err error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || strings.HasSuffix(text, "]") {
		return text, 0, nil
	}
	host, digits := text[:colon], text[colon+1:]
	if !isDigits(digits) || digits[0] == '0' {
		return "", 0, errPattern
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return "", 0, errPattern
	}
	return host, uint16(n), nil
}

func parseAddressOrHost(text string) (string, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", errPattern
		}
		return "[" + addr.String() + "]", nil
	}
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is4() {
		return addr.String(), nil
	}
	host, err := parseHost(strings.TrimSuffix(text, "."))
	if err != nil {
		return "", errPattern
	}
	return host, nil
}

// isAddress tells whether a canonical host is an IP address.
func isAddress(host string) bool {
	if strings.HasPrefix(host, "[") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Pattern is what an entry of a whitelist matches: one origin, or with a
// wildcard every origin below a domain.
type Pattern struct {
	Scheme string // "https" or "http"
	Host   string // as in Origin, or "*." and a domain: the hosts below it, not itself
	Port   uint16 // as in Origin
}

var (
	errPattern  = errors.New("an entry looks like shop.example.com, *.example.com or https://shop.example.com:8443, without a path")
	errWildcard = errors.New("a wildcard stands for the first part of a domain of at least two others, as in *.example.com")
	errDevHost  = errors.New("localhost, addresses and names without a dot may be listed with --dev only")
)

// ParsePattern reads an entry as its owner writes it; without a scheme it is
// https. Hosts of one's own machine are entries with dev only.
func ParsePattern(text string, dev bool) (Pattern, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "https", text
	}
	wildcard := strings.HasPrefix(rest, "*.")
	if wildcard {
		rest = rest[2:]
	}
	o, err := parseAuthority(strings.ToLower(scheme), rest)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern(o)
	local := isAddress(o.Host) || !strings.Contains(o.Host, ".") || strings.HasSuffix(o.Host, ".localhost")
	switch {
	case wildcard && (isAddress(o.Host) || !strings.Contains(o.Host, ".")):
		return Pattern{}, errWildcard
	case local && !dev:
		return Pattern{}, errDevHost
	case wildcard:
		p.Host = "*." + o.Host
	}
	return p, nil
}

// isAnybodys tells whether an entry has no owner: a public suffix, below which
// domains belong to whoever takes one, or all of them. The suffix itself may be
// a site where it is a provider's, such as github.io; one of the registries is
// none. A name without a dot is one of a network of one's own, whatever the
// registries sell by now.
func (p Pattern) isAnybodys() bool {
	host, wildcard := strings.CutPrefix(p.Host, "*.")
	if isAddress(host) || !strings.Contains(host, ".") {
		return false
	}
	suffix, registry := publicsuffix.PublicSuffix(host)
	return suffix == host && (wildcard || registry)
}

// String writes the entry in full; ParsePattern reads it back.
func (p Pattern) String() string { return writeOrigin(p.Scheme, p.Host, p.Port) }

// Matches tells whether pages of an origin fall under the entry.
func (p Pattern) Matches(o Origin) bool {
	return p.Scheme == o.Scheme && p.Port == o.Port && p.covers(o.Host)
}

func (p Pattern) covers(host string) bool {
	if p.Host == host {
		return true
	}
	above, ok := strings.CutPrefix(p.Host, "*")
	return ok && strings.HasSuffix(host, above)
}

// Overlaps tells whether some host falls under both entries, whatever their
// schemes and ports.
func (p Pattern) Overlaps(q Pattern) bool {
	return p.covers(q.Host) || q.covers(p.Host)
}

// HostKeys returns the values of Pattern.Host that cover a host, the closest
// first: for a.example.com itself, *.example.com and *.com. For the Host of a
// wildcard these are itself and the wildcards above it.
func HostKeys(host string) []string {
	keys := []string{host}
	if isAddress(host) {
		return keys
	}
	host = strings.TrimPrefix(host, "*.")
	for {
		_, above, ok := strings.Cut(host, ".")
		if !ok {
			return keys
		}
		keys = append(keys, "*."+above)
		host = above
	}
}

// Match finds the entry that an origin falls under: the one of its very host,
// or else the wildcard closest above it.
func Match(entries []Domain, o Origin) (Domain, bool) {
	var best Domain
	found := false
	for _, d := range entries {
		if !d.Pattern.Matches(o) {
			continue
		}
		if !found || d.Pattern.Host == o.Host || best.Pattern.Host != o.Host && len(d.Pattern.Host) > len(best.Pattern.Host) {
			best, found = d, true
		}
	}
	return best, found
}
