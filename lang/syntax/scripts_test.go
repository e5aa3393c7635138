package syntax_test

import (
	"os"
	"path/filepath"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Every script that a newcomer would write must parse.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/scripts/*.ql")
	if err != nil || len(paths) < 35 {
		t.Fatalf("found %d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := source.NewFile("", string(text))
		if _, errs := syntax.Parse(f); len(errs) > 0 {
			for _, e := range errs {
				t.Errorf("%s:\n%s", path, e.Caret(""))
			}
		}
	}
}
