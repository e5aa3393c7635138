package site

import (
	"net/http"
	"net/url"
	"strings"

	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/service"
)

// Hosts say whose site a host is.
type Hosts struct {
	// Domain is the one below which each account has a host of its own, by its username.
	Domain string
	// Local says that the names and addresses of this machine are Domain too, as a developer calls
	// it.
	Local bool
	// Paths says when there are sites at Domain itself too, at /~username/.
	Paths Paths
	// Only is the account whose site alone there is, at every name and address of this machine; ""
	// for all. A page elsewhere that has its own name lead here is none of them.
	Only string
}

// Knows tells whether a host is one of the only site.
func (h Hosts) Knows(host string) bool {
	at, _, err := hostname.ParseHostPort(host)
	return err == nil && (at.Name == "localhost" || at.Addr.IsValid() || at.Name == h.Only+"."+h.Domain)
}

// Paths says when there are sites at /~username/. All of them are of one origin there, and a page of
// one can read the others.
type Paths uint8

// The ways.
const (
	NoPaths    Paths = iota
	PathsOfOne       // while one account has a site
	AnyPaths
)

// PathsFor returns when there are sites at /~username/: for a developer always, unless the service
// itself is at Domain.
func PathsFor(dev, shared bool) Paths {
	switch {
	case !dev:
		return PathsOfOne
	case shared:
		return NoPaths
	}
	return AnyPaths
}

// place is where a request leads: a site, and what is asked for of it.
type place struct {
	site   service.SiteAddress
	host   string // that was called, as hostname writes it
	prefix string // of all addresses of the site: /, or /~ada/
	path   string // what follows the prefix, as it was sent
	byPath bool   // the site has no host of its own here
}

// base is what the site's addresses begin with, without the slash.
func (p *place) base() string { return strings.TrimSuffix(p.prefix, "/") }

// find returns where a request leads.
func (h Hosts) find(r *http.Request) (p place, err error) {
	host, _, err := hostname.ParseHostPort(r.Host)
	if err != nil {
		return p, service.ErrNoSite()
	}
	path := r.URL.EscapedPath()
	if h.Only != "" {
		if !h.Knows(r.Host) {
			return p, service.ErrNoSite()
		}
		return place{site: service.SiteAddress{Username: h.Only}, host: host.String(), prefix: "/", path: strings.TrimPrefix(path, "/")}, nil
	}
	isLocal := h.Local && (host.Name == "localhost" || host.Addr.IsLoopback())
	if host.Name != h.Domain && !isLocal {
		site, ok := h.siteAt(host)
		if !ok {
			return p, service.ErrNoSite()
		}
		return place{site: site, host: host.String(), prefix: "/", path: strings.TrimPrefix(path, "/")}, nil
	}
	if h.Paths == NoPaths {
		return p, service.ErrNoSite()
	}
	rest, ok := strings.CutPrefix(path, "/~")
	username, rest, slash := strings.Cut(rest, "/")
	if name, err := names.ParseUsername(username); !ok || err != nil || name != username {
		return p, service.ErrNoPage()
	}
	p = place{site: service.SiteAddress{Username: username}, host: host.String(), prefix: "/~" + username + "/", path: rest, byPath: true}
	if !slash {
		return p, &redirect{p.prefix}
	}
	return p, nil
}

// siteAt returns which site has a host for itself, if it is one that a site can have.
func (h Hosts) siteAt(host hostname.Host) (at service.SiteAddress, ok bool) {
	if name, below := strings.CutSuffix(host.Name, "."+h.Domain); below {
		username, err := names.ParseUsername(name)
		return service.SiteAddress{Username: username}, err == nil
	}
	return service.SiteAddress{Domain: host.Name}, strings.Contains(host.Name, ".") && host.Name != h.Domain
}

// redirect is where a request is sent on to, for good.
type redirect struct{ location string }

func (r *redirect) Error() string { return "leads to " + r.location }

// decodePath returns the path that a place asks for, decoded and beginning with a slash. What some
// would read as another path is refused, but for empty parts, without which it is sent on.
func (p *place) decodePath(query string) (string, error) {
	parts := strings.Split(p.path, "/")
	kept := parts[:0:0]
	path := make([]byte, 0, len(p.path)+1)
	for i, escaped := range parts {
		part, err := url.PathUnescape(escaped)
		switch {
		case err != nil || !isPlainPart(part):
			return "", fault.Invalid("path", "has a part that is . or .., or that holds a slash, a backslash or a control character, or is no UTF-8: such are read in several ways")
		case part == "" && i < len(parts)-1:
			continue
		}
		kept = append(kept, escaped)
		path = append(append(path, '/'), part...)
	}
	if len(kept) < len(parts) {
		location := p.prefix + strings.Join(kept, "/")
		if query != "" {
			location += "?" + query
		}
		return "", &redirect{location}
	}
	return string(path), nil
}
