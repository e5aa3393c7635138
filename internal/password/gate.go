package password

import "context"

// Gate bounds how many hashes are computed at once: each holds its memory and
// a core while it lasts. A nil Gate lets everybody through.
type Gate struct {
	slots chan struct{}
}

// NewGate returns a gate for n hashes at once, at least one.
func NewGate(n int) *Gate { return &Gate{slots: make(chan struct{}, max(1, n))} }

// Enter waits for a slot, or until ctx ends. After success Leave must be
// called.
func (g *Gate) Enter(ctx context.Context) error {
	if g == nil {
		return ctx.Err()
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the slot back.
func (g *Gate) Leave() {
	if g != nil {
		<-g.slots
	}
}
