package mail

import (
	"strings"
	"testing"
)

// FuzzAddress: what is read as an address has one line, and is written as something that is read as the same.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"ada@example.com", "Ada <ada@example.com>", `"Ada L" <ada@example.com>`, "zoë@bücher.example", "a@b", "<a@b.example", "a\r\nBcc: b@c.example", "a@b.example, c@d.example", `" "<M@e.m>`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		shown := a.String()
		if strings.ContainsAny(shown, "\r\n\x00") {
			t.Fatalf("%q is written as %q", text, shown)
		}
		if again, err := ParseAddress(shown); err != nil || again != a {
			t.Fatalf("%q is %+v, written as %q: %+v, %v", text, a, shown, again, err)
		}
	})
}
