package lib

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// TestCaseOfEveryCharacter compares what UPPER and LOWER make of each character with Unicode's full
// mapping as another library has it.
func TestCaseOfEveryCharacter(t *testing.T) {
	of := func(r rune, f func(rune) rune, several func(rune, string, int) string) string {
		if s := several(r, string(r), 0); s != "" {
			return s
		}
		return string(f(r))
	}
	upper, lower := cases.Upper(language.Und), cases.Lower(language.Und)
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || unicode.IsControl(r) {
			continue
		}
		if got, want := of(r, unicode.ToUpper, severalCapitals), upper.String(string(r)); got != want {
			t.Errorf("%q in capitals is %q, not %q", r, got, want)
			n++
		}
		if got, want := of(r, unicode.ToLower, severalSmall), lower.String(string(r)); got != want {
			t.Errorf("%q in small letters is %q, not %q", r, got, want)
			n++
		}
		if n > 20 {
			t.Fatal("and so on")
		}
	}
}

// TestEndOfWords compares where Σ ends a word. Letters such as ʰ, which count as both cased and to be
// passed over, are left out: libraries differ there.
func TestEndOfWords(t *testing.T) {
	lower := cases.Lower(language.Und)
	beside := []string{"", "Α", "α", " ", "'", ".", ":", "1", "-", "\u0301", "\u00AD", "Α'", "'Α", "1'", "א"}
	for _, before := range beside {
		for _, after := range beside {
			s := before + "Σ" + after
			want := "σ"
			if endsWord(s, len(before)) {
				want = "ς"
			}
			if got := lower.String(s)[len(lower.String(before)):][:len(want)]; got != want {
				t.Errorf("%q: Σ is %s here, and %s there", s, want, got)
			}
		}
	}
}
