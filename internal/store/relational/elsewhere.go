package relational

import (
	"sync"
	"time"

	"ql/internal/account"
)

// ElsewhereCounts are about how many jobs of accounts wait for other members. To count them with each one that is stored
// would read as many rows, which other transactions change: it is done once in a while, and with each where there is
// not much room left. What other members store meanwhile is not in it.
type ElsewhereCounts struct {
	mu       sync.Mutex
	accounts map[account.ID]elsewhereCount
}

type elsewhereCount struct {
	jobs    int
	counted time.Time
}

const (
	// countedFor is how long a count is gone by.
	countedFor = time.Second
	// mostCounted is how many accounts are remembered.
	mostCounted = 10_000
)

// NewElsewhereCounts returns counts of nobody yet.
func NewElsewhereCounts() *ElsewhereCounts {
	return &ElsewhereCounts{accounts: map[account.ID]elsewhereCount{}}
}

// nearLimit is how much room must be left for jobs to go uncounted.
func nearLimit(most int) int { return 100 + most/10 }

// fits adds jobs that are to be stored, where these surely fit. One that is not stored in the end counts too, until all are
// counted again.
func (c *ElsewhereCounts) fits(a account.ID, jobs, most int) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.accounts[a]
	if !ok || time.Since(known.counted) > countedFor || known.jobs+jobs+nearLimit(most) > most {
		return false
	}
	known.jobs += jobs
	c.accounts[a] = known
	return true
}

// set remembers what was counted, with the jobs that are to be stored.
func (c *ElsewhereCounts) set(a account.ID, jobs int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.accounts) >= mostCounted {
		clear(c.accounts)
	}
	c.accounts[a] = elsewhereCount{jobs, time.Now()}
}
