package resource

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/internal/network"
	"ql/internal/resource/machines"
	"ql/internal/resource/machines/ssh"
	"ql/internal/resource/machines/wasm"
	"ql/lang/value"
)

// MachineOptions are what machines are reached with.
type MachineOptions struct {
	Store  machines.Store
	Sealer machines.Sealer
	Policy network.Policy
	Guard  *guard.Guard
	Done   func(kind, how string, took time.Duration) // is called after each RUN and COPY
	// Ledger counts what modules take, and what commands put out.
	Ledger *admit.Ledger
}

// moduleCache is how many bytes of compiled modules there may be at once; on a small node no more
// than half of what is held for callers.
const moduleCache = 256 << 20

// NewMachines returns the machines of accounts, of all kinds.
func NewMachines(ctx context.Context, o MachineOptions) (*machines.Registry, error) {
	room := int64(moduleCache)
	if budget := o.Ledger.Budget(); budget > 0 {
		room = min(room, budget/2)
	}
	modules, err := wasm.New(ctx, wasm.Options{Ledger: o.Ledger, Cache: room})
	if err != nil {
		return nil, err
	}
	dialer := network.NewDialer(o.Policy, network.DialOptions{})
	var registry *machines.Registry
	runners := map[machines.Kind]machines.Runner{
		machines.KindSSH: ssh.New(ssh.Options{Dialer: dialer, Guard: o.Guard, Ledger: o.Ledger, Pin: func(ctx context.Context, m machines.Machine, key string) error {
			return registry.Pin(ctx, m, key)
		}}),
		machines.KindWASM: modules,
	}
	registry = machines.New(machines.Options{
		Store: o.Store, Sealer: o.Sealer, Runners: runners, CheckHost: dialer.Check, Done: o.Done, Clock: time.Now, Random: rand.Reader,
	})
	return registry, nil
}

// machines are what the scripts of an account have for machines.
func (p *Pool) machines(h *handle, a account.Account, l account.Limits, files engine.Files) engine.Machines {
	if p.o.Machines == nil {
		return nil
	}
	return p.machinesOf(h, a, l, files)
}

func (p *Pool) machinesOf(h *handle, a account.Account, l account.Limits, files engine.Files) *machines.Machines {
	if isDevelopment(a) && !p.o.Dev {
		l.RunTime, l.Machines = 0, 0 // its credentials are known to everybody
	}
	return p.o.Machines.For(a, l, files, &h.commands, machineMonth{p.o.Tally, a.ID, l.MachinePerMonth, l.EgressPerMonth})
}

// TestMachine reaches a machine of an account without running anything on it.
func (p *Pool) TestMachine(ctx context.Context, a account.Account, l account.Limits, name string) error {
	h := p.acquire(a.ID)
	defer p.release(h)
	return p.machinesOf(h, a, l, p.files(h, a, l)).Test(ctx, name)
}

// machineMonth is what an account may use of machines in a month.
type machineMonth struct {
	tally *usage.Tally
	id    account.ID
	// Of the plan no more than these: every call makes one.
	time   time.Duration
	egress int64
}

// CheckTime implements machines.Allowance.
func (m machineMonth) CheckTime(ctx context.Context) error {
	return usedUp(m.tally.CheckMachine(ctx, m.id, m.time))
}

// CountTime implements machines.Allowance.
func (m machineMonth) CountTime(ctx context.Context, took time.Duration) {
	// Where the store is away, a little too few is counted.
	_ = m.tally.CountMachine(ctx, m.id, took)
}

// Send implements machines.Allowance.
func (m machineMonth) Send(ctx context.Context, bytes int64) error {
	_, err := m.tally.Send(ctx, m.id, bytes, m.egress, false)
	return usedUp(err)
}

// usedUp makes the error of a month that is used up one of the script.
func usedUp(err error) error {
	if err == nil {
		return nil
	}
	var over *usage.Exceeded
	if errors.As(err, &over) {
		return value.Errorf("quota_exceeded", "%s", over.Error()).AtLimit(over.What, over.Most)
	}
	return err
}
