package member

import "context"

// Hint tells the other members that something may be worth a look. It may be lost, and come without a reason: what
// it tells of is found without it too, a little later.
type Hint byte

// The hints.
const (
	HintChange Hint = 'c' // there is a change that all must see
	HintDue    Hint = 'd' // there is a job that another member may claim
)

// Hints sends hints to the other members, and gets theirs.
type Hints interface {
	// Send has a hint sent, soon. It does not wait.
	Send(Hint)
	// Deliver sends what is to be sent, until the context ends.
	Deliver(ctx context.Context)
	// Listen calls f with each hint of others, and of this one, one after the other, until the context ends.
	Listen(ctx context.Context, f func(Hint))
}
