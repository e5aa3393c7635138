package vm_test

import (
	"context"
	"testing"

	"ql/lang/langtest"
	"ql/lang/vm"
)

// turns is a Pace that counts, and ends the run with its turn number last.
type turns struct {
	count, last int
	cancel      context.CancelFunc
}

func (p *turns) Turn(ctx context.Context) error {
	if p.count++; p.count == p.last {
		p.cancel()
	}
	return ctx.Err()
}

// TestPace checks that a machine asks for its turn before it computes and while
// it does, that this changes nothing of what it does, and that it can be ended
// there.
func TestPace(t *testing.T) {
	const script = `SET ?n AS 0
WHILE ?n < 100000 DO
	SET ?n AS ?n + 1
END
EMIT ?n`
	program := compile(t, script)
	alone := vm.New(program, langtest.Limits(), vm.Input{})
	alone.Run(t.Context())

	pace := &turns{}
	m := vm.New(program, langtest.Limits(), vm.Input{})
	m.SetPace(pace)
	if s := m.Run(t.Context()); s != vm.Done || string(m.Output()) != "100000" {
		t.Fatalf("ended %d with %s", s, m.Output())
	}
	if m.Fuel() != alone.Fuel() || m.Steps() != alone.Steps() {
		t.Errorf("used %d in %d steps, and %d in %d without a pace", m.Fuel(), m.Steps(), alone.Fuel(), alone.Steps())
	}
	if least := int(m.Fuel() >> 16); pace.count < least {
		t.Errorf("asked for %d turns, want at least %d", pace.count, least)
	}

	ctx, cancel := context.WithCancel(t.Context())
	m = vm.New(program, langtest.Limits(), vm.Input{})
	m.SetPace(&turns{last: 2, cancel: cancel})
	if s := m.Run(ctx); s != vm.Failed || m.Err().Limit == nil || m.Err().Limit.Name != "time" {
		t.Errorf("ended %d with %v", s, m.Err())
	}
}
