package postgres

import (
	"context"
	"math"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/member"
	"ql/internal/store/postgres/pgtest"
	"ql/internal/store/relational"
	"ql/internal/store/storetest"

	"github.com/jackc/pgx/v5/pgconn"
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
			for _, what := range []member.Hint{member.HintDue, member.HintDueFor(42)} {
				all.Hints.Send(what)
				for h := range heard {
					if h == what {
						break
					}
				}
			}
		})
	}
}

// askInVain asks for what takes longer than anybody waits.
func askInVain(ctx context.Context, c *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err := c.Exec(ctx, "SELECT pg_sleep(60)").ReadAll()
	return err
}

// TestCancels: the server itself is asked to cancel what nobody waits for any more, and a pooler never is: neither when it is
// known to be one, nor before.
func TestCancels(t *testing.T) {
	direct := database(t)
	urls := map[string]string{"": direct}
	for mode := range poolers {
		urls[mode] = pgtest.Start(t).Pooler(t, mode).URL(direct)
	}
	for mode, url := range urls {
		t.Run(mode, func(t *testing.T) {
			config, err := parse(url)
			if err != nil {
				t.Fatal(err)
			}
			dial, dialled, atStart := config.DialFunc, atomic.Int64{}, config.AfterConnect
			config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialled.Add(1)
				return dial(ctx, network, address)
			}
			config.AfterConnect = func(_ context.Context, c *pgconn.PgConn) error { return askInVain(t.Context(), c) }
			if _, err := connect(t.Context(), config); err == nil || dialled.Load() != 1 {
				t.Errorf("before it is known who answers %d connections were made: %v", dialled.Load(), err)
			}
			config.AfterConnect = atStart
			c, err := connect(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			err = askInVain(t.Context(), c.pg)
			if asked := dialled.Load() == 3; asked != (mode == "") || c.pg.IsClosed() == asked || err == nil {
				t.Errorf("the server was asked to cancel: %t, and the connection was closed: %t: %v", asked, c.pg.IsClosed(), err)
			}
			if err := c.close(); err != nil {
				t.Error(err)
			}
		})
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
