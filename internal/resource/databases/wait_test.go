package databases

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/lang/bytecode"
)

// stuckPace holds a statement up in the middle, as a disk does that gives no answer.
type stuckPace struct {
	once  bool
	until <-chan time.Time
}

func (*stuckPace) Yield() {}

func (p *stuckPace) Turn(context.Context) error {
	if !p.once {
		p.once = true
		<-p.until
	}
	return nil
}

// TestStallsAreNotContention: who waits for a script that is held up itself waits on,
// and gets a fault of the service in the end; who waits for one that just keeps the
// database is refused in time.
func TestStallsAreNotContention(t *testing.T) {
	const insert = "INSERT INTO t WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c LIMIT 1000) SELECT n FROM c"
	for _, test := range []struct {
		name  string
		stall time.Duration // 0 for a transaction that stays open
		want  string
		after time.Duration
	}{
		{"a short stall", 20 * time.Second, "done", 20 * time.Second},
		{"a long one", time.Minute, "storage_unavailable", maxStall},
		{"a transaction", 0, "database_busy", 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, Options{})
				must(t, d, "CREATE TABLE t(a)")
				held := make(chan error, 1)
				var tx engine.Tx
				if test.stall == 0 {
					tx = begin(t, d)
					held <- nil
				} else {
					p := &stuckPace{until: time.After(test.stall)}
					go func() {
						_, err := d.Query(engine.WithPace(t.Context(), p), "", query(bytecode.SQLRows, insert))
						held <- err
					}()
					synctest.Wait()
				}
				began := time.Now()
				_, err := d.Query(t.Context(), "", query(bytecode.SQLRows, "INSERT INTO t VALUES (1)"))
				took := time.Since(began)
				got := codeOf(err)
				switch {
				case err == nil:
					got = "done"
				case fault.Is(err, fault.StorageUnavailable): // which no script catches
					got = "storage_unavailable"
				}
				if got != test.want || took < test.after || took > test.after+time.Second {
					t.Errorf("%s after %v (%v), want %s after %v", got, took, err, test.want, test.after)
				}
				if err := <-held; err != nil {
					t.Error(err)
				}
				if tx != nil {
					if err := tx.Rollback(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestStoppedProcessIsNotContention: time in which the whole process did not run, as
// under SIGSTOP, is no time that a script kept the database from another.
func TestStoppedProcessIsNotContention(t *testing.T) {
	const busy = time.Second
	d := open(t, Options{Busy: busy})
	must(t, d, "CREATE TABLE t(a)")
	tx := begin(t, d)
	db, err := d.acquire("main")
	if err != nil {
		t.Fatal(err)
	}
	defer d.release(db)
	waited := make(chan error, 1)
	go func() {
		_, err := d.Query(t.Context(), "", query(bytecode.SQLRows, "INSERT INTO t VALUES (1)"))
		waited <- err
	}()
	<-time.After(4 * pollInterval) // it waits by now
	// Whoever waits needs the lock at its next look, and is stopped by it.
	db.mu.Lock()
	<-time.After(2 * busy)
	db.mu.Unlock()
	<-time.After(4 * pollInterval) // it has looked at the clock since
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("after a stop of %v: %v", 2*busy, err)
	}
}
