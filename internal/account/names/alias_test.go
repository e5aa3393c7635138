package names

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"ql/internal/hostname"
)

func TestParseAlias(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := []struct {
		text string
		kind Kind
		want string // "" is refused
	}{
		{"ada", Username, "ada"},
		{"Ada", Username, "ada"},
		{"ada_l-1815", Username, "ada_l-1815"},
		{"1ada", Username, "1ada"},
		{strings.Repeat("a", 32), Username, strings.Repeat("a", 32)},
		{"user_test", Username, "user_test"},
		{"admin", Username, "admin"}, // reserved for making, not for asking

		{"ad", Username, ""},
		{strings.Repeat("a", 33), Username, ""},
		{"", Username, ""},
		{"_ada", Username, ""},
		{"-ada", Username, ""},
		{"12025550143", Username, ""},
		{"ada.l", Username, ""},
		{"ada l", Username, ""},
		{" ada", Username, ""},
		{"ada\n", Username, ""},
		{"ada\x00", Username, ""},
		{"аda", Username, ""},       // Cyrillic а
		{"\u212aate", Username, ""}, // the Kelvin sign, which folds to k
		{"ada\u200b", Username, ""},

		{"ada@example.com", Email, "ada@example.com"},
		{"Ada.L+notes@Example.COM", Email, "ada.l+notes@example.com"},
		{"o'neil@example.com", Email, "o'neil@example.com"},
		{"ada@bücher.example", Email, "ada@xn--bcher-kva.example"},
		{"ada@xn--bcher-kva.example", Email, "ada@xn--bcher-kva.example"},
		{"jürgen@example.com", Email, "jürgen@example.com"},
		{"JU\u0308RGEN@example.com", Email, "jürgen@example.com"},
		{"почта@example.com", Email, "почта@example.com"},
		{"用户@example.com", Email, "用户@example.com"},
		{"ぴかチュウ@example.com", Email, "ぴかチュウ@example.com"},
		{long + "@example.com", Email, long + "@example.com"},

		{"@", Email, ""},
		{"ada@", Email, ""},
		{"@example.com", Email, ""},
		{"ada@localhost", Email, ""},
		{"ada@example.com.", Email, ""},
		{"ada@[127.0.0.1]", Email, ""},
		{"ada@127.0.0.1", Email, ""},
		{"ada@@example.com", Email, ""},
		{"a@b@example.com", Email, ""},
		{`"ada"@example.com`, Email, ""},
		{"ada(x)@example.com", Email, ""},
		{".ada@example.com", Email, ""},
		{"ada.@example.com", Email, ""},
		{"a..b@example.com", Email, ""},
		{"ada @example.com", Email, ""},
		{"ada@exa mple.com", Email, ""},
		{"Ada <ada@example.com>", Email, ""},
		{"ada@example.com\r\nBcc: x@y.z", Email, ""},
		{long + "a@example.com", Email, ""},
		{"a@" + strings.Repeat(long[:60]+".", 4) + "example.com", Email, ""},
		{"аda@example.com", Email, ""},  // Cyrillic and Latin
		{"сосо@example.com", Email, ""}, // Cyrillic letters that all look Latin
		{"ａda@example.com", Email, ""},  // full width
		{"ﬁne@example.com", Email, ""},  // a ligature
		{"\u0130stanbul@example.com", Email, ""},
		{"a\u200bda@example.com", Email, ""},
		{"\u0301da@example.com", Email, ""},
		{"ada😀@example.com", Email, ""},
		{"ad\xff@example.com", Email, ""},

		{"+12025550143", Phone, "+12025550143"},
		{"+1234567", Phone, "+1234567"},
		{"+123456789012345", Phone, "+123456789012345"},

		{"+", Phone, ""},
		{"+123456", Phone, ""},
		{"+1234567890123456", Phone, ""},
		{"+02025550143", Phone, ""},
		{"+1 202 555 0143", Phone, ""},
		{"+1-2025550143", Phone, ""},
		{"++12025550143", Phone, ""},
		{"+١٢٣٤٥٦٧٨", Phone, ""},
	}
	for _, test := range tests {
		got, err := ParseAlias(test.text)
		if got.Kind != test.kind {
			t.Errorf("%q is taken for a name of kind %s, want %s", test.text, got.Kind, test.kind)
		}
		if test.want == "" && err == nil {
			t.Errorf("%q is taken as %q", test.text, got.Name)
		}
		if test.want != "" && (err != nil || got.Name != test.want) {
			t.Errorf("%q: got %q, %v, want %q", test.text, got.Name, err, test.want)
		}
	}
}

func TestIsReserved(t *testing.T) {
	for name, want := range map[string]bool{
		"dev": true, "user_test": true, "admin": true, "api": true, "www": true, "files": true, "v1-": true, "form": true,
		"admin-": true, "api__": true, "xn--ada": true,
		"ada": false, "administer": false, "devon": false, "formula": false,
	} {
		if got := IsReserved(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// plainFold is what a reader takes for the same name: a reference that knows
// neither kinds nor grammars.
func plainFold(s string) string {
	return norm.NFC.String(strings.Map(unicode.ToLower, norm.NFC.String(s)))
}

func FuzzIdentity(f *testing.F) {
	for _, seed := range [][2]string{
		{"Ada", "ada"}, {"ada@example.com", "ADA@EXAMPLE.com"}, {"+12025550143", "12025550143"},
		{"ada@bücher.example", "ada@xn--bcher-kva.example"}, {"jürgen@example.com", "ju\u0308rgen@example.com"},
		{"\u0130@example.com", "i@example.com"}, {"\u212aate", "kate"}, {"ς@example.com", "σ@example.com"}, {"ſa@b.c", "sa@b.c"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := ParseAlias(a)
		if err != nil {
			return
		}
		again, err := ParseAlias(x.Name)
		if err != nil || again != x {
			t.Errorf("%q becomes %v, and that %v, %v", a, x, again, err)
		}
		y, err := ParseAlias(b)
		if err != nil {
			return
		}
		// Equal names are equal to a reader too, up to how a domain is written.
		localA, hostA, _ := strings.Cut(a, "@")
		localB, hostB, _ := strings.Cut(b, "@")
		same := plainFold(localA) == plainFold(localB) && (plainFold(hostA) == plainFold(hostB) || hostname.IsASCII(hostA) != hostname.IsASCII(hostB))
		if x == y && !same {
			t.Errorf("%q and %q are both %v", a, b, x)
		}
		if x != y && plainFold(a) == plainFold(b) {
			t.Errorf("%q is %v, %q is %v, and a reader sees no difference", a, x, b, y)
		}
		if x.Kind != y.Kind && x.Name == y.Name {
			t.Errorf("%q is a name of two kinds", x.Name)
		}
	})
}

// TestNoLetterIsTwo tries every character: two of them are one name only where
// a reader would say so, and no accepted one changes when folded again.
func TestNoLetterIsTwo(t *testing.T) {
	first := map[string]rune{}
	for r := range unicode.MaxRune {
		a, err := ParseAlias(string(r) + "@example.com")
		if err != nil {
			continue
		}
		if other, ok := first[a.Name]; ok && plainFold(string(other)) != plainFold(string(r)) {
			t.Errorf("%q and %q are both %s", other, r, a.Name)
		}
		first[a.Name] = r
	}
	if len(first) < 10_000 {
		t.Errorf("%d names are taken, fewer than letters of the world", len(first))
	}
}
