package listen

import (
	"context"
	"time"
)

// awaited is the context of what somebody waits for: it has a deadline, though a far one, so that those below are not more
// patient than a caller is. No timer runs for it.
type awaited struct{ context.Context }

var farAway = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Deadline implements context.Context.
func (awaited) Deadline() (time.Time, bool) { return farAway, true }
