package sqlite

import (
	"testing"

	"ql/internal/store/storetest"
)

// openTest opens a store of its own for a test.
func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Stores {
		return openTest(t, Options{Own: true}).Aggregate().CacheAccounts()
	})
}

// TestConformanceOfTwo has two handles on one store, as of two processes.
func TestConformanceOfTwo(t *testing.T) {
	storetest.RunPair(t, func(t *testing.T) (storetest.Stores, storetest.Stores) {
		folder := t.TempDir()
		a, b := openTest(t, Options{Folder: folder, Own: true}), openTest(t, Options{Folder: folder})
		return a.Aggregate().CacheAccounts(), b.Aggregate().CacheAccounts()
	})
}
