// Package sqlitetest gives tests data folders whose store has its tables already: to run all
// migrations takes longer than many a test. It is linked into tests alone.
package sqlitetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ql/internal/store/sqlite"
)

// empty is the file of a store with nothing in it, as one start and stop leave it.
var empty = sync.OnceValues(func() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "ql-sqlitetest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	store, err := sqlite.Open(context.Background(), sqlite.Options{Folder: folder, Own: true})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(folder, sqlite.FileName))
})

// Folder returns a folder of the test's own for a store.
func Folder(t testing.TB) string {
	t.Helper()
	content, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, sqlite.FileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}
