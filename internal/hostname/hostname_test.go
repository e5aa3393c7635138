package hostname

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/idna"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text            string
		written, called string // as Parse and ParseURL read it; "" is refused
	}{
		{"shop.example.com", "shop.example.com", "shop.example.com"},
		{"Shop.Example.COM.", "shop.example.com", "shop.example.com"},
		{"localhost", "localhost", "localhost"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"bücher.example", "xn--bcher-kva.example", ""},
		{"my_shop.example.com", "", "my_shop.example.com"},
		{"192.0.2.7", "192.0.2.7", "192.0.2.7"},
		{"192.0.2.7.", "", "192.0.2.7"},
		{"[2001:DB8:0::7]", "[2001:db8::7]", "[2001:db8::7]"},
		{"[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]"},
		{"[fe80::1%eth0]", "", "[fe80::1%eth0]"},

		{"", "", ""},
		{".", "", ""},
		{"a..b", "", ""},
		{"example.com..", "", ""},
		{"-a.example", "", ""},
		{"a-.example", "", ""},
		{"a b.example", "", ""},
		{"2001:db8::7", "", ""},
		{"[192.0.2.7]", "", ""},
		{"[2001:db8::7", "", ""},
		{"[]", "", ""},
		{"127.1", "", ""},
		{"0x7f.1", "", ""},
		{"shop.0x7f", "", ""},
		{"2130706433", "", ""},
		{"01.02.03.04", "", ""},
		{strings.Repeat("a", 64) + ".example", "", ""},
		{strings.Repeat("a.", 127) + "com", "", ""},
	}
	for _, test := range tests {
		check := func(by string, h Host, err error, want string) {
			t.Helper()
			if (err != nil) != (want == "") || h.String() != want && err == nil {
				t.Errorf("%s of %q: got %s, %v, want %q", by, test.text, h, err, want)
			}
			if err == nil && h.IsAddr() != IsAddr(h.String()) {
				t.Errorf("%s of %q: is an address: %v", by, test.text, h.IsAddr())
			}
		}
		h, err := Parse(test.text)
		check("Parse", h, err, test.written)
		h, err = ParseURL(test.text)
		check("ParseURL", h, err, test.called)
	}
	for text, want := range map[string]error{"a..b": ErrDomain, "127.1": ErrIPv4, "[x]": ErrIPv6} {
		if _, err := ParseURL(text); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
	}
	if (Host{}).IsAddr() || !(Host{Addr: netip.IPv6Unspecified()}).IsAddr() {
		t.Error("what is an address is not told")
	}
}

func TestParsePort(t *testing.T) {
	for text, want := range map[string]uint16{"1": 1, "443": 443, "65535": 65535, "": 0, "0": 0, "080": 0, "65536": 0, "-1": 0, "+1": 0, "8x": 0} {
		got, err := ParsePort(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
}

// TestPunycode has the sample strings of RFC 3492 section 7.1 that are in
// lower case and whole labels, as the library writes them.
func TestPunycode(t *testing.T) {
	for label, want := range map[string]string{
		"ليهمابتكلموشعربي؟":            "egbpdaj6bu4bxfgehfvwxn",
		"他们为什么不说中文":                    "ihqwcrb4cv8a8dqg056pqjye",
		"למההםפשוטלאמדבריםעברית":       "4dbcagdahymbxekheh6e0a7fei0b",
		"почемужеонинеговорятпорусски": "b1abfaaepdrnnbgefbadotcwatmq2g4l",
		"3年b組金八先生":                     "3b-ww4c5e180e575a65lsy2b",
		"bücher":                       "bcher-kva",
		"ü":                            "tda",
	} {
		if got, err := idna.Punycode.ToASCII(label); err != nil || got != acePrefix+want {
			t.Errorf("%s: got %s, %v, want %s", label, got, err, want)
		}
	}
}

// TestIDNA compares what ParseDomain takes with what the profiles of package idna do: of
// that package the encoding is used, and the choice of letters is our own. Where the
// columns differ is why.
func TestIDNA(t *testing.T) {
	tests := []struct {
		why, text            string
		ours, lookup, strict string // "" is refused
	}{
		{"plain", "Shop.Example", "shop.example", "shop.example", ""},
		{"letters", "bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"upper case", "BÜCHER.example", "xn--bcher-kva.example", "xn--bcher-kva.example", ""},
		{"a loose accent", "bu\u0308cher.example", "xn--bcher-kva.example", "xn--bcher-kva.example", ""},
		{"sharp s", "faß.de", "xn--fa-hia.de", "xn--fa-hia.de", "xn--fa-hia.de"},
		{"full width", "ＳＨＯＰ.example", "", "shop.example", ""},
		{"an ideographic full stop", "shop。example", "", "shop.example", ""},
		{"a soft hyphen", "sh\u00adop.example", "", "shop.example", ""},
		{"a joiner", "sh\u200dop.example", "", "", ""},
		{"a symbol", "☃.example", "", "xn--n3h.example", "xn--n3h.example"},
		{"an emoji", "😀.example", "", "xn--e28h.example", "xn--e28h.example"},
		{"a ligature", "ﬁne.example", "", "fine.example", ""},
		{"the Kelvin sign", "\u212aate.example", "kate.example", "kate.example", ""},
		{"dotted capital I", "\u0130.example", "", "xn--i-9bb.example", ""},
		{"two hyphens in the third place", "r3---sn.example", "r3---sn.example", "", ""},
		{"Punycode of nothing valid", "xn--a.example", "xn--a.example", "", ""},
		{"Punycode of ASCII", "xn--a-.example", "", "", ""},
		{"right to left beside digits", "1א.example", "", "", ""},
		{"a final dot", "shop.example.", "", "shop.example.", "shop.example."},
		{"an address", "127.0.0.1", "", "127.0.0.1", "127.0.0.1"},
		{"a number at the end", "shop.0x7f", "", "shop.0x7f", "shop.0x7f"},
		{"an underscore", "my_shop.example", "", "", ""},
	}
	show := func(text string, err error) string {
		if err != nil {
			return ""
		}
		return text
	}
	for _, test := range tests {
		ours := show(ParseDomain(test.text))
		lookup := show(idna.Lookup.ToASCII(test.text))
		strict := show(idna.Registration.ToASCII(test.text))
		if ours != test.ours || lookup != test.lookup || strict != test.strict {
			t.Errorf("{%q, %q, %q, %q, %q},", test.why, test.text, ours, lookup, strict)
		}
	}
}
