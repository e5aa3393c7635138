package app

import (
	"context"
	"errors"

	"ql/internal/observe"
	"ql/internal/platform"
)

// minFreeDisk is how much of the disk must be free: so many bytes, or a
// twentieth of a small one.
const minFreeDisk = 256 << 20

var errStopping = errors.New("the service is stopping")

// requiredDisk is how much must be free of a disk.
func requiredDisk(total uint64) uint64 { return min(minFreeDisk, total/20) }

// ready returns why the service cannot work at the moment, or nil.
func (a *App) ready(ctx context.Context) error {
	if a.stopping.Load() {
		return errStopping
	}
	if _, err := a.parts.accounts.List(ctx, "", 1); err != nil {
		return err
	}
	if err := a.parts.store.Writable(ctx); err != nil {
		return err
	}
	return platform.CheckDisk(a.settings.Data, requiredDisk)
}

// Leftovers tells what is still held of slots, tickets and memory; nil where nothing is, as after a
// stop.
func (a *App) Leftovers() error {
	if a.parts.gate == nil {
		return nil // it was never built
	}
	return observe.Leftovers(a.parts.gate, a.parts.ledger, a.parts.logins, a.parts.hashing)
}
