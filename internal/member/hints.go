package member

import (
	"context"
	"strconv"
	"strings"
)

// Hint tells the other members that something may be worth a look. It may be lost, and come without a reason: what
// it tells of is found without it too, a little later.
type Hint string

// The hints.
const (
	HintChange Hint = "c" // there is a change that all must see
	HintDue    Hint = "d" // there is a job that any other member may claim
)

// HintDueFor says that there is a job which one incarnation is to claim.
func HintDueFor(incarnation int64) Hint {
	return HintDue + Hint(strconv.FormatInt(incarnation, 10))
}

// IsDue reports whether a hint tells an incarnation that there is a job which it may claim.
func (h Hint) IsDue(incarnation int64) bool {
	return h == HintDue || h == HintDueFor(incarnation)
}

// IsKnown reports whether a text is a hint: those of versions to come may be others.
func (h Hint) IsKnown() bool {
	if one, ok := strings.CutPrefix(string(h), string(HintDue)); ok && one != "" {
		_, err := strconv.ParseInt(one, 10, 64)
		return err == nil
	}
	return h == HintChange || h == HintDue
}

// Hints sends hints to the other members, and gets theirs.
type Hints interface {
	// Send has a hint sent, soon. It does not wait.
	Send(Hint)
	// Deliver sends what is to be sent, until the context ends.
	Deliver(ctx context.Context)
	// Listen calls f with each hint of others, and of this one, one after the other, until the context ends.
	Listen(ctx context.Context, f func(Hint))
}
