package files

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ql/internal/resource/files/filestest"
	"ql/lang/value"

	"golang.org/x/text/unicode/norm"
)

func TestCanonical(t *testing.T) {
	hostile := 0
	for _, c := range filestest.Paths() {
		got, err := Canonical(c.Text)
		if got != c.Canonical {
			t.Errorf("%q: got %q, %v; want %q", c.Text, got, err, c.Canonical)
		}
		if c.Canonical != "" {
			if err != nil {
				t.Errorf("%q: %v", c.Text, err)
			}
			continue
		}
		hostile++
		var e *value.Error
		if !errors.As(err, &e) || e.Code != "invalid_path" || !strings.Contains(e.Message, c.Rule) {
			t.Errorf("%q: %v; want a message with %q", c.Text, err, c.Rule)
		}
	}
	if hostile < 400 {
		t.Errorf("only %d hostile paths", hostile)
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

// TestPlainPaths: what is found to be plain at a glance is what it is by all the rules.
func TestPlainPaths(t *testing.T) {
	plain := 0
	check := func(path string) {
		if isPlain(path) {
			plain++
			if got, err := canonical(path); got != path || err != nil {
				t.Errorf("%q is not plain: %q, %v", path, got, err)
			}
		}
		if key, ok := plainKey(path); ok && key != foldedKey(path) {
			t.Errorf("%q has the key %q, not %q", path, foldedKey(path), key)
		}
	}
	for _, c := range filestest.Paths() {
		check(c.Text)
	}
	for _, device := range []string{"con", "Prn.txt", "AUX", "nul.a.b", "com1", "LPT9.x", "conin$", "CONOUT$", "clock$"} {
		check("/" + device)
		check("/a/" + device + "/b")
	}
	for a := range 256 {
		for b := range 256 {
			check("/x" + string([]byte{byte(a), byte(b)}))
			check("/" + string([]byte{byte(a), byte(b)}) + "x")
		}
	}
	if plain < 10_000 {
		t.Errorf("only %d are plain", plain)
	}
	if !isPlain("/site/blog/[slug].ql") {
		t.Error("a file of a site is not plain")
	}
}

func FuzzPath(f *testing.F) {
	for _, c := range filestest.Paths() {
		f.Add(c.Text)
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
