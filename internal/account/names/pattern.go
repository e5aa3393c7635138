package names

import (
	"errors"
	"strings"

	"golang.org/x/net/publicsuffix"

	"ql/internal/hostname"
)

// Pattern is what an entry of a whitelist matches: one origin, or with a
// wildcard every origin below a domain.
type Pattern struct {
	Scheme string // "https" or "http"
	Host   string // as in hostname.Origin, or "*." and a domain: the hosts below it, not itself
	Port   uint16 // as in hostname.Origin
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
	o, err := hostname.ParseAuthority(strings.ToLower(scheme), rest)
	if err != nil {
		return Pattern{}, errPattern
	}
	p := Pattern(o)
	local := hostname.IsAddr(o.Host) || !strings.Contains(o.Host, ".") || strings.HasSuffix(o.Host, ".localhost")
	switch {
	case wildcard && (hostname.IsAddr(o.Host) || !strings.Contains(o.Host, ".")):
		return Pattern{}, errWildcard
	case local && !dev:
		return Pattern{}, errDevHost
	case wildcard:
		p.Host = "*." + o.Host
	}
	return p, nil
}

// IsPublicSuffix tells whether an entry has no owner: a public suffix, below which
// domains belong to whoever takes one, or all of them. The suffix itself may be
// a site where it is a provider's, such as github.io; one of the registries is
// none. A name without a dot is one of a network of one's own, whatever the
// registries sell by now.
func (p Pattern) IsPublicSuffix() bool {
	host, wildcard := strings.CutPrefix(p.Host, "*.")
	if hostname.IsAddr(host) || !strings.Contains(host, ".") {
		return false
	}
	suffix, registry := publicsuffix.PublicSuffix(host)
	return suffix == host && (wildcard || registry)
}

// String writes the entry in full; ParsePattern reads it back.
func (p Pattern) String() string { return hostname.Origin(p).String() }

// Matches tells whether pages of an origin fall under the entry.
func (p Pattern) Matches(o hostname.Origin) bool {
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
	if hostname.IsAddr(host) {
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
