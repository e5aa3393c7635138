package names

import (
	"bufio"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ql/internal/hostname"
)

func TestParsePattern(t *testing.T) {
	tests := []struct {
		entry string
		dev   bool
		want  string // "" is refused
	}{
		{"shop.example.com", false, "https://shop.example.com"},
		{"Shop.Example.COM.", false, "https://shop.example.com"},
		{"https://shop.example.com", false, "https://shop.example.com"},
		{"HTTPS://shop.example.com:443", false, "https://shop.example.com"},
		{"https://shop.example.com:80", false, "https://shop.example.com:80"},
		{"http://shop.example.com", false, "http://shop.example.com"},
		{"http://shop.example.com:80", false, "http://shop.example.com"},
		{"shop.example.com:8443", false, "https://shop.example.com:8443"},
		{"*.example.com", false, "https://*.example.com"},
		{"http://*.example.com:8080", false, "http://*.example.com:8080"},
		{"bücher.example", false, "https://xn--bcher-kva.example"},
		{"BÜCHER.example", false, "https://xn--bcher-kva.example"},
		{"bu\u0308cher.example", false, "https://xn--bcher-kva.example"},
		{"xn--bcher-kva.example", false, "https://xn--bcher-kva.example"},
		{"*.орех.рф", false, "https://*.xn--e1argv.xn--p1ai"},
		{"faß.de", false, "https://xn--fa-hia.de"},
		{"例え.jp", false, "https://xn--r8jz45g.jp"},
		{"r3---sn.example.com", false, "https://r3---sn.example.com"},
		{"http://localhost:3000", true, "http://localhost:3000"},
		{"localhost", true, "https://localhost"},
		{"http://127.0.0.1:3000", true, "http://127.0.0.1:3000"},
		{"http://[0:0::1]:3000", true, "http://[::1]:3000"},
		{"*.app.localhost", true, "https://*.app.localhost"},

		{"http://localhost:3000", false, ""},
		{"localhost", false, ""},
		{"app.localhost", false, ""},
		{"*.app.localhost", false, ""},
		{"http://127.0.0.1:3000", false, ""},
		{"203.0.113.7", false, ""},
		{"https://[2001:db8::7]", false, ""},
		{"intranet", false, ""},
		{"", false, ""},
		{"*", false, ""},
		{"*.", false, ""},
		{"*.com", false, ""},
		{"*.localhost", true, ""},
		{"*.127.0.0.1", true, ""},
		{"*.[::1]", true, ""},
		{"shop.*.com", false, ""},
		{"*shop.example.com", false, ""},
		{"*.*.example.com", false, ""},
		{"**.example.com", false, ""},
		{"https://shop.example.com/", false, ""},
		{"shop.example.com/path", false, ""},
		{"shop.example.com?x", false, ""},
		{"user@shop.example.com", false, ""},
		{"ftp://shop.example.com", false, ""},
		{"//shop.example.com", false, ""},
		{"https:shop.example.com", false, ""},
		{"null", false, ""},
		{"shop.example.com:", false, ""},
		{"shop.example.com:0", false, ""},
		{"shop.example.com:08443", false, ""},
		{"shop.example.com:65536", false, ""},
		{"shop..example.com", false, ""},
		{".example.com", false, ""},
		{"shop.example.com..", false, ""},
		{"-shop.example.com", false, ""},
		{"shop-.example.com", false, ""},
		{"my_shop.example.com", false, ""},
		{"shop example.com", false, ""},
		{" shop.example.com", false, ""},
		{"shop.example.com\n", false, ""},
		{"shop.example.0x7f", true, ""},
		{"1.2.3", true, ""},
		{"01.02.03.04", true, ""},
		{"xn--bücher.example", false, ""},
		{"ＳＨＯＰ.example.com", false, ""},
		{"shop。example.com", false, ""},
		{"sh\u00adop.example.com", false, ""},
		{"\u0308bucher.example", false, ""},
		{strings.Repeat("a", 64) + ".example.com", false, ""},
		{strings.Repeat("a.", 127) + "com", false, ""},
		{"\xff.example.com", false, ""},
	}
	for _, test := range tests {
		p, err := ParsePattern(test.entry, test.dev)
		if test.want == "" {
			if err == nil {
				t.Errorf("%q is taken as %s", test.entry, p)
			}
			continue
		}
		if err != nil || p.String() != test.want {
			t.Errorf("%q: got %s, %v, want %s", test.entry, p, err, test.want)
			continue
		}
		if again, err := ParsePattern(p.String(), test.dev); err != nil || again != p {
			t.Errorf("%q: %s is read back as %s, %v", test.entry, p, again, err)
		}
	}
}

// originRows reads testdata/origins.txt.
func originRows(t testing.TB, row func(entry, origin string, want bool)) int {
	t.Helper()
	f, err := os.Open("testdata/origins.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var entry, origin, want string
		if _, err := fmt.Sscanf(lines.Text(), "%q %q %s", &entry, &origin, &want); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		row(entry, origin, want == "yes")
		n++
	}
	return n
}

func TestOriginMatch(t *testing.T) {
	n := originRows(t, func(entry, origin string, want bool) {
		p, err := ParsePattern(entry, true)
		if err != nil {
			t.Fatalf("%q: %v", entry, err)
		}
		o, err := hostname.ParseOrigin(origin)
		if got := err == nil && p.Matches(o); got != want {
			t.Errorf("entry %q, origin %q: got %v, want %v", entry, origin, got, want)
		}
	})
	if n < 300 {
		t.Errorf("the table has %d rows, fewer than 300", n)
	}
}

// originForm is what a browser writes, but for case and a final dot.
var originForm = regexp.MustCompile(`^(?i:(https?))://((?i:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)\.?|\[[0-9a-fA-F:.]+\])(?::([1-9][0-9]*))?$`)

// slowMatch says whether an origin falls under an entry by way of net/url, a
// regular expression and a comparison label by label.
func slowMatch(p Pattern, text string) bool {
	if !originForm.MatchString(text) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	port := map[string]int{"https": 443, "http": 80}[u.Scheme]
	own := port
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port > 65535 {
			return false
		}
	}
	wantPort := int(p.Port)
	if wantPort == 0 {
		wantPort = own
	}
	if u.Scheme != p.Scheme || port != wantPort {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		return err == nil && addr.Is6() && "["+addr.String()+"]" == p.Host
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host == p.Host
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if len(label) > 63 {
			return false
		}
	}
	if regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`).MatchString(labels[len(labels)-1]) {
		return false
	}
	want := strings.Split(p.Host, ".")
	if want[0] == "*" {
		want = want[1:]
		return len(labels) > len(want) && slices.Equal(labels[len(labels)-len(want):], want)
	}
	return slices.Equal(labels, want)
}

func FuzzOriginMatch(f *testing.F) {
	originRows(f, func(entry, origin string, _ bool) { f.Add(entry, origin) })
	f.Fuzz(func(t *testing.T, entry, origin string) {
		p, err := ParsePattern(entry, true)
		if err != nil {
			return
		}
		if again, err := ParsePattern(p.String(), true); err != nil || again != p {
			t.Errorf("%q: %s is read back as %s, %v", entry, p, again, err)
		}
		o, err := hostname.ParseOrigin(origin)
		if got, want := err == nil && p.Matches(o), slowMatch(p, origin); got != want {
			t.Errorf("entry %q (%s), origin %q: got %v, the reference says %v", entry, p, origin, got, want)
		}
		if err != nil {
			return
		}
		if again, err := hostname.ParseOrigin(o.String()); err != nil || again != o {
			t.Errorf("%q: %s is read back as %s, %v", origin, o, again, err)
		}
		if p.Matches(o) && !slices.Contains(HostKeys(o.Host), p.Host) {
			t.Errorf("entry %q matches %q, but %q is not among its keys", entry, origin, p.Host)
		}
	})
}

func TestOverlaps(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"shop.example.com", "shop.example.com", true},
		{"shop.example.com", "http://shop.example.com:8080", true},
		{"shop.example.com", "*.example.com", true},
		{"*.example.com", "*.a.example.com", true},
		{"*.example.com", "*.example.com", true},
		{"a.b.example.com", "*.example.com", true},
		{"example.com", "*.example.com", false},
		{"shop.example.com", "example.com", false},
		{"shop.example.com", "*.shop.example.com", false},
		{"evilexample.com", "*.example.com", false},
		{"*.a.example.com", "*.b.example.com", false},
	}
	for _, test := range tests {
		a, errA := ParsePattern(test.a, false)
		b, errB := ParsePattern(test.b, false)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a.Overlaps(b) != test.want || b.Overlaps(a) != test.want {
			t.Errorf("%s and %s: got %v and %v, want %v", test.a, test.b, a.Overlaps(b), b.Overlaps(a), test.want)
		}
		// What stores do by HostKeys and suffixes is the same.
		suffix := strings.TrimPrefix(b.Host, "*")
		byKeys := slices.Contains(HostKeys(b.Host), a.Host) || b.Host != suffix && strings.HasSuffix(a.Host, suffix)
		if byKeys != test.want {
			t.Errorf("%s and %s: by keys %v, want %v", test.a, test.b, byKeys, test.want)
		}
	}
}

func TestHostKeys(t *testing.T) {
	for host, want := range map[string][]string{
		"a.b.example.com":   {"a.b.example.com", "*.b.example.com", "*.example.com", "*.com"},
		"*.example.com":     {"*.example.com", "*.com"},
		"localhost":         {"localhost"},
		"127.0.0.1":         {"127.0.0.1"},
		"[::ffff:10.0.0.1]": {"[::ffff:10.0.0.1]"},
	} {
		if got := HostKeys(host); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", host, got, want)
		}
	}
}
