package sqlite_test

import (
	"testing"

	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/internal/store/storetest"
)

// open opens the store of a folder as one process does.
func open(t testing.TB, o sqlite.Options) storetest.Stores {
	t.Helper()
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Aggregate().CacheAccounts()
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Stores {
		return open(t, sqlite.Options{Folder: sqlitetest.Folder(t), Own: true})
	})
}

// TestConformanceOfTwo has two handles on one store, as of two processes.
func TestConformanceOfTwo(t *testing.T) {
	storetest.RunPair(t, func(t *testing.T) (storetest.Stores, storetest.Stores) {
		folder := sqlitetest.Folder(t)
		return open(t, sqlite.Options{Folder: folder, Own: true}), open(t, sqlite.Options{Folder: folder})
	})
}
