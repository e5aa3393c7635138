package engine

import (
	"context"

	"ql/lang/vm"
)

// Pace shares the cores between runs: it gives a run leave to compute, a slot,
// and takes it back.
//
// A run that waits for its turn may hold a session or a transaction. So that it
// gets there, nobody who waits for one of those holds a slot meanwhile.
type Pace interface {
	vm.Pace
	// Yield says that the run is about to wait for something. It computes no more
	// before its next Turn.
	Yield()
}

type paceKey struct{}

// WithPace returns the context of an effect, by which a resource finds the pace
// of its run.
func WithPace(ctx context.Context, p Pace) context.Context {
	if p == nil {
		return ctx
	}
	return context.WithValue(ctx, paceKey{}, p)
}

// WithoutPace returns the context of what is done beside a run, and takes no turns of it.
func WithoutPace(ctx context.Context) context.Context {
	return context.WithValue(ctx, paceKey{}, nil)
}

// Yield is for a resource to call before it waits for something that another run
// may hold, or for the disk.
func Yield(ctx context.Context) {
	if p, ok := ctx.Value(paceKey{}).(Pace); ok {
		p.Yield()
	}
}

// Turn is for a resource to call now and then while it computes. The error is
// that of ctx.
func Turn(ctx context.Context) error {
	if p, ok := ctx.Value(paceKey{}).(Pace); ok {
		return p.Turn(ctx)
	}
	return ctx.Err()
}
