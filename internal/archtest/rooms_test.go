package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxWiring is how many lines the composition root may have, without its tests: what does
// something has a package of its own.
const maxWiring = 1000

func TestCompositionRootIsWiringAlone(t *testing.T) {
	const folder = "internal/app"
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines == 0 || lines >= maxWiring {
		t.Errorf("%s has %d lines, and may have fewer than %d", folder, lines, maxWiring)
	}
}

// vagueNames are names of files that say nothing of what is in them.
var vagueNames = []string{"keep.go", "around.go", "belongings.go", "ahead.go", "rest.go"}

func TestFileNames(t *testing.T) {
	for _, p := range loadTree(t) {
		for _, f := range p.files {
			if slices.Contains(vagueNames, f.name) {
				t.Errorf("%s/%s: the name does not say what is in it", p.path, f.name)
			}
		}
	}
}
