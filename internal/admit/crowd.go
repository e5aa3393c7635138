package admit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// CrowdOptions bound a crowd.
type CrowdOptions struct {
	Most   int  // at once on this node
	Lifted bool // nobody is turned away
	// Wait is how long somebody waits for a place among those of an account.
	Wait time.Duration
	// Reason is why somebody is turned away who has too many; TooManyTransfers where
	// it is left out.
	Reason Reason
}

// Crowd counts what is under way for a long time without computing, such as the
// sending of files: each account may have so many at once, and so may all
// together. What there is may last for hours, so nobody waits for long. But who
// has the last byte of a file and asks for the next is there before its place is
// free again. It may be used by any number of goroutines.
type Crowd struct {
	o CrowdOptions

	mu    sync.Mutex
	all   int
	party map[Holder]*party
}

// party is what a holder has in a crowd.
type party struct {
	count   int
	waiting []chan struct{} // in the order in which they came; closed for whom a place is
}

// NewCrowd returns an empty crowd.
func NewCrowd(o CrowdOptions) *Crowd {
	if o.Reason == 0 {
		o.Reason = TooManyTransfers
	}
	return &Crowd{o: o, party: map[Holder]*party{}}
}

// Enter takes a place, if the account has fewer than most (0 for no bound) and
// there is one, or one is free in a moment. As many may wait for that as may have
// places. The error is a *Refused; leave is called once.
func (c *Crowd) Enter(ctx context.Context, account int64, most int) (leave func(), err error) {
	return c.EnterAs(ctx, AccountHolder(account), most)
}

// EnterAs is Enter for whomever places are charged to.
func (c *Crowd) EnterAs(ctx context.Context, account Holder, most int) (leave func(), err error) {
	place, err := c.take(account, most)
	if err != nil {
		return nil, err
	}
	leave = func() { c.leave(account) }
	if place == nil {
		return leave, nil
	}
	over := time.NewTimer(c.o.Wait)
	defer over.Stop()
	select {
	case <-place:
		return leave, nil
	case <-over.C:
	case <-ctx.Done():
	}
	inside, waits := c.withdraw(account, place)
	if !waits {
		return leave, nil // it was given one at this moment
	}
	return nil, c.tooMany(most, inside)
}

func (c *Crowd) tooMany(most, inside int) error {
	return &Refused{Reason: c.o.Reason, RetryAfter: time.Second, Most: most, inside: inside}
}

// take takes a place, or one in line, which is what it returns then.
func (c *Crowd) take(account Holder, most int) (place chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.party[account]
	if p == nil {
		p = &party{}
	}
	switch {
	case c.o.Lifted:
	case most > 0 && p.count >= most:
		if c.o.Wait == 0 || len(p.waiting) >= most {
			return nil, c.tooMany(most, p.count)
		}
		place = make(chan struct{})
		p.waiting = append(p.waiting, place)
		return place, nil
	case c.all >= c.o.Most:
		return nil, &Refused{Reason: Overloaded, RetryAfter: time.Second}
	}
	c.all++
	p.count++
	c.party[account] = p
	return nil, nil
}

// withdraw leaves the line, and reports false for who has a place meanwhile. It
// returns how many the account has.
func (c *Crowd) withdraw(account Holder, place chan struct{}) (inside int, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.party[account]
	at := slices.Index(p.waiting, place)
	if at < 0 {
		return p.count, false
	}
	p.waiting = slices.Delete(p.waiting, at, at+1)
	return p.count, true
}

// leave gives a place to who waits for it.
func (c *Crowd) leave(account Holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.party[account]
	if len(p.waiting) > 0 {
		close(p.waiting[0])
		p.waiting = slices.Delete(p.waiting, 0, 1)
		return
	}
	c.all--
	if p.count--; p.count == 0 {
		delete(c.party, account)
	}
}
