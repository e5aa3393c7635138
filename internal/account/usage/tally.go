package usage

import (
	"context"
	"sync"
	"time"

	"ql/internal/account"
)

const (
	// fresh is how long what the store said holds: other nodes count too.
	fresh = time.Minute
	// mostAccounts is how many accounts a tally knows at once.
	mostAccounts = 100_000
)

// Tally holds accounts to their months. It remembers what the store said and
// counts along, so that a call needs no look at the store. A nil Tally holds
// nobody to anything. It may be used by any number of goroutines.
type Tally struct {
	store Store
	clock func() time.Time

	mu       sync.Mutex
	accounts map[account.ID]*count

	views views
	ahead ahead
}

// count is an account's month. Calls under way are in it.
type count struct {
	month Month
	used  Used
	read  time.Time // when the store was asked for it
}

// NewTally returns a tally of what a store keeps.
func NewTally(store Store, clock func() time.Time) *Tally {
	return &Tally{store: store, clock: clock, accounts: map[account.ID]*count{}, views: newViews(), ahead: ahead{of: map[viewed]*reserved{}}}
}

// Begin counts a call, unless the account's month is used up: then the error is
// an *Exceeded. The call is given back by Done where it came to nothing.
func (t *Tally) Begin(ctx context.Context, a account.ID, l account.Limits) (*Call, error) {
	if t == nil || l.CallsPerMonth == 0 && l.RunningPerMonth == 0 {
		return nil, nil
	}
	c, err := t.look(ctx, a)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case l.CallsPerMonth > 0 && c.used.Calls >= l.CallsPerMonth:
		return nil, &Exceeded{What: Calls, Most: l.CallsPerMonth, Until: c.month.End()}
	case l.RunningPerMonth > 0 && c.used.Running >= l.RunningPerMonth:
		return nil, &Exceeded{What: Running, Most: l.RunningPerMonth.Milliseconds(), Until: c.month.End()}
	}
	c.used.Calls++
	return &Call{tally: t, count: c}, nil
}

// Call is a call that was counted. A nil one is not.
type Call struct {
	tally *Tally
	count *count
	kept  bool
}

// Count says that the call counts, and how long it ran. The store counts it when
// it is recorded.
func (c *Call) Count(ran time.Duration) {
	if c == nil {
		return
	}
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	c.kept = true
	c.count.used.Running += ran
}

// Done gives back a call that came to nothing.
func (c *Call) Done() {
	if c == nil {
		return
	}
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	if !c.kept {
		c.kept = true
		c.count.used.Calls--
	}
}

// CheckMachine says whether an account may run a command on a machine: nil, or an *Exceeded where
// its month of so long is used up; 0 is no bound.
func (t *Tally) CheckMachine(ctx context.Context, a account.ID, most time.Duration) error {
	if t == nil || most == 0 {
		return nil
	}
	c, err := t.look(ctx, a)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.used.Machine >= most {
		return &Exceeded{What: Machine, Most: most.Milliseconds(), Until: c.month.End()}
	}
	return nil
}

// CountMachine counts how long a command ran on a machine.
func (t *Tally) CountMachine(ctx context.Context, a account.ID, ran time.Duration) error {
	if t == nil {
		return nil
	}
	now := t.clock()
	t.mu.Lock()
	if c := t.accounts[a]; c != nil && c.month == MonthOf(now) {
		c.used.Machine += ran
	}
	t.mu.Unlock()
	return t.store.Count(ctx, a, DayOf(now), Used{Machine: ran})
}

// look returns the count of an account's month, asking the store where that is
// not known, or was asked long ago.
func (t *Tally) look(ctx context.Context, a account.ID) (*count, error) {
	now := t.clock()
	month := MonthOf(now)
	t.mu.Lock()
	c := t.accounts[a]
	if c != nil && c.month == month {
		if now.Sub(c.read) < fresh {
			t.mu.Unlock()
			return c, nil
		}
		c.read = now // others need not ask too
	} else {
		c = nil
	}
	t.mu.Unlock()
	used, err := t.store.Used(ctx, a, month) // views that are not stored yet are counted here
	if err != nil {
		if c != nil {
			return c, nil // as it was a minute ago
		}
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c = t.accounts[a]
	if c == nil || c.month != month {
		if len(t.accounts) >= mostAccounts {
			clear(t.accounts)
		}
		c = &count{month: month, read: now}
		t.accounts[a] = c
	}
	// What is counted here reaches the store a little later.
	c.used.Calls, c.used.Running, c.used.Machine = max(c.used.Calls, used.Calls), max(c.used.Running, used.Running), max(c.used.Machine, used.Machine)
	return c, nil
}

// Used returns what an account has used of the month.
func (t *Tally) Used(ctx context.Context, a account.ID) (Used, error) {
	if t == nil {
		return Used{}, nil
	}
	month := MonthOf(t.clock())
	if err := t.storeViews(ctx, a); err != nil {
		return Used{}, err
	}
	used, err := t.store.Used(ctx, a, month)
	if err != nil {
		return used, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.accounts[a]; c != nil && c.month == month {
		used.Calls, used.Running = max(c.used.Calls, used.Calls), max(c.used.Running, used.Running)
	}
	return used, nil
}

// Sent counts bytes that have left, whatever is left of the month.
func (t *Tally) Sent(ctx context.Context, a account.ID, bytes int64) error {
	if t == nil || bytes == 0 {
		return nil
	}
	_, err := t.store.Reserve(ctx, a, DayOf(t.clock()), bytes, 0)
	return err
}

// Ran counts a call that is no job, which is counted with its record, and how long it ran.
func (t *Tally) Ran(ctx context.Context, a account.ID, ran time.Duration) error {
	if t == nil {
		return nil
	}
	return t.store.Count(ctx, a, DayOf(t.clock()), Used{Calls: 1, Running: ran})
}

// Days returns what an account has used on each day that is told apart, to today, those without
// anything too. Those of this month come to what Used returns: what is counted and not stored yet
// is of today.
func (t *Tally) Days(ctx context.Context, a account.ID) ([]UsedDay, error) {
	if t == nil {
		return nil, nil
	}
	today := DayOf(t.clock())
	if err := t.storeViews(ctx, a); err != nil {
		return nil, err
	}
	from := today - RetentionDays + 1
	stored, err := t.store.Days(ctx, a, from)
	if err != nil {
		return nil, err
	}
	used, err := t.Used(ctx, a)
	if err != nil {
		return nil, err
	}
	days := make([]UsedDay, RetentionDays)
	for i := range days {
		days[i].Day = from + Day(i)
	}
	var sum Used
	for _, d := range stored {
		i := int(min(d.Day, today) - from)
		days[i].add(d.Used)
		if d.Day.Month() == today.Month() {
			sum.add(d.Used)
		}
	}
	days[len(days)-1].add(Used{used.Calls - sum.Calls, used.Running - sum.Running, used.Egress - sum.Egress, used.Machine - sum.Machine})
	carryBack(days)
	return days, nil
}

func (u *Used) add(more Used) {
	u.Calls += more.Calls
	u.Running += more.Running
	u.Egress += more.Egress
	u.Machine += more.Machine
}

// carryBack takes bytes that were given back from the days before on which they were reserved: none
// has used less than nothing, unless a whole month has.
func carryBack(days []UsedDay) {
	for i := len(days) - 1; i > 0; i-- {
		if d, before := &days[i], &days[i-1]; d.Egress < 0 && d.Day.Month() == before.Day.Month() {
			before.Egress += d.Egress
			d.Egress = 0
		}
	}
}
