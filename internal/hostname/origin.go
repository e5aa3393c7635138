package hostname

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Origin is where a page comes from, in its canonical form: lower case, ASCII,
// without a final dot, the scheme's own port as 0.
type Origin struct {
	Scheme string // "https" or "http"
	Host   string // a domain, an IPv4 address, or an IPv6 address in brackets
	Port   uint16
}

// OriginOf returns the origin of an address, such as https://api.example.com/v1.
func OriginOf(address string) (Origin, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Origin{}, ErrOrigin
	}
	return ParseOrigin(u.Scheme + "://" + u.Host)
}

// ErrOrigin says that a text is no origin of a web page.
var ErrOrigin = errors.New("an origin looks like https://shop.example.com")

// ParseOrigin reads an Origin header. It takes no less than a browser sends:
// null, a path, a user or letters beyond ASCII make it no origin.
func ParseOrigin(text string) (Origin, error) {
	if !IsASCII(text) {
		return Origin{}, ErrOrigin
	}
	scheme, rest, ok := strings.Cut(strings.ToLower(text), "://")
	if !ok {
		return Origin{}, ErrOrigin
	}
	return ParseAuthority(scheme, rest)
}

// String writes the origin as browsers do.
func (o Origin) String() string {
	if o.Port == 0 {
		return o.Scheme + "://" + o.Host
	}
	return o.Scheme + "://" + o.Host + ":" + strconv.Itoa(int(o.Port))
}

// ParseAuthority reads the host and port of an origin, of which the scheme is known.
func ParseAuthority(scheme, authority string) (Origin, error) {
	var own uint16
	switch scheme {
	case "https":
		own = 443
	case "http":
		own = 80
	default:
		return Origin{}, ErrOrigin
	}
	text, port, err := cutPort(authority)
	if err != nil {
		return Origin{}, ErrOrigin
	}
	if port == own {
		port = 0
	}
	host, err := Parse(text)
	if err != nil {
		return Origin{}, ErrOrigin
	}
	return Origin{scheme, host.String(), port}, nil
}

// cutPort takes the port off; without one it is 0.
func cutPort(text string) (host string, port uint16, err error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || strings.HasSuffix(text, "]") {
		return text, 0, nil
	}
	port, err = ParsePort(text[colon+1:])
	return text[:colon], port, err
}
