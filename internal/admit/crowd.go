package admit

import (
	"sync"
	"time"
)

// CrowdOptions bound a crowd.
type CrowdOptions struct {
	Most   int  // at once on this node
	Lifted bool // nobody is turned away
}

// Crowd counts what is under way for a long time without computing, such as the
// sending of files: each account may have so many at once, and so may all
// together. Nobody waits: what there is may last for hours. It may be used by
// any number of goroutines.
type Crowd struct {
	o CrowdOptions

	mu    sync.Mutex
	all   int
	count map[int64]int // by account
}

// NewCrowd returns an empty crowd.
func NewCrowd(o CrowdOptions) *Crowd { return &Crowd{o: o, count: map[int64]int{}} }

// Enter takes a place, if the account has fewer than most (0 for no bound) and
// there is one. The error is a *Refused; leave is called once.
func (c *Crowd) Enter(account int64, most int) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.o.Lifted:
	case most > 0 && c.count[account] >= most:
		return nil, &Refused{Reason: TooManyTransfers, RetryAfter: time.Second, Most: most, inside: c.count[account]}
	case c.all >= c.o.Most:
		return nil, &Refused{Reason: Overloaded, RetryAfter: time.Second}
	}
	c.all++
	c.count[account]++
	return func() { c.leave(account) }, nil
}

func (c *Crowd) leave(account int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.count[account]--; c.count[account] == 0 {
		delete(c.count, account)
	}
}
