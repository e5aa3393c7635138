package resource

import (
	"errors"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"
)

// Modules that end at once, and never.
const (
	moduleHead = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x0a\x01\x06_start\x00\x00"
	ending     = moduleHead + "\x0a\x04\x01\x02\x00\x0b"
	endless    = moduleHead + "\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b"
)

// TestModuleOfAccount defines machines of the kind wasm, and runs them as a script does: in their
// time, and with what the account has among its files.
func TestModuleOfAccount(t *testing.T) {
	n := start(t, nil)
	ctx := t.Context()
	dev, err := n.accounts.EnsureDevelopment(ctx)
	check(t, err)
	limits := n.settings.Limits(dev.Plan)
	limits.Machines = 3
	r, err := n.pool.Open(ctx, dev, limits, "")
	check(t, err)
	defer r.Release()
	for name, module := range map[string]string{"ending": ending, "endless": endless, "broken": "EMIT 1"} {
		path := "/" + name + ".wasm"
		check(t, r.Files.Write(ctx, path, []byte(module)))
		_, _, err := n.pool.Machines().Put(ctx, dev, limits, name, machines.Definition{Kind: machines.KindWASM, Module: path})
		check(t, err)
	}
	run := func(name string, timeout time.Duration) (engine.MachineResult, error) {
		return r.Machines.Run(ctx, name, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Timeout: timeout, Most: 100})
	}
	if got, err := run("ending", 0); err != nil || got.Code != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, code := range map[string]string{"endless": "machine_timeout", "broken": "bad_module", "none": "machine_not_found"} {
		var timeout time.Duration
		if name == "endless" {
			timeout = 20 * time.Millisecond
		}
		var known *value.Error
		if _, err := run(name, timeout); !errors.As(err, &known) || known.Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, n.pool.TestMachine(ctx, dev, limits, "ending"))
	var known *value.Error
	if err := n.pool.TestMachine(ctx, dev, limits, "broken"); !errors.As(err, &known) || known.Code != "bad_module" {
		t.Error(err)
	}
}
