package ring

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestRefusedWrite writes from memory that is not aligned, which most file systems
// refuse where it is to go past the system's memory, and then as they take it.
func TestRefusedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	if err := os.WriteFile(path, make([]byte, 2*Block), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	odd := bytes.Repeat([]byte("x"), Block+1)[1:]
	for _, at := range []int64{0, Block} {
		if err := f.write(odd, at); err != nil {
			t.Errorf("a write at %d: %v", at, err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat([]byte("x"), 2*Block); !bytes.Equal(got, want) {
		t.Error("the file does not hold what was written")
	}
}
