package files

import (
	"context"
	"sync"

	"ql/internal/account"
)

// turns lets one change after the other be made to an account's tree, so that
// they do not undo each other's work. Other programs' changes are kept apart by
// the rows alone. The zero value is ready.
type turns struct {
	mu  sync.Mutex
	all map[account.ID]*turn
}

type turn struct {
	token chan struct{} // full while somebody has it
	users int           // who have it or wait for it; guarded by turns.mu
}

// take waits for an account's turn, and returns what ends it.
func (t *turns) take(ctx context.Context, a account.ID) (release func(), err error) {
	t.mu.Lock()
	own := t.all[a]
	if own == nil {
		own = &turn{token: make(chan struct{}, 1)}
		if t.all == nil {
			t.all = map[account.ID]*turn{}
		}
		t.all[a] = own
	}
	own.users++
	t.mu.Unlock()
	select {
	case own.token <- struct{}{}:
		return func() {
			<-own.token
			t.leave(a, own)
		}, nil
	case <-ctx.Done():
		t.leave(a, own)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(a account.ID, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.all, a)
	}
}
