package syntax_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang/source"
	"ql/lang/syntax"
)

var update = flag.Bool("update", false, "rewrite the expected messages")

// Each script of testdata/wrong has the messages it must get in a .err file
// beside it, one line an error.
func TestWrongScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/wrong/*.ql")
	if err != nil || len(paths) < 90 {
		t.Fatalf("found %d wrong scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".ql")
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			script, errs := syntax.Parse(source.NewFile("", string(text)))
			if len(errs) == 0 {
				t.Fatalf("no error; the tree is %s", syntax.Dump(script))
			}
			var got strings.Builder
			for _, e := range errs {
				got.WriteString(e.Error() + "\n")
			}
			if *update {
				if err := os.WriteFile(name+".err", []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(name + ".err")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
