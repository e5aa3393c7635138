package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/config"
)

// TestStopIsBounded: a part that never ends holds up neither the stop nor the
// others, and those that store something still have their time.
func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(config.Settings{StopTimeout: 20 * time.Second}, Options{})
		never, given := make(chan struct{}), time.Duration(0)
		a.stores("store", func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			given = time.Until(end)
			return errors.New("is full")
		})
		a.closes("upkeep", func(context.Context) error { <-never; return nil })
		a.closes("jobs", a.drained(func(ctx context.Context) error { <-ctx.Done(); return nil }))
		begun := time.Now()
		err := a.Stop(t.Context())
		if took := time.Since(begun); took > a.settings.StopTimeout+settleTime+lastTime {
			t.Errorf("it took %s", took)
		}
		for _, part := range []string{"stopping the upkeep: it did not end in time", "stopping the store: is full"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the stop says %v, without %q", err, part)
			}
		}
		if given != storeTime {
			t.Errorf("the store has %s", given)
		}
		close(never)
	})
}
