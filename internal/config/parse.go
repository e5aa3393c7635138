package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/account/names"
	"ql/internal/hostname"
	"ql/internal/redacted"
)

func parseNonEmpty(text string) (string, error) {
	if text == "" {
		return "", errors.New("it is empty")
	}
	return text, nil
}

// parseDatabase returns where a database is. An error shows none of it, since it may hold a password.
func parseDatabase(text string) (redacted.Text, error) {
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return "", errors.New("it must be like postgres://user@host/database?sslmode=verify-full")
	}
	return redacted.Text(text), nil
}

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

func parseChoice[T ~string](text string, choices ...T) (T, error) {
	if i := slices.Index(choices, T(strings.ToLower(text))); i >= 0 {
		return choices[i], nil
	}
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = string(c)
	}
	last := len(names) - 1
	return "", fmt.Errorf("%q is none of %s and %s", text, strings.Join(names[:last], ", "), names[last])
}

func parseCount(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%q is no whole number from %d on", text, least)
	}
	return n, nil
}

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time such as 30s, 5m or 1h30m", text)
	}
	return d, nil
}

// parseDelay takes a time, or 0 for none.
func parseDelay(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > time.Hour {
		return 0, fmt.Errorf("%q is no time such as 5s, of an hour at most, or 0 for none", text)
	}
	return d, nil
}

// parseListen takes host:port and :port; a host is an address or localhost,
// since what another name leads to may change.
func parseListen(text string) (string, error) {
	if _, _, ok := cutListen(text); !ok {
		return "", fmt.Errorf("%q is no address to listen on, such as 127.0.0.1:8080, [::1]:8080 or :8080", text)
	}
	return text, nil
}

// parseNodeListen is parseListen of an address that others are told.
func parseNodeListen(text string) (string, error) {
	host, _, ok := cutListen(text)
	if ok && host.IsValid() && !host.IsUnspecified() {
		return text, nil
	}
	// A name may be that of this machine.
	if _, _, err := hostname.ParseHostPort(text); !ok && err == nil && strings.Contains(text, ":") {
		return text, nil
	}
	return "", fmt.Errorf("%q is no address that other nodes could reach this one by, such as 10.0.0.2:8081: it is the one that they are told", text)
}

// cutListen returns the host and port of an address to listen on; the host is
// the zero address for all of the machine's, and a loopback one for localhost.
func cutListen(text string) (netip.Addr, uint16, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), at.Port(), true
	}
	host, digits, ok := strings.Cut(text, ":")
	port, err := strconv.ParseUint(digits, 10, 16)
	switch {
	case !ok || err != nil:
		return netip.Addr{}, 0, false
	case host == "":
		return netip.Addr{}, uint16(port), true
	case host == localhost:
		return netip.IPv6Loopback(), uint16(port), true
	}
	return netip.Addr{}, 0, false
}

const localhost = "localhost"

// isLoopback reports whether only this machine reaches a listener.
func isLoopback(listen string) bool {
	host, _, ok := cutListen(listen)
	return ok && host.Unmap().IsLoopback()
}

// parseURL takes an address that paths are put behind.
func parseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err == nil {
		_, _, err = hostname.ParseHostPort(u.Host)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return "", fmt.Errorf("%q is no address such as https://api.example.com", text)
	}
	return strings.TrimSuffix(text, "/"), nil
}

// parseHosts takes names and addresses by which a service is called, each with a port
// or for all of them.
func parseHosts(text string) ([]string, error) {
	var hosts []string
	for _, item := range list(text) {
		if addr, err := netip.ParseAddr(item); err == nil && addr.Is6() {
			item = "[" + item + "]"
		}
		host, port, err := hostname.ParseHostPort(item)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is no host such as api.example.com", item)
		case port == 0:
			hosts = append(hosts, host.String())
		default:
			hosts = append(hosts, host.String()+":"+strconv.Itoa(int(port)))
		}
	}
	return hosts, nil
}

// parseDomains takes names that a certificate authority can prove: it calls
// each of them by its whole name.
func parseDomains(text string) ([]string, error) {
	var domains []string
	for _, item := range list(text) {
		domain, err := hostname.ParseDomain(item)
		if err != nil || !strings.Contains(domain, ".") {
			return nil, fmt.Errorf("%q is no domain such as api.example.com: each is named in full, without *, and an address or a port is none", item)
		}
		domains = append(domains, domain)
	}
	return domains, nil
}

// parseSiteHost takes a name that other names can stand below.
func parseSiteHost(text string) (string, error) {
	domain, err := hostname.ParseDomain(text)
	if err != nil {
		return "", fmt.Errorf("%q is no domain such as sites.example.com, below which each account has a name", text)
	}
	return domain, nil
}

// parseFiles takes the names of files.
func parseFiles(text string) ([]string, error) {
	files := list(text)
	if len(files) == 0 {
		_, err := parseNonEmpty("")
		return nil, err
	}
	return files, nil
}

// parseDirectory takes the address of a certificate authority's directory.
func parseDirectory(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return "", fmt.Errorf("%q is no address such as https://acme.example.com/directory", text)
	}
	return text, nil
}

func parseEmail(text string) (string, error) {
	if alias, err := names.ParseAlias(text); err != nil || alias.Kind != names.Email {
		return "", fmt.Errorf("%q is no e-mail address such as ops@example.com", text)
	}
	return text, nil
}

func parsePrefixes(text string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, item := range list(text) {
		prefix, err := netip.ParsePrefix(item)
		if addr, e := netip.ParseAddr(item); e == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no network such as 10.0.0.0/8 or 192.0.2.7", item)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// list splits what stands between commas.
func list(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func parsePorts(text string) ([]uint16, error) {
	var ports []uint16
	for _, item := range list(text) {
		n, err := strconv.ParseUint(item, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is no port: numbers from 1 to 65535 fit", item)
		}
		ports = append(ports, uint16(n))
	}
	return ports, nil
}
