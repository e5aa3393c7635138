package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMigrationNumbers checks that no two changes of the schema took the same
// number on two branches: a store would not open.
func TestMigrationNumbers(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		entries, err := os.ReadDir(filepath.Join(root, "internal/store", engine, "migrations"))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			if want := fmt.Sprintf("%05d_", i+1); len(e.Name()) < len(want) || e.Name()[:len(want)] != want {
				t.Errorf("%s: %s stands where number %d is due", engine, e.Name(), i+1)
			}
		}
	}
}
