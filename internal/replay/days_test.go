package replay_test

import (
	"testing"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/journal"
	"ql/internal/replay"
	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/vm"
)

// TestDaysReplay: a job that got its fuel again on each of its days does the same again from its history, and only
// where that says so.
func TestDaysReplay(t *testing.T) {
	program, err := lang.Compile(`
		FOR ?day FROM 1 TO 5 DO
			SET ?sum AS RANDOM(1, 6)
			FOR ?i FROM 1 TO 20000 DO SET ?sum AS ?sum + ?i END
			EMIT "{?sum} "
			WAIT 1 DAY
		END`, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	limits := langtest.Limits()
	limits.Fuel = 60_000 // which is enough for one day
	for _, told := range []bool{true, false} {
		now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
		var ledger *admit.Ledger
		var c journal.Collector
		c.Init(ledger.Open(admit.AccountHolder(1)), 1<<20, 0)
		m, state, days := vm.New(program, limits, vm.Input{}), engine.State{}, 1
		for {
			run := engine.New(m, engine.Options{
				Clock: func() time.Time { return now }, Observe: func(e *vm.Effect, r engine.Result) { c.Observe(m, e, r) },
			}, state)
			out, err := run.Continue(t.Context())
			if err != nil || out.Status != engine.Done && out.Status != engine.Waiting {
				t.Fatal(out, err)
			}
			if out.Status == engine.Done {
				break
			}
			snapshot, err := m.Snapshot(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			state = run.State()
			if m, err = vm.Restore(t.Context(), nil, program, snapshot, m.Output()); err != nil {
				t.Fatal(err)
			}
			state.FuelBefore += m.Refuel()
			state.Refueled = told
			now = out.Until
			days++
		}
		if days != 6 || state.FuelBefore <= 3*limits.Fuel {
			t.Fatalf("%d days with %d fuel before the last", days, state.FuelBefore)
		}
		_, part := c.Part(m)
		collected, err := journal.ReadCollected([][]byte{part}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		r, err := replay.Check(t.Context(), vm.New(program, limits, vm.Input{}), collected)
		if err != nil {
			t.Fatal(err)
		}
		if same := r.Ended && r.EndKnown && r.Left == nil && r.Effects == 10; same != told {
			t.Errorf("where it is told %t: %+v %+v", told, r, r.Left)
		}
	}
}
