package files

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"

	"golang.org/x/text/unicode/norm"
)

// same marks a path that is its own canonical form.
const same = "="

var long = strings.Repeat("x", 255)

var paths = []struct{ path, want, rule string }{
	// plain
	{"/a", same, ""},
	{"/a.txt", same, ""},
	{"/a/b/c.json", same, ""},
	{"/reports/2026/june.pdf", same, ""},
	{"/.hidden", same, ""},
	{"/..a", same, ""},
	{"/...a", same, ""},
	{"/a..b", same, ""},
	{"/a.b.c", same, ""},
	{"/a b", same, ""},
	{"/a  b", same, ""},
	{"/-a", same, ""},
	{"/~a", same, ""},
	{"/a~", same, ""},
	{"/~", same, ""},
	{"/$HOME", same, ""},
	{"/%2e%2e", same, ""},
	{"/%2f", same, ""},
	{"/%00", same, ""},
	{"/a'b", same, ""},
	{"/a;b&c", same, ""},
	{"/a`b`", same, ""},
	{"/(a)[b]{c}", same, ""},
	{"/a+b=c,d!e@f#g^h", same, ""},
	{"/README", same, ""},
	{"/A", same, ""},
	{"/0", same, ""},
	// letters of the world
	{"/größe.txt", same, ""},
	{"/gro\u0308\u00dfe.txt", "/gr\u00f6\u00dfe.txt", ""},
	{"/e\u0301", "/\u00e9", ""},
	{"/\u212b", "/\u00c5", ""}, // the sign for ångström
	{"/\u2126", "/\u03a9", ""}, // the sign for ohm
	{"/\u1100\u1161", "/\uac00", ""},
	{"/日本語/ファイル.txt", same, ""},
	{"/файл", same, ""},
	{"/ملف", same, ""},
	{"/קובץ", same, ""},
	{"/फ़ाइल", norm.NFC.String("/फ़ाइल"), ""},
	{"/👋.png", same, ""},
	{"/🇩🇪", same, ""},
	{"/a\u00a0b", same, ""},
	{"/a\u3000b", same, ""},
	{"/ﬁ", same, ""},
	{"/①", same, ""},
	{"/\ue000", same, ""}, // for private use, assigned by whoever uses it
	// names that only look like devices
	{"/CONSOLE", same, ""},
	{"/con1", same, ""},
	{"/COM0", same, ""},
	{"/COM10", same, ""},
	{"/COM", same, ""},
	{"/LPT", same, ""},
	{"/lpt10.txt", same, ""},
	{"/nul1", same, ""},
	{"/aux2.c", same, ""},
	{"/a.con", same, ""},
	{"/xCON", same, ""},
	// the longest
	{"/" + long, same, ""},
	{"/" + strings.Repeat("ä", 127), same, ""},
	{"/" + long + "/" + long + "/" + long + "/" + long, same, ""},
	{strings.Repeat("/a", 32), same, ""},

	// sizes
	{"/" + long + "x", "", "longer than 255 bytes"},
	{"/" + strings.Repeat("ä", 128), "", "longer than 255 bytes"},
	{"/a/" + long + "x/b", "", "longer than 255 bytes"},
	{"/" + long + "/" + long + "/" + long + "/" + long + "/a", "", "longer than 1024 bytes"},
	{strings.Repeat("/a", 33), "", "more than 32 parts"},
	// not from the top
	{"", "", "start with /"},
	{"a", "", "start with /"},
	{"a/b", "", "start with /"},
	{"./a", "", "start with /"},
	{"../a", "", "start with /"},
	{"~/a", "", "start with /"},
	{"C:/a", "", "start with /"},
	{" /a", "", "start with /"},
	{`\a`, "", "start with /"},
	{"file:///a", "", "start with /"},
	{"\u2215a", "", "start with /"},
	// empty parts
	{"/", "", "empty part"},
	{"//", "", "empty part"},
	{"//a", "", "empty part"},
	{"/a/", "", "empty part"},
	{"/a//b", "", "empty part"},
	{"///a", "", "empty part"},
	{"//server/share", "", "empty part"},
	// dots
	{"/.", "", `"." is no name`},
	{"/..", "", `".." is no name`},
	{"/a/..", "", `".." is no name`},
	{"/a/../b", "", `".." is no name`},
	{"/../../etc/passwd", "", `".." is no name`},
	{"/a/./b", "", `"." is no name`},
	{"/./a", "", `"." is no name`},
	{"/a/.", "", `"." is no name`},
	{"/...", "", "ends with a dot"},
	{"/....", "", "ends with a dot"},
	{"/a.", "", "ends with a dot"},
	{"/a../b", "", "ends with a dot"},
	{"/.. /a", "", "starts or ends with a space"},
	{"/ ../a", "", "starts or ends with a space"},
	{"/..\u200b/a", "", "invisible character U+200B"},
	{"/.\u00ad./a", "", "invisible character U+00AD"},
	// control characters
	{"/a\x00", "", "control character U+0000"},
	{"/a\x00.txt", "", "control character U+0000"},
	{"/\x01", "", "control character U+0001"},
	{"/a\tb", "", "control character U+0009"},
	{"/a\nb", "", "control character U+000A"},
	{"/a\rb", "", "control character U+000D"},
	{"/a\x1bb", "", "control character U+001B"},
	{"/a\x7f", "", "control character U+007F"},
	{"/a\u0080", "", "control character U+0080"},
	{"/a\u0085b", "", "control character U+0085"},
	{"/a\u009f", "", "control character U+009F"},
	// signs
	{`/a\b`, "", `the character \`},
	{`/..\..\etc`, "", `the character \`},
	{`/a\..\b`, "", `the character \`},
	{"/a:b", "", "the character :"},
	{"/a.txt::$DATA", "", "the character :"},
	{"/C:", "", "the character :"},
	{"/a*", "", "the character *"},
	{"/a?b", "", "the character ?"},
	{`/"a"`, "", `the character "`},
	{"/a<b", "", "the character <"},
	{"/a>b", "", "the character >"},
	{"/a|b", "", "the character |"},
	// spaces
	{"/ ", "", "starts or ends with a space"},
	{"/ a", "", "starts or ends with a space"},
	{"/a ", "", "starts or ends with a space"},
	{"/a /b", "", "starts or ends with a space"},
	{"/a\u00a0", "", "starts or ends with a space"},
	{"/\u3000a", "", "starts or ends with a space"},
	{"/a\u2028", "", "starts or ends with a space"},
	// what cannot be seen
	{"/a\u200db", "", "invisible character U+200D"},
	{"/a\u200e", "", "invisible character U+200E"},
	{"/a\u202egpj.exe", "", "invisible character U+202E"},
	{"/a\u2066b\u2069", "", "invisible character U+2066"},
	{"/\ufeffa", "", "invisible character U+FEFF"},
	{"/a\u061cb", "", "invisible character U+061C"},
	{"/a\U000e0041", "", "invisible character U+E0041"},
	// what is no character
	{"/a\u0378", "", "U+0378, which is no character"},
	{"/a\ufffe", "", "U+FFFE, which is no character"},
	{"/a\ufdd0", "", "U+FDD0, which is no character"},
	{"/a\U0010ffff", "", "U+10FFFF, which is no character"},
	{"/a\xff", "", "not valid UTF-8"},
	{"/\xc0\xaf", "", "not valid UTF-8"},
	{"/\xc0\xae\xc0\xae/a", "", "not valid UTF-8"},
	{"/a\xed\xa0\x80", "", "not valid UTF-8"},
	{"/a\xc3", "", "not valid UTF-8"},
	// devices
	{"/CON", "", "a device"},
	{"/con", "", "a device"},
	{"/Con.txt", "", "a device"},
	{"/con.tar.gz", "", "a device"},
	{"/a/NUL/b", "", "a device"},
	{"/nul.", "", "ends with a dot"},
	{"/PRN", "", "a device"},
	{"/AUX.h", "", "a device"},
	{"/COM1", "", "a device"},
	{"/com9.log", "", "a device"},
	{"/COM\u00b9", "", "a device"},
	{"/LPT1", "", "a device"},
	{"/lpt9", "", "a device"},
	{"/LPT\u00b3.txt", "", "a device"},
	{"/con .txt", "", "a device"},
}

func TestCanonical(t *testing.T) {
	if len(paths) < 120 {
		t.Errorf("only %d paths", len(paths))
	}
	for _, c := range paths {
		want := c.want
		if want == same {
			want = c.path
		}
		got, err := Canonical(c.path)
		if got != want {
			t.Errorf("%q: got %q, %v; want %q", c.path, got, err, want)
		}
		if c.rule == "" {
			if err != nil {
				t.Errorf("%q: %v", c.path, err)
			}
			continue
		}
		var e *value.Error
		if !errors.As(err, &e) || e.Code != "invalid_path" || !strings.Contains(e.Message, c.rule) {
			t.Errorf("%q: %v; want a message with %q", c.path, err, c.rule)
		}
	}
}

func TestKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"/a", "/A", true},
		{"/ä", "/Ä", true},
		{"/ä", "/a\u0308", true},
		{"/A\u0308", "/ä", true},
		{"/straße", "/STRASSE", true},
		{"/\u212a", "/k", true}, // the sign for kelvin
		{"/\u017f", "/s", true}, // the long s
		{"/ﬁ", "/fi", true},
		{"/σ", "/ς", true},
		{"/\u1e9e", "/ss", true},
		{"/a", "/b", false},
		{"/a", "/ä", false},
		{"/a/b", "/a b", false},
		{"/ı", "/i", false},
	} {
		if got := Key(c.a) == Key(c.b); got != c.same {
			t.Errorf("%q and %q: %t", c.a, c.b, got)
		}
	}
}

// TestKeyOfEveryCharacter looks at all characters that have another case or
// another composition.
func TestKeyOfEveryCharacter(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) == r && norm.NFD.PropertiesString(string(r)).Decomposition() == nil {
			continue
		}
		path, err := Canonical("/a" + string(r) + "b")
		if err != nil {
			continue
		}
		key := Key(path)
		if Key(key) != key || Key(norm.NFD.String(path)) != key {
			t.Errorf("%U: the key is %q, whose key is %q", r, key, Key(key))
		}
		if other := unicode.SimpleFold(r); Key("/a"+string(other)+"b") != key {
			t.Errorf("%U and %U have two keys", r, other)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, c := range paths {
		f.Add(c.path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		canonical, err := Canonical(path)
		if err != nil {
			if e := new(value.Error); !errors.As(err, &e) || e.Code != "invalid_path" {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		if again, err := Canonical(canonical); err != nil || again != canonical {
			t.Fatalf("%q gives %q, which gives %q, %v", path, canonical, again, err)
		}
		if !utf8.ValidString(canonical) || !norm.NFC.IsNormalString(canonical) {
			t.Fatalf("%q is not composed", canonical)
		}
		if len(canonical) > 1024 || strings.Count(canonical, "/") > 32 {
			t.Fatalf("%q is too long", canonical)
		}
		if filepath.ToSlash(filepath.Clean(canonical)) != canonical || !filepath.IsLocal(canonical[1:]) {
			t.Fatalf("the system takes %q for %q", canonical, filepath.Clean(canonical))
		}
		for _, segment := range strings.Split(canonical[1:], "/") {
			if segment == "" || segment == "." || segment == ".." || len(segment) > 255 {
				t.Fatalf("%q has the part %q", canonical, segment)
			}
		}
		for _, r := range canonical {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`\:*?"<>|`, r) {
				t.Fatalf("%q holds %U", canonical, r)
			}
		}
		key := Key(canonical)
		if Key(key) != key || Key(norm.NFD.String(path)) != key {
			t.Fatalf("the key of %q is %q, whose key is %q", canonical, key, Key(key))
		}
	})
}
