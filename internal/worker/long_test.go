package worker

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"ql/internal/job"
	"ql/internal/journal"
)

// awaitWait waits until a job waits for a later moment than before, or has ended.
func (e *world) awaitWait(id job.ID, before time.Time) *job.View {
	e.t.Helper()
	for {
		v := e.await(id, job.Waiting, job.Complete, job.Failed)
		if v.State != job.Waiting || v.Until.After(before) {
			return v
		}
		runtime.Gosched()
	}
}

// TestLongLives: a job that does a little each day lives as long as it likes, on the program that it
// began with; one that does too much in a day does not.
func TestLongLives(t *testing.T) {
	e := newWorld(t, faults{})
	run := func(wait string, jump time.Duration) *job.View {
		s := e.submission(`
			FOR ?day FROM 1 TO 5 DO
				SET ?sum AS 0
				FOR ?i FROM 1 TO 20000 DO
					SET ?sum AS ?sum + ?i
				END
				EMIT "{?day} "
				WAIT ` + wait + `
			END`)
		s.Spec.Limits.Fuel = 120_000
		_, err := e.w.Submit(t.Context(), s)
		check(t, err)
		v := e.awaitWait(s.Summary.ID, time.Time{})
		for v.State == job.Waiting {
			e.jump(jump)
			v = e.awaitWait(s.Summary.ID, v.Until)
		}
		return v
	}
	v := run("1 DAY", 25*time.Hour)
	if v.State != job.Complete || string(v.Result) != "1 2 3 4 5 " {
		t.Errorf("one day after another: %s %s %q", v.State, v.Error, v.Result)
	}
	// All of its days are counted, and its history says where they began.
	if _, cost, err := e.store.Jobs().Called(t.Context(), e.ada.ID, v.Seq); err != nil || cost.Fuel < 200_000 {
		t.Errorf("it cost %+v, %v", cost, err)
	}
	spec, sealed, err := e.store.Jobs().History(t.Context(), e.ada.ID, v.Seq)
	check(t, err)
	_, parts, err := OpenHistory(e.accounts.Sealer(), e.ada.ID, v.ID, spec, sealed)
	check(t, err)
	collected, err := journal.ReadCollected(parts, 1<<20)
	check(t, err)
	for seq := range int64(collected.Len()) {
		if r, ok := collected.Recorded(seq + 1); !ok || !r.Refueled {
			t.Errorf("the wait %d is %+v, %t", seq+1, r, ok)
		}
	}
	// To the start of a day, so that all of it is in one.
	e.jump(e.now().Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(e.now()))
	if v := run("1 MINUTE", 61*time.Second); v.State != job.Failed || !strings.Contains(string(v.Error), "limit_exceeded") {
		t.Errorf("all in one day: %s %s %q", v.State, v.Error, v.Result)
	}
}

// TestConcurrencyKeys: of jobs with one key no more than so many are under way, pauses with them, and
// others go on in their order.
func TestConcurrencyKeys(t *testing.T) {
	e := newWorld(t, faults{})
	var ids []job.ID
	for range 4 {
		s := e.submission(`WAIT 1 HOUR EMIT "done"`)
		s.Concurrency = job.Concurrency{Key: "imports", Most: 2}
		_, err := e.w.Submit(t.Context(), s)
		check(t, err)
		ids = append(ids, s.Summary.ID)
	}
	other := e.submit(`EMIT "free"`)
	e.wantResult(other, "free")
	for _, id := range ids[:2] {
		e.await(id, job.Waiting)
	}
	for _, id := range ids[2:] {
		e.await(id, job.Accepted)
	}
	e.jump(61 * time.Minute)
	for _, id := range ids[:2] {
		e.wantResult(id, "done")
	}
	for _, id := range ids[2:] {
		e.await(id, job.Waiting)
	}
	e.jump(61 * time.Minute)
	for _, id := range ids[2:] {
		e.wantResult(id, "done")
	}
}
