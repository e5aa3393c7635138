package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// What is printed is never longer than what is measured before.
func TestMeasure(t *testing.T) {
	paths, err := filepath.Glob("../syntax/testdata/scripts/*.ql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	texts := []string{
		"EMIT " + strings.Repeat("F(", 150) + "1" + strings.Repeat(")", 150),
		"EMIT " + strings.Repeat("1+(", 90) + "1" + strings.Repeat(")", 90),
		"EMIT " + strings.Repeat("{a:[", 90) + "1" + strings.Repeat("]}", 90),
		"EMIT " + strings.Repeat("CASE WHEN 1 THEN ", 90) + "1" + strings.Repeat(" END", 90),
		strings.Repeat("IF 1 THEN ", 190) + strings.Repeat("STOP ", 1000) + strings.Repeat("--\n", 1000) + strings.Repeat("END ", 190),
		strings.Repeat("IF 1 THEN ", 190) + "EMIT \"\"\"" + strings.Repeat("\na", 1000) + "\n\"\"\"\n" + strings.Repeat("END ", 190),
		strings.Repeat("IF 1 THEN\n", 190) + "/*" + strings.Repeat("\na", 1000) + "\n*/\n" + strings.Repeat("END ", 190),
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		script, errs := syntax.Parse(source.NewFile("", text))
		if len(errs) > 0 {
			t.Fatalf("%.60s: %v", text, errs)
		}
		if _, bytes := Measure(script); len(Script(script)) > bytes {
			t.Errorf("%.60s: %d bytes were printed, and %d measured", text, len(Script(script)), bytes)
		}
	}
}
