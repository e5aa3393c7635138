package lib

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRuneCount(t *testing.T) {
	all := strings.Repeat("aé€😀\n", 9) + "äöüßÄÖÜ日本語x"
	for i := range len(all) {
		for j := i; j <= len(all); j++ {
			if s := all[i:j]; utf8.ValidString(s) && runeCount(s) != utf8.RuneCountInString(s) {
				t.Fatalf("%q has %d characters, not %d", s, utf8.RuneCountInString(s), runeCount(s))
			}
		}
	}
}
