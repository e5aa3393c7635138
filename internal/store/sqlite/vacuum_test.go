package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShrink checks that the room of removed rows goes back to the disk, and
// that some is kept.
func TestShrink(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(t.Context(), Options{Folder: folder, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	run := func(sql string) {
		t.Helper()
		if err := s.write(t.Context(), func(t tx) error { _, err := t.exec(sql); return err }); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE much (n INTEGER PRIMARY KEY, text BLOB)")
	run("INSERT INTO much (text) WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4000) SELECT zeroblob(4000) FROM c")
	run("DELETE FROM much")
	rounds := 0
	for more := true; more; rounds++ {
		if more, err = s.Vacuum(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if rounds < 5 || info.Size() > 8<<20 {
		t.Errorf("the file has %d bytes after %d rounds, of 16 MB that were removed", info.Size(), rounds)
	}
}
