package machines

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
)

// ErrTooMany says that an account has as many machines as it may.
var ErrTooMany = errors.New("the account has too many machines")

// Store keeps the machines of accounts. Those of an account go with it. An account or a machine that
// is not there is account.ErrNotFound. Methods are safe for concurrent use.
type Store interface {
	// Put stores a machine in place of the one of its name, with its sealed key, nil for none. An
	// account has at most so many; 0 is no bound. It reports whether there was none of the name.
	Put(ctx context.Context, m Machine, sealed []byte, most int) (created bool, err error)
	// Machine returns one, with its sealed key.
	Machine(ctx context.Context, id account.ID, name string) (m Machine, sealed []byte, err error)
	// Machines returns those of an account by their names.
	Machines(ctx context.Context, id account.ID) ([]Machine, error)
	// Pin stores the key that a host showed first, of the machine as it was set then. Where the
	// machine was changed meanwhile, or another key was pinned, it is account.ErrConflict.
	Pin(ctx context.Context, id account.ID, name string, set time.Time, hostKey string) error
	Remove(ctx context.Context, id account.ID, name string) error
}
