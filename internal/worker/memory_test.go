package worker

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ql/internal/admit"
	"ql/internal/job"
	"ql/internal/wire"
)

// large is a submission whose request has so many bytes.
func (e *world) large(script string, bytes int) Submission {
	s := e.submission(script)
	s.Spec.Request.Post = []wire.Field{{Name: "text", Value: strings.Repeat("x", bytes)}}
	return s
}

// TestLargeJobsTakeTurns has jobs come due at the same moment that together need more
// memory to be loaded than the node has.
func TestLargeJobsTakeTurns(t *testing.T) {
	ledger := admit.NewLedger(admit.LedgerOptions{Budget: 6 << 20})
	e := newWorld(t, faults{}, func(o *Options) { o.Ledger = ledger })
	var ids []job.ID
	at := e.now().Add(time.Hour).UTC().Format(time.RFC3339)
	for range 10 {
		s := e.large("WAIT UNTIL '"+at+"'\nEMIT LENGTH(!POST('text'))", 300<<10)
		_, err := e.w.Submit(context.Background(), s)
		check(t, err)
		ids = append(ids, s.Summary.ID)
	}
	for _, id := range ids {
		e.await(id, job.Waiting)
	}
	e.jump(2 * time.Hour)
	for _, id := range ids {
		e.wantResult(id, "307200")
	}
	if s := ledger.Stats(); s.Waited == 0 || s.MostHeld > 6<<20 {
		t.Errorf("%d waited, %d bytes were held at most", s.Waited, s.MostHeld)
	}
}

// TestTooLargeForTheNode ends a job by name that no waiting could load.
func TestTooLargeForTheNode(t *testing.T) {
	e := newWorld(t, faults{}, func(o *Options) {
		o.Ledger = admit.NewLedger(admit.LedgerOptions{Budget: 1 << 20})
		o.Log = slog.New(slog.DiscardHandler)
	})
	s := e.large("EMIT 1\nWAIT 1 SECOND\nEMIT 2", 300<<10)
	_, err := e.w.Submit(context.Background(), s)
	check(t, err)
	v := e.await(s.Summary.ID, job.Failed)
	if !strings.Contains(string(v.Error), `"code":"too_large"`) {
		t.Errorf("it failed with %s", v.Error)
	}
}

// damage makes a value of the store unreadable.
func (e *world) damage(table, column string) {
	e.t.Helper()
	e.exec("ql.db", "UPDATE "+table+" SET "+column+" = x'00' WHERE "+column+" IS NOT NULL")
}

// TestUnreadableRows fails a job by name whose rows cannot be read, after some
// attempts, and stops one at once that somebody cancels meanwhile.
func TestUnreadableRows(t *testing.T) {
	for table, column := range map[string]string{"jobs": "task", "programs": "code", "job_snapshots": "snapshot"} {
		e := newWorld(t, faults{}, func(o *Options) { o.Log = slog.New(slog.DiscardHandler) })
		id := e.submit("EMIT 1\nWAIT 1 SECOND\nEMIT 2")
		e.await(id, job.Waiting)
		check(t, e.w.Stop(context.Background()))
		e.damage(table, column)
		e.start(func(o *Options) { o.Log = slog.New(slog.DiscardHandler) }) // it remembers no program
		v := e.await(id, job.Failed)
		if !strings.Contains(string(v.Error), `"code":"internal"`) || !strings.Contains(string(v.Error), `"id":"`) || string(v.Result) != "1" {
			t.Errorf("%s.%s: it failed with %s, having put out %q", table, column, v.Error, v.Result)
		}
	}
	e := newWorld(t, faults{}, func(o *Options) {
		o.Log = slog.New(slog.DiscardHandler)
		o.Retry = time.Hour
	})
	id := e.submit("WAIT 1 SECOND\nEMIT 2")
	e.await(id, job.Waiting)
	e.damage("jobs", "task")
	e.await(id, job.Running)
	for e.w.isLive(id) {
		e.await(id, job.Running)
	}
	state, err := e.w.Cancel(context.Background(), id)
	check(t, err)
	if state != job.Cancelled {
		t.Errorf("it is %s", state)
	}
}
