package postgres

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"ql/internal/member"
	"ql/internal/store/postgres/pgtest"
	"ql/internal/store/relational"
	"ql/internal/store/storetest"
)

// poolers are the ways to the database by PgBouncer.
var poolers = map[string]func(direct string, p *pgtest.Pooler) Options{
	pgtest.SessionMode: func(direct string, p *pgtest.Pooler) Options { return Options{URL: p.URL(direct)} },
	pgtest.TransactionMode: func(direct string, p *pgtest.Pooler) Options {
		return Options{URL: p.URL(direct), Direct: direct}
	},
}

// TestPromisePoolers holds the store to all that it promises by way of PgBouncer, in both of its modes: without
// QL_PROMISES to a part of it.
func TestPromisePoolers(t *testing.T) {
	for mode, options := range poolers {
		t.Run(mode, func(t *testing.T) {
			pooler := pgtest.Start(t).Pooler(t, mode)
			run := storetest.Run
			if os.Getenv("QL_PROMISES") == "" {
				run = storetest.RunSome
			}
			run(t, func(t *testing.T) storetest.Stores {
				o := options(database(t), pooler)
				o.Readers, o.ValidFor = 4, 100*time.Millisecond
				s := openTest(t, o)
				s.versions.valid.Store(math.MaxInt64) // nobody else changes it
				return s.Aggregate().CacheAccounts()
			})
		})
	}
}

// TestPoolers checks what each mode must leave alone: by transactions, nothing stays at a connection that others get
// next, and each transaction is bounded all the same. Hints come in both.
func TestPoolers(t *testing.T) {
	for mode, options := range poolers {
		t.Run(mode, func(t *testing.T) {
			direct := database(t)
			s := openTest(t, options(direct, pgtest.Start(t).Pooler(t, mode)))
			c, err := connect(t.Context(), s.config)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.pg.CancelRequest(t.Context()); !errors.Is(err, errNoCancel) {
				t.Errorf("a pooler is asked to cancel: %v", err)
			}
			setting := func(name string) (value string) {
				t.Helper()
				if err := c.Query(t.Context(), "SELECT current_setting('"+name+"')", nil, func(r relational.Row) bool {
					value = string(r.Text(0))
					return false
				}); err != nil {
					t.Fatal(err)
				}
				return value
			}
			if err := c.begin(t.Context(), "ISOLATION LEVEL SERIALIZABLE"); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{"statement_timeout": "5s", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "10s", "transaction_isolation": "serializable"} {
				if got := setting(name); got != want {
					t.Errorf("a change has %s %s, want %s", name, got, want)
				}
			}
			if err := c.run(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
			if got := setting("lock_timeout"); mode == pgtest.TransactionMode && got != "0" {
				t.Errorf("lock_timeout stays %s at a connection", got)
			}
			if err := c.close(); err != nil {
				t.Error(err)
			}
			// Many at once, so that connections change hands.
			for range 3 {
				done := make(chan error)
				for range 20 {
					go func() {
						done <- s.Read(t.Context(), func(tx relational.Tx) error {
							_, err := tx.BoundFolder()
							return err
						})
					}()
				}
				for range 20 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			}
			heard, all := make(chan member.Hint, 64), s.Aggregate()
			ctx := t.Context()
			go all.Hints.Listen(ctx, func(h member.Hint) {
				select {
				case heard <- h:
				default:
				}
			})
			for <-heard != member.HintDue { // it listens, and tells of what came before
			}
			go all.Hints.Deliver(ctx)
			all.Hints.Send(member.HintDue)
			for h := range heard {
				if h == member.HintDue {
					break
				}
			}
		})
	}
}

// TestCancels: the server itself is asked to cancel what nobody waits for any more.
func TestCancels(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	c, err := connect(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.pg.CancelRequest(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

// TestPoolerUnsaid checks that who is led to a pooler by transactions, and was not told so, learns what is missing.
func TestPoolerUnsaid(t *testing.T) {
	p := pgtest.Start(t).Pooler(t, pgtest.TransactionMode)
	s := openTest(t, Options{URL: p.URL(database(t)), Readers: 1})
	// Sooner or later a statement is there twice, or not at all.
	var err error
	for deadline := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(deadline); {
		err = s.Read(t.Context(), func(tx relational.Tx) error {
			_, err := tx.BoundFolder()
			return err
		})
	}
	if err == nil || !strings.Contains(err.Error(), "--database-direct") {
		t.Errorf("%v", err)
	}
}
