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
