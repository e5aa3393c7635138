package databases

import (
	"context"
	"fmt"
	"time"

	"ql/internal/fault"
)

// Who waits for a connection waits for another script of the account, for so long and
// no longer. But the other may be held up itself: by a disk that does not answer, by a
// process that was stopped. That is no fault of the account's, and is waited out.

const (
	// pollInterval is how often somebody who waits looks at what the others do, at most.
	pollInterval = 50 * time.Millisecond
	// maxStall is how long a disk that does not answer is waited for.
	maxStall = 30 * time.Second
)

// waitForToken is acquireToken where it has to wait.
func (db *database) waitForToken(ctx context.Context, tokens chan struct{}) error {
	every := min(pollInterval, max(db.options.Busy/10, time.Millisecond))
	seen := map[*conn]uint64{}
	db.progressed(tokens, seen)
	var contended, stalled time.Duration
	last := time.Now()
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case tokens <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		// Where more time passed, this process did not run, and neither did the others.
		passed := min(time.Since(last), 2*every)
		last = time.Now()
		if db.progressed(tokens, seen) {
			contended += passed
		} else {
			stalled += passed
		}
		switch {
		case contended >= db.options.Busy:
			return db.busy()
		case stalled >= maxStall:
			return fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment").
				WithCause(fmt.Errorf("database %s: whoever has it waited for the disk for %s", db.name, maxStall))
		}
		timer.Reset(every)
	}
}

// progressed reports whether one of those who have the tokens of a channel has made progress
// since it was last asked, or could: its script does something else between two
// statements.
func (db *database) progressed(tokens chan struct{}, seen map[*conn]uint64) (work bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	holders := db.busyReaders
	if tokens == db.writerToken {
		holders = db.busyWriters
	}
	for _, c := range holders { // none while one is opened
		now := c.db.Activity()
		was, known := seen[c]
		seen[c] = now
		work = work || now%2 == 0 || !known || was != now
	}
	return work
}
