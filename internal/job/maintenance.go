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
}
