package syntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// typicalScript is all scripts of the corpus, one after another, until the text
// has about the size.
func typicalScript(tb testing.TB, size int) string {
	paths, err := filepath.Glob("testdata/scripts/*.ql")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no scripts: %v", err)
	}
	var b strings.Builder
	for b.Len() < size {
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			b.Write(text)
			b.WriteString(";\n")
		}
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	f := source.NewFile("", typicalScript(b, 64<<10))
	b.SetBytes(int64(len(f.Text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := syntax.Parse(f); errs != nil {
			b.Fatal(errs)
		}
	}
}
