package syntax

import (
	"os"
	"path/filepath"
	"testing"

	"ql/lang/source"
)

// One mistake gives one message, or few: every token of every script is left
// out, or replaced with a word, once.
func TestOneMistake(t *testing.T) {
	paths, err := filepath.Glob("testdata/scripts/*.ql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	wrong, several := 0, 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		s := scanner{src: text}
		var tok token
		for s.scan(&tok); tok.kind != tEOF; s.scan(&tok) {
			for _, instead := range []string{"", "foo", "EMIT"} {
				_, errs := Parse(source.NewFile("", text[:tok.start]+instead+text[tok.stop:]))
				if len(errs) > 0 {
					wrong++
				}
				if len(errs) > 1 {
					several++
				}
				const most = 3
				if len(errs) > most {
					t.Errorf("%s with %q instead of %q at %d has %d errors:", path, instead, text[tok.start:tok.stop], tok.start, len(errs))
					for _, e := range errs {
						t.Log(e)
					}
				}
			}
		}
	}
	if several*20 > wrong {
		t.Errorf("%d of %d mistakes give more than one message", several, wrong)
	}
}
