package wasm

import (
	"context"
	"errors"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"
)

// FuzzModule runs whatever bytes are taken for a module. It ends in its time, by itself or not, with
// an error for the script or with a result.
func FuzzModule(f *testing.F) {
	for _, h := range hostileModules() {
		if len(h.module) < 4096 {
			f.Add(h.module)
		}
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, module []byte) {
		if len(module) > 64<<10 {
			return
		}
		check(t, w.tree(w.accounts[0]).Write(t.Context(), "/fuzz.wasm", module))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := w.runner.Run(ctx, w.use(machines.WASM{Module: "/fuzz.wasm"}), engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Most: 1 << 16})
		var known *value.Error
		if err != nil && !errors.As(err, &known) && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if s := w.ledger.Stats(); s.Held != 0 {
			t.Errorf("the ledger holds %d bytes", s.Held)
		}
	})
}
