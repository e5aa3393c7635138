package network

import (
	"bufio"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// hostile reads the table of URLs that are refused.
func hostile(t testing.TB) (urls []string, codes []Code) {
	t.Helper()
	f, err := os.Open("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		code, quoted, _ := strings.Cut(line, " ")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		urls, codes = append(urls, text), append(codes, Code(code))
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return urls, codes
}

func wantCode(t *testing.T, what string, err error, want Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v, want %s", what, err, want)
		return
	}
	if e.Code != want {
		t.Errorf("%s: got %s (%s), want %s", what, e.Code, e.Message, want)
	}
	if e.Message == "" || strings.Contains(e.Message, "%!") || strings.ContainsAny(e.Message, "\r\n\x00") {
		t.Errorf("%s: the message is %q", what, e.Message)
	}
}

func TestHostileURLs(t *testing.T) {
	c := NewClient(Policy{}, ForWebhooks())
	urls, codes := hostile(t)
	if len(urls) < 200 {
		t.Errorf("there are %d", len(urls))
	}
	for i, u := range urls {
		wantCode(t, u, c.Check(u), codes[i])
		// The call itself is refused as well, without a look at the network.
		_, err := c.Do(t.Context(), Request{URL: u})
		wantCode(t, u, err, codes[i])
	}
}

func TestGoodURLs(t *testing.T) {
	for _, u := range []string{
		"https://example.com", "https://example.com/", "https://EXAMPLE.com/Path", "https://example.com./",
		"https://example.com:443/x", "https://example.com:80/x", "https://a-b.example.co.uk/hooks/1?x=%C3%A4&y=[1]#top",
		"https://xn--exmple-cua.com/", "https://_hook.example.com/", "https://8.8.8.8/", "https://1.1.1.1:443/",
		"https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]:443/x", "https://[::ffff:8.8.8.8]/",
		"https://100.63.255.255/", "https://100.128.0.1/", "https://172.15.0.1/", "https://172.32.0.1/", "https://169.253.0.1/",
		"https://local.example.com/", "https://localhost.example.com/", "https://127.0.0.1.example.com/", "https://3com.com/", "https://1.2.3.4x/",
		"https://example.com/\u007e", "https://example.com/?u=https%3A%2F%2F127.0.0.1", "https://example.com//@127.0.0.1",
	} {
		if err := NewClient(Policy{}, ForWebhooks()).Check(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	if err := NewClient(Policy{}, ForFetches()).Check("http://example.com/"); err != nil {
		t.Error(err)
	}
	wantCode(t, "fetching a file", NewClient(Policy{}, ForFetches()).Check("file:///etc/passwd"), InvalidURL)
}

func TestPolicy(t *testing.T) {
	prefix := netip.MustParsePrefix
	for _, test := range []struct {
		name   string
		policy Policy
		ok     []string
		not    []string
	}{
		{
			"for a developer", Policy{Private: true, AnyPort: true, PlainHTTP: true},
			[]string{"http://localhost:3000/", "http://127.0.0.1:9/", "https://10.1.2.3/", "https://[::1]:8080/", "https://[fd00::1]/", "https://100.64.0.1/", "http://shop:80/", "https://printer.local/", "http://[::ffff:127.0.0.1]/"},
			[]string{"http://169.254.169.254/", "http://169.254.1.1/", "http://[fd00:ec2::254]/", "http://100.100.100.200/", "http://168.63.129.16/", "http://0.0.0.0/", "http://224.0.0.1/", "http://[fe80::1%25eth0]/", "http://[64:ff9b::127.0.0.1]/", "http://localhost:0/", "http://255.255.255.255/", "http://192.0.2.1/"},
		},
		{
			"a network", Policy{Networks: []netip.Prefix{prefix("10.1.0.0/16"), prefix("fd00:1::/32")}},
			[]string{"https://10.1.2.3/", "https://[fd00:1::5]/", "https://[::ffff:10.1.2.3]/", "https://hooks.corp/", "https://hooks/"},
			[]string{"https://10.2.0.1/", "https://localhost/", "https://127.0.0.1/", "https://[fd00:2::1]/", "https://10.1.2.3:8080/", "http://10.1.2.3/"},
		},
		{
			"a network with a cloud's metadata in it", Policy{Networks: []netip.Prefix{prefix("169.254.0.0/16"), prefix("::/0"), prefix("0.0.0.0/0")}},
			[]string{"https://169.254.1.1/", "https://127.0.0.1/", "https://localhost/"},
			[]string{"https://169.254.169.254/", "https://[fd00:ec2::254]/", "https://[::ffff:169.254.169.254]/", "https://[::1%25lo]/"},
		},
		{
			"the metadata itself", Policy{Networks: []netip.Prefix{prefix("169.254.169.254/32")}},
			[]string{"https://169.254.169.254/"}, []string{"https://169.254.170.2/"},
		},
		{
			"a gateway to IPv4", Policy{Networks: []netip.Prefix{prefix("64:ff9b::/96")}},
			[]string{"https://[64:ff9b::8.8.8.8]/"},
			[]string{"https://[64:ff9b::127.0.0.1]/", "https://[64:ff9b::10.0.0.1]/", "https://[64:ff9b::169.254.169.254]/", "https://[64:ff9b:1::1]/"},
		},
		{
			"ports", Policy{Ports: []uint16{8443, 22}},
			[]string{"https://example.com:8443/", "https://example.com:22/", "https://example.com/"}, []string{"https://example.com:8080/", "https://10.0.0.1:8443/"},
		},
		{"plain http", Policy{PlainHTTP: true}, []string{"http://example.com/"}, []string{"http://127.0.0.1/"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := NewClient(test.policy, ForWebhooks())
			for _, u := range test.ok {
				if err := c.Check(u); err != nil {
					t.Errorf("%s: %v", u, err)
				}
			}
			for _, u := range test.not {
				if c.Check(u) == nil {
					t.Errorf("%s is allowed", u)
				}
			}
		})
	}
}

// TestKindsAgreeWithTheLibrary compares the ranges with what net/netip knows of
// them, at the edges of every range.
func TestKindsAgreeWithTheLibrary(t *testing.T) {
	for _, s := range special {
		first := s.prefix.Masked().Addr()
		for _, a := range []netip.Addr{first, first.Prev(), first.Next()} {
			if !a.IsValid() {
				continue
			}
			notPublic := a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified()
			if notPublic && kindOf(a) == "" {
				t.Errorf("%s passes as public", a)
			}
		}
		if kindOf(first) == "" {
			t.Errorf("%s passes as public", first)
		}
	}
}

func TestMessages(t *testing.T) {
	c := NewClient(Policy{Ports: []uint16{8443}}, ForWebhooks())
	for u, want := range map[string]string{
		"https://10.0.0.1/":             "calls to 10.0.0.1 are not allowed: the address is for a private network; who runs the service may allow it by the setting egress_networks",
		"https://localhost/":            "calls to localhost are not allowed: the name is for this machine; who runs the service may allow it by the setting egress_networks",
		"https://nas/":                  "calls to nas are not allowed: a public host has a dot in its name; who runs the service may allow it by the setting egress_networks",
		"https://nas.local/":            "calls to nas.local are not allowed: names in .local are for a private network; who runs the service may allow it by the setting egress_networks",
		"https://169.254.169.254/":      "calls to 169.254.169.254 are not allowed: the address is for a cloud's metadata",
		"https://127.1/":                `"127.1" is no host: an address of IPv4 has four decimal numbers`,
		"http://example.com/":           "http is not allowed here: the URL must begin with https://; who runs the service may allow it by the setting egress_http",
		"https://example.com:22/":       "port 22 is not allowed: use 80 or 443 or 8443; who runs the service may allow it by the setting egress_ports",
		"https://me:secret@example.com": "a URL with a username or password is not taken: credentials go into a header",
		"https://a b":                   "a URL has no spaces or control characters: write them as %20 and the like",
		`https://a\b`:                   `a URL has no \: write / or %5C`,
	} {
		if err := c.Check(u); err == nil || err.Error() != want {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// FuzzCheck looks for a URL that passes and whose host, read by another parser,
// is not what was checked.
func FuzzCheck(f *testing.F) {
	urls, _ := hostile(f)
	for _, u := range urls {
		f.Add(u)
	}
	f.Add("https://example.com:443/x?y#z")
	c := NewClient(Policy{}, ForWebhooks())
	f.Fuzz(func(t *testing.T, text string) {
		err := c.Check(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code != InvalidURL && e.Code != AddressNotAllowed {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		rest, ok := strings.CutPrefix(strings.ToLower(text), "https://")
		if !ok {
			t.Fatalf("%q passes", text)
		}
		authority := rest[:strings.IndexAny(rest+"/", "/?#")]
		if strings.ContainsAny(authority, "@\\% \t\r\n") {
			t.Errorf("%q passes", text)
		}
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && (!a.IsGlobalUnicast() || a.Unmap().IsPrivate() || a.Unmap().IsLoopback()) {
			t.Errorf("%q passes", text)
		}
		if port := u.Port(); port != "" && port != "443" && port != "80" {
			t.Errorf("%q passes", text)
		}
	})
}
