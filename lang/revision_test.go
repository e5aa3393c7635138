package lang_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/compile"
	"ql/lang/langtest"
)

// TestRevision: what texts are compiled to changes with compile.Revision alone. A store has
// programs of earlier releases, which it finds by the hash of their texts and that number.
func TestRevision(t *testing.T) {
	files, err := filepath.Glob("syntax/testdata/scripts/*.ql")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := lang.Compile(string(text), lang.Options{Include: func(string) (string, error) { return "DEFINE total(?x) RETURN ?x END", nil }})
		if err != nil {
			t.Logf("%s is left out: %v", file, err)
			continue
		}
		p.Hash = [sha256.Size]byte{}
		for _, f := range p.Funcs {
			f.Vars = nil // no run depends on names
		}
		p.Bytes = p.Weigh()
		h.Write(bytecode.Encode(p))
	}
	const golden = "testdata/revision.txt"
	got := fmt.Sprintf("revision %d\ncode %s\n", compile.Revision, hex.EncodeToString(h.Sum(nil)))
	if want, err := os.ReadFile(golden); err == nil && string(want) != got && strings.HasPrefix(string(want), fmt.Sprintf("revision %d\n", compile.Revision)) {
		t.Fatalf("the same texts are compiled to other code, or stored in another form: raise compile.Revision, then run this test with -update")
	}
	langtest.Golden(t, golden, got)
}
