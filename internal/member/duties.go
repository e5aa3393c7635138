package member

import "context"

// Duties are what one of the members does for all.
type Duties interface {
	// Assume makes a member the one with a duty, where nobody who is a member has it, and reports whether it has it now.
	Assume(ctx context.Context, duty string, m Member) (bool, error)
	// ListDuties returns which incarnation had each duty last.
	ListDuties(ctx context.Context) (map[string]int64, error)
}
