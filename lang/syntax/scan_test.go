package syntax

import (
	"testing"
	"unicode/utf8"
)

// The scanner reaches the end of any text, token by token, and never goes back.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`EMIT "a{?b}c{="d{?e}"}" -- f`, "\"\"\"\n a\n \"\"\"", `'a''b' 1_0.5e-3 ?x !GET -> <> == /* c */`,
		"“curly” `back` ?? ?. ?1 $x @y # z", "\"{", `"{?a`, `"{=`, `'`, `/*`, `"""`, "\u00a0\u200b", `"\u{`, "1e",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		s := scanner{src: text}
		var tok token
		last := 0
		for range 2*len(text) + 2 {
			s.scan(&tok)
			if int(tok.start) < last || tok.stop < tok.start || int(tok.stop) > len(text) {
				t.Fatalf("token %+v after %d", tok, last)
			}
			if tok.err != errNone && (tok.errPos < 0 || int(tok.errPos) > len(text)) {
				t.Fatalf("error of %+v", tok)
			}
			last = int(tok.stop)
			if tok.kind == tEOF {
				return
			}
		}
		t.Fatal("the scanner does not come to the end")
	})
}
