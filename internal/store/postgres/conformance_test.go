package postgres

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"ql/internal/store/postgres/pgtest"
	"ql/internal/store/relational"
	"ql/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// database returns the URL of a database with the tables of the store.
func database(t testing.TB) string {
	t.Helper()
	return pgtest.Start(t).Database(t, "ql_tables", func(url string) error {
		s, err := Open(context.Background(), Options{URL: url, Migrate: true})
		if err != nil {
			return err
		}
		return s.Close()
	}, empty)
}

// empty removes all rows of a database.
func empty(url string) error {
	ctx := context.Background()
	config, err := parse(url)
	if err != nil {
		return err
	}
	config.ConnectTimeout = openTimeout
	c, err := connect(ctx, config)
	if err != nil {
		return err
	}
	sql := "DELETE FROM accounts"
	err = c.Query(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('ql_schema', 'head', 'accounts')", nil, func(r relational.Row) bool {
		sql += "; DELETE FROM " + string(r.Text(0))
		return true
	})
	if err == nil {
		err = c.run(ctx, sql+"; UPDATE head SET last = 0, incarnation = 0; SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'")
	}
	return errors.Join(err, c.close())
}

// openTest opens a store for a test.
func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if o.URL == "" {
		o.URL = database(t)
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

// TestConformance has no -short version: what may race is in that of two.
func TestConformance(t *testing.T) {
	if testing.Short() {
		return
	}
	storetest.Run(t, func(t *testing.T) storetest.Stores {
		s := openTest(t, Options{Readers: 4, ValidFor: 100 * time.Millisecond})
		s.versions.valid.Store(math.MaxInt64) // nobody else changes it
		return s.Aggregate().CacheAccounts()
	})
}

// TestConformanceOfTwo has two handles on one store, as of two processes.
func TestConformanceOfTwo(t *testing.T) {
	storetest.RunPair(t, func(t *testing.T) (storetest.Stores, storetest.Stores) {
		url := database(t)
		// Members that do not renew are waited for.
		o := Options{URL: url, Readers: 4, ValidFor: 10 * time.Millisecond}
		a, b := openTest(t, o), openTest(t, o)
		return a.Aggregate().CacheAccounts(), b.Aggregate().CacheAccounts()
	})
}
