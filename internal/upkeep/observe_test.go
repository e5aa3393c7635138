package upkeep

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/guard"
	"ql/internal/telemetry"
)

// TestObserves: what metrics show is counted by the clock, also after it failed or panicked.
func TestObserves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := telemetry.NewLog(&log, telemetry.LogOptions{})
		n := 0
		u := New(Options{Log: logger, Guard: guard.New(logger, func(string) {}), Growth: NewGrowth(nil), Observe: func(context.Context, time.Time) error {
			switch n++; n {
			case 2:
				return errors.New("the disk is gone")
			case 3:
				panic("a fault")
			}
			return nil
		}})
		u.Start()
		<-time.After(4*observeEvery + time.Minute) // a panic is followed by a pause
		synctest.Wait()
		if n < 5 {
			t.Errorf("%d observations were made", n)
		}
		if err := u.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), "could not be counted") || !strings.Contains(log.String(), "the disk is gone") {
			t.Errorf("the log is\n%s", log.String())
		}
		was := n
		<-time.After(time.Hour)
		if n != was {
			t.Error("it observes after its stop")
		}
	})
}

// TestStats: when the upkeep last succeeded is known, and how often it failed.
func TestStats(t *testing.T) {
	n := start(t, nil)
	began := n.upkeep.Stats()
	if began.Failures != 0 || began.Succeeded.After(time.Now()) {
		t.Errorf("at first: %+v", began)
	}
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	check(t, n.upkeep.Run(t.Context(), later))
	if s := n.upkeep.Stats(); s.Failures != 0 || !s.Succeeded.Equal(later) {
		t.Errorf("after a run: %+v", s)
	}
	n.upkeep.o.Tasks = append(n.upkeep.o.Tasks, func(context.Context, time.Time) error { return errors.New("no") })
	if n.upkeep.Run(t.Context(), later.Add(time.Hour)) == nil {
		t.Error("a run with a task that fails succeeded")
	}
	if s := n.upkeep.Stats(); s.Failures != 1 || !s.Succeeded.Equal(later) {
		t.Errorf("after one that failed: %+v", s)
	}
}
