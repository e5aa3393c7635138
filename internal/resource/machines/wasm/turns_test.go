package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/admit/admittest"
	"ql/internal/engine"
	"ql/internal/resource/machines"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTurns has two accounts run 50 modules at once, on two slots. Those of the one never end, and
// those of the other do, meanwhile: no module keeps its slot. When the first are cancelled, nothing
// is held any more.
func TestTurns(t *testing.T) {
	w := newWorld(t)
	gate := admit.NewGate(admit.GateOptions{Slots: 2, SpareSlots: 2, Memory: 1 << 40, MaxSharing: 100, Wait: time.Hour})
	endless := (&guest{}).main(0, loop()).bytes()
	// A million rounds are many turns.
	short := withMemory(1).main(1, op(opLoop, typeEmpty, opLocalGet, 0), i32(1), op(0x6a, opLocalTee, 0), i32(1_000_000), op(0x48, opBrIf, 0, opEnd)).bytes()
	for i, module := range [][]byte{endless, short} {
		check(t, w.tree(w.accounts[i]).Write(t.Context(), "/m.wasm", module))
	}
	run := func(ctx context.Context, id account.ID) error {
		ticket, err := gate.Acquire(ctx, admit.Request{Account: int64(id), Memory: 1 << 20})
		if err != nil {
			return err
		}
		defer ticket.Release()
		u := w.use(machines.WASM{Module: "/m.wasm"})
		u.Account.ID, u.Files = id, w.tree(id)
		got, err := w.runner.Run(engine.WithPace(ctx, ticket), u, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Most: 100})
		if err == nil && got.Code != 0 {
			err = fmt.Errorf("code %d: %s", got.Code, got.Stderr)
		}
		return err
	}
	const each = 25
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first, second sync.WaitGroup
	for range each {
		first.Go(func() {
			if err := run(ctx, w.accounts[0]); !errors.Is(err, context.Canceled) {
				t.Errorf("a module without end: %v", err)
			}
		})
	}
	for range each {
		second.Go(func() {
			if err := run(t.Context(), w.accounts[1]); err != nil {
				t.Error(err)
			}
		})
	}
	second.Wait()
	cancel()
	first.Wait()
	if s := gate.Stats(); s.MostRunning > 4 || s.Yielded == 0 {
		t.Errorf("slots were not kept, or never given up: %+v", s)
	}
	admittest.CheckIdle(t, gate, w.ledger)
}

// TestCompiledOnce has many runs of one module compile it once, and one of another account too.
func TestCompiledOnce(t *testing.T) {
	w := newWorld(t)
	module := (&guest{}).main(0).bytes()
	var runs sync.WaitGroup
	for i := range 10 {
		id := w.accounts[i%2]
		check(t, w.tree(id).Write(t.Context(), "/m.wasm", module))
		runs.Go(func() {
			u := w.use(machines.WASM{Module: "/m.wasm"})
			u.Account.ID, u.Files = id, w.tree(id)
			if _, err := w.runner.Run(t.Context(), u, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}}); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	if s := w.runner.CacheStats(); s.Modules != 1 {
		t.Errorf("%+v", s)
	}
}

// TestCacheBound fills the cache: it never has more than its bound, and one account never more than
// half of it while nothing of it runs.
func TestCacheBound(t *testing.T) {
	w := newWorld(t)
	const most = 2 << 20
	w.runner.cache.max, w.runner.o.Cache = most, most
	for i := range 60 {
		g := (&guest{}).main(0, i32(int64(i)), op(opDrop))
		w.put("/m.wasm", g.bytes())
		if _, err := w.run(machines.WASM{Module: "/m.wasm"}, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}}); err != nil {
			t.Fatal(err)
		}
		if s := w.runner.CacheStats(); s.Bytes > most/2 || s.Modules == 0 {
			t.Fatalf("%+v after %d", s, i)
		}
	}
	if s := w.runner.CacheStats(); s.Modules < 5 {
		t.Errorf("%+v", s)
	}
}

// counted counts the turns of a run.
type counted struct{ turns int }

func (c *counted) Turn(ctx context.Context) error { c.turns++; return ctx.Err() }
func (c *counted) Yield()                         {}

// TestLeavingTakesTurns: what leaves a module for wazero's own code is paid for like the many
// instructions that it costs, so that a module which does nothing else has as many turns.
func TestLeavingTakesTurns(t *testing.T) {
	w := newWorld(t)
	const rounds = 20_000
	for name, body := range map[string][]byte{
		"grow by nothing": join(i32(0), op(opMemoryGrow, 0, opDrop)),
		"grow too much":   join(i32(60_000), op(opMemoryGrow, 0, opDrop)),
		"grow a table":    join(op(opRefNull, typeFunc), i32(0), op(prefixBulk, bulkTableGrow, 0, opDrop)),
		"name a function": op(opRefFunc, 0, opDrop),
	} {
		g := withMemory(1)
		g.tables = [][]byte{op(typeFunc, 0, 1)}
		g.addFunc(g.addType(nil, nil), nil)
		g.elements = [][]byte{join(op(3, 0), num(1), num(0))}
		w.put("/m.wasm", g.main(1, op(opLoop, typeEmpty), body, op(opLocalGet, 0), i32(1), op(0x6a, opLocalTee, 0), i32(rounds), op(0x48, opBrIf, 0, opEnd)).bytes())
		pace := &counted{}
		got, err := w.runner.Run(engine.WithPace(t.Context(), pace), w.use(machines.WASM{Module: "/m.wasm"}), engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Most: 100})
		if err != nil || got.Code != 0 {
			t.Fatalf("%s: %d %s, %v", name, got.Code, got.Stderr, err)
		}
		if least := rounds * leaving / fuelPerTurn; pace.turns < least {
			t.Errorf("%s: %d turns, and at least %d are due", name, pace.turns, least)
		}
	}
}

// TestGrowingIsStopped: a module that only grows, and copies what it has, ends with its run, and nothing
// of it is held.
func TestGrowingIsStopped(t *testing.T) {
	w := newWorld(t)
	w.put("/m.wasm", withMemory(1).main(0, loop(i32(1), op(opMemoryGrow, 0, opDrop))).bytes())
	for turns := range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := w.runner.Run(engine.WithPace(ctx, &stopping{cancel, 3 + turns}), w.use(machines.WASM{Module: "/m.wasm"}), engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Most: 100})
		cancel()
		if s := w.ledger.Stats(); !errors.Is(err, context.Canceled) || s.Held != 0 {
			t.Errorf("%v, and %d bytes are held", err, s.Held)
		}
	}
}

// stopping cancels a run after so many turns.
type stopping struct {
	cancel context.CancelFunc
	left   int
}

func (s *stopping) Turn(ctx context.Context) error {
	if s.left--; s.left <= 0 {
		s.cancel()
	}
	return ctx.Err()
}
func (s *stopping) Yield() {}
