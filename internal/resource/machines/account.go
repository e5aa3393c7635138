package machines

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/lang/value"
)

// Allowance is what an account may use of a month. Its errors are for the script.
type Allowance interface {
	// CheckTime says whether a command may run, and CountTime counts how long one did.
	CheckTime(ctx context.Context) error
	CountTime(ctx context.Context, took time.Duration)
	// Send counts bytes that leave.
	Send(ctx context.Context, bytes int64) error
}

// Usage is how many commands of an account there are at once, in all its runs. The zero Usage is
// ready.
type Usage struct {
	mu      sync.Mutex
	active  int
	waiting []chan struct{}
}

// acquire waits until fewer than limit commands are under way; first come first served.
func (u *Usage) acquire(ctx context.Context, limit int) error {
	u.mu.Lock()
	if u.active < limit {
		u.active++
		u.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	u.waiting = append(u.waiting, turn)
	u.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, one := range u.waiting {
		if one == turn {
			u.waiting = append(u.waiting[:i], u.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	u.handOver() // it was given a place meanwhile
	return ctx.Err()
}

func (u *Usage) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.handOver()
}

// handOver gives a place to the next who waits. u.mu is held.
func (u *Usage) handOver() {
	if len(u.waiting) == 0 {
		u.active--
		return
	}
	close(u.waiting[0])
	u.waiting = u.waiting[1:]
}

// Idle tells whether no command of the account is under way.
func (u *Usage) Idle() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.active == 0 && len(u.waiting) == 0
}

// Machines are the machines of one account, in the hands of a run.
type Machines struct {
	registry *Registry
	account  account.Account
	limits   account.Limits
	files    engine.Files
	usage    *Usage
	month    Allowance // nil for any amount
}

var _ engine.Machines = (*Machines)(nil)

// errTimeout ends a command whose time is over.
var errTimeout = errors.New("the time of the command is over")

// Run implements engine.Machines.
func (m *Machines) Run(ctx context.Context, machine string, r engine.MachineRun) (result engine.MachineResult, err error) {
	sent := int64(len(r.Input) + len(r.Command.Text))
	for _, one := range r.Command.List {
		sent += int64(len(one))
	}
	err = m.with(ctx, machine, r.Timeout, sent, func(ctx context.Context, u Use, k Runner, timeout time.Duration) (err error) {
		r.Timeout = timeout
		if r.Command, err = restrict(u.Machine.SSH.Allow, r.Command); err != nil {
			return err
		}
		result, err = k.Run(ctx, u, r)
		return err
	})
	return result, err
}

// CopyTo implements engine.Machines.
func (m *Machines) CopyTo(ctx context.Context, machine, path string, from io.Reader) error {
	sent := int64(0)
	if s, ok := from.(io.Seeker); ok {
		size, err := s.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		if _, err := s.Seek(0, io.SeekStart); err != nil {
			return err
		}
		sent = size
	}
	return m.with(ctx, machine, 0, sent, func(ctx context.Context, u Use, k Runner, _ time.Duration) error {
		if err := checkCopy(u); err != nil {
			return err
		}
		return k.CopyTo(ctx, u, path, from)
	})
}

// CopyFrom implements engine.Machines.
func (m *Machines) CopyFrom(ctx context.Context, machine, path string, to io.Writer) error {
	return m.with(ctx, machine, 0, 0, func(ctx context.Context, u Use, k Runner, _ time.Duration) error {
		if err := checkCopy(u); err != nil {
			return err
		}
		return k.CopyFrom(ctx, u, path, to)
	})
}

// checkCopy refuses copies where only some commands are allowed: a file may be a program, or say
// what programs do.
func checkCopy(u Use) error {
	if len(u.Machine.SSH.Allow) > 0 && !allowsCopy(u.Machine.SSH.Allow) {
		return value.Errorf("command_not_allowed", "this machine runs allowed commands only, and copies are none of them: the owner allows them by \"sftp\"")
	}
	return nil
}

func allowsCopy(allow []string) bool {
	for _, one := range allow {
		if one == "sftp" {
			return true
		}
	}
	return false
}

// with does something on a machine, within the account's limits.
func (m *Machines) with(ctx context.Context, machine string, timeout time.Duration, sent int64, do func(context.Context, Use, Runner, time.Duration) error) error {
	most := m.limits.RunTime
	switch {
	case most == 0 || m.limits.RunsAtOnce == 0:
		return value.Errorf("not_available", "this account may not RUN")
	case timeout > most:
		return value.Exceeded("run_time", most.Milliseconds(), "TIMEOUT is longer than the %g seconds that a RUN may take", most.Seconds())
	case timeout == 0:
		timeout = most
	}
	if a := m.month; a != nil {
		if err := a.CheckTime(ctx); err != nil {
			return err
		}
	}
	u, k, err := m.registry.use(ctx, m.account, m.limits, m.files, machine)
	if err != nil {
		return err
	}
	if a := m.month; a != nil && u.Machine.Kind == KindSSH && sent > 0 {
		if err := a.Send(ctx, sent); err != nil {
			return err
		}
	}
	if err := m.usage.acquire(ctx, m.limits.RunsAtOnce); err != nil {
		return err
	}
	defer m.usage.release()
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	began := m.registry.o.Clock()
	err = do(limited, u, k, timeout)
	took := max(m.registry.o.Clock().Sub(began), 0)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errTimeout) {
		err = value.Errorf("machine_timeout", "the machine took longer than %g seconds", timeout.Seconds())
	}
	m.done(ctx, u.Machine.Kind, err, took)
	return err
}

// done counts what was done.
func (m *Machines) done(ctx context.Context, kind Kind, err error, took time.Duration) {
	if a := m.month; a != nil {
		a.CountTime(context.WithoutCancel(ctx), took)
	}
	if m.registry.o.Done == nil {
		return
	}
	how := "ok"
	var known *value.Error
	switch {
	case errors.As(err, &known):
		how = known.Code
	case err != nil:
		how = "cut_off"
	}
	m.registry.o.Done(string(kind), how, took)
}

// Test reaches a machine without running anything on it.
func (m *Machines) Test(ctx context.Context, machine string) error {
	return m.with(ctx, machine, min(m.limits.RunTime, testTime), 0, func(ctx context.Context, u Use, k Runner, _ time.Duration) error {
		return k.Test(ctx, u)
	})
}

// Reach is Test for whoever has nobody's runs beside it, such as a command.
func (r *Registry) Reach(ctx context.Context, a account.Account, l account.Limits, files engine.Files, machine string) error {
	return r.For(a, l, files, &Usage{}, nil).Test(ctx, machine)
}

// ReachAlone is Reach of a machine that needs none of the account's files.
func (r *Registry) ReachAlone(ctx context.Context, a account.Account, l account.Limits, machine string) error {
	return r.Reach(ctx, a, l, nil, machine)
}

// testTime is how long a test may take.
const testTime = 20 * time.Second
