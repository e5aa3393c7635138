package job

import (
	"context"
	"time"
)

// Maintenance is what the service's upkeep calls.
type Maintenance interface {
	// Prune removes up to limit keys that have ended, and up to limit programs
	// that no job needs (see ProgramRetention), and returns how many rows went.
	Prune(ctx context.Context, now time.Time, limit int) (int, error)
	// Count counts the jobs that are not finished, for who watches the service. It looks
	// at no more than most of each state, twice that of running ones: where there are more,
	// it says so many, and the moments are those of the ones it saw.
	Count(ctx context.Context, now time.Time, most int) (Counts, error)
}

// Counts is how many jobs are not finished, by state, and how long the first of them wait
// for their turn.
type Counts struct {
	Accepted, Running, Paused, Waiting int
	// OldestAccepted is when the job was accepted that has waited longest to begin, and
	// OldestDue since when a job is due that nobody has claimed: its wait is over, its
	// question has expired, or its attempt was released. Zero where there is none.
	OldestAccepted, OldestDue time.Time
}
