// Package ssh runs commands on hosts that are reached by SSH, and copies files to and from them by
// SFTP. Connections go out by the guarded dialer of internal/network, are used again while they are
// fresh, and are bounded by account and by node. The key that a host shows first is pinned: another
// one is an error ever after.
package ssh

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/guard"
	"ql/internal/network"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"golang.org/x/crypto/ssh"
)

// Options are what a runner is made of. A zero field of a number means its default.
type Options struct {
	Dialer *network.Dialer
	// Pin stores the key that the host of a machine showed first.
	Pin   func(ctx context.Context, m machines.Machine, hostKey string) error
	Guard *guard.Guard
	// Ledger counts what commands put out, and what is on its way; nil counts nothing.
	Ledger *admit.Ledger

	Connections int           // of the node; 256
	PerAccount  int           // 16
	Sessions    int           // at once on one connection; 8
	Idle        time.Duration // that an unused connection stays open; 1 minute
	// Age is how old a connection may be that is used again; 1 hour. It was checked when it was made.
	Age time.Duration
	// Handshake is how long a host may take to let us in, and to begin a command; 10 seconds.
	Handshake time.Duration
	// Grace is how long a command that was ended, or a connection that is used again, may take to
	// answer before it is cut off; 2 seconds.
	Grace time.Duration
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *int
		value int
	}{{&o.Connections, 256}, {&o.PerAccount, 16}, {&o.Sessions, 8}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Idle, time.Minute}, {&o.Age, time.Hour}, {&o.Handshake, 10 * time.Second}, {&o.Grace, 2 * time.Second}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}

// Runner does the work of machines of the kind ssh.
type Runner struct {
	o    Options
	pool pool
}

var _ machines.Runner = (*Runner)(nil)

// New returns a runner.
func New(o Options) *Runner {
	r := &Runner{o: o.withDefaults()}
	r.pool = pool{o: &r.o, conns: map[key][]*conn{}, dials: map[account.ID]int{}, stop: make(chan struct{}), dial: r.connect}
	return r
}

// Forget implements machines.Runner: connections that are in use end with their commands.
func (r *Runner) Forget(id account.ID, name string) { r.pool.forget(key{id, name}) }

// Close implements machines.Runner.
func (r *Runner) Close() error {
	r.pool.close()
	return nil
}

// Stats tells how many connections are open, and how many of them are in use.
func (r *Runner) Stats() (open, used int) { return r.pool.stats() }

// Test implements machines.Runner: it logs in, and runs nothing.
func (r *Runner) Test(ctx context.Context, u machines.Use) error {
	c, err := r.connect(ctx, u)
	if err != nil {
		return err
	}
	c.close()
	return nil
}

// failed is the error of a machine that cannot be used, for the script.
func failed(format string, args ...any) *value.Error {
	return value.Errorf("machine_failed", format, args...)
}

// signer returns the key to log in by.
func signer(ctx context.Context, u machines.Use) (ssh.Signer, error) {
	raw, err := u.Key(ctx)
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(raw)
	if err != nil {
		// Its cause may quote the key.
		return nil, failed("the key of the machine cannot be read: add the machine again")
	}
	return s, nil
}
