package upkeep

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// A plan bounds what the records of an account's finished jobs may take. Nothing
// is refused for it, and no job's end waits for it: records that finished first are
// removed afterwards, by the hourly run and, where an account writes much meanwhile, at
// once.

// slack is by how much an account may be over its bound before it is trimmed.
func slack(bound int64) int64 { return max(bound/16, 1) }

// Growth counts what accounts have written since they were last trimmed.
type Growth struct {
	least int64         // for which anybody is trimmed; 0 for never
	wake  chan struct{} // some account is due

	mu      sync.Mutex
	written map[account.ID]*written
	due     []account.ID
}

type written struct {
	bytes int64
	dueAt int64 // bytes
}

// NewGrowth returns the growth of accounts whose plans have some bounds on records, 0 for
// none.
func NewGrowth(bounds []int64) *Growth {
	g := &Growth{wake: make(chan struct{}, 1), written: map[account.ID]*written{}}
	for _, bound := range bounds {
		if s := slack(bound); bound > 0 && (g.least == 0 || s < g.least) {
			g.least = s
		}
	}
	return g
}

// Add counts what is written. All who write wait for it.
func (g *Growth) Add(a account.ID, bytes int64) {
	if g.least == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.written[a]
	if one == nil {
		one = &written{dueAt: g.least}
		g.written[a] = one
	}
	if one.bytes += bytes; one.bytes < one.dueAt {
		return
	}
	one.dueAt = math.MaxInt64 // until it was trimmed
	g.push(a)
}

// takeDue returns the accounts that are due, once.
func (g *Growth) takeDue() []account.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.due
	g.due = nil
	return due
}

// reset has an account count anew, before it is trimmed, and returns what it has
// counted.
func (g *Growth) reset(a account.ID) (bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.written[a]; one != nil {
		bytes, one.bytes = one.bytes, 0
	}
	return bytes
}

// schedule says how much an account has stored of what it may: it is due again when it
// could be over its bound by the slack.
func (g *Growth) schedule(a account.ID, stored, bound int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.written[a]; one != nil {
		one.dueAt = max(bound-stored, 0) + slack(bound)
	}
}

// request has an account trimmed.
func (g *Growth) request(a account.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.push(a)
}

func (g *Growth) push(a account.ID) {
	g.due = append(g.due, a)
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// clear forgets all accounts: some are gone, or have another plan.
func (g *Growth) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.written)
}

// trimLoop keeps the records of accounts within their plans.
func (u *Upkeep) trimLoop(ctx context.Context) {
	u.o.Guard.Loop(ctx, "trim", func(ctx context.Context) {
		for {
			select {
			case <-u.o.Growth.wake:
				u.trimDue(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

// trimDue trims the accounts that are due, in turns, until none is. One at which
// the store fails is left to the next run.
func (u *Upkeep) trimDue(ctx context.Context) {
	u.trimming.Lock()
	defer u.trimming.Unlock()
	removed := map[account.ID]int{}
	for due := u.o.Growth.takeDue(); len(due) > 0; due = append(due, u.o.Growth.takeDue()...) {
		var again []account.ID
		for _, id := range due {
			var n int
			err := u.o.Guard.DoErr("trim", func() (err error) {
				n, err = u.trim(ctx, id, removed[id] > 0)
				return err
			})
			if n > 0 {
				removed[id] += n
				again = append(again, id)
				continue
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, account.ErrNotFound) {
				u.o.Log.Error("records beyond the quota of an account were not removed and will be retried", "account", id, "error", err)
			}
			if removed[id] > 0 {
				u.o.Log.Info("records of jobs were removed before their retention ended: their account was over its quota", "account", id, "jobs", removed[id])
				delete(removed, id)
			}
		}
		due = again
	}
}

// trim removes some of an account's records where they take more than its plan
// has, and returns how many. Where others were written since it last did, a quarter more
// than those go too, however small they are: so records are never written faster than
// they are removed, and to remove them takes less than it took to write those.
func (u *Upkeep) trim(ctx context.Context, id account.ID, again bool) (n int, err error) {
	one, err := u.o.AccountStore.ByID(ctx, id)
	if err != nil {
		return 0, err
	}
	bound := one.Limits(u.o.Limits).RecordsBytes
	if bound == 0 {
		return 0, nil
	}
	limit := int64(batchSize)
	if grown := u.o.Growth.reset(id); again {
		limit += grown / job.RowBytes * 5 / 4
	}
	jobs := u.o.Jobs
	kept, err := jobs.RecordBytes(ctx, id)
	if err != nil {
		return 0, err
	}
	if n, err = jobs.Trim(ctx, id, bound, int(limit)); err == nil && n == 0 {
		u.o.Growth.schedule(id, kept, bound)
	}
	return n, err
}

// expireJobs removes the jobs that were finished longer ago than their account's plan
// keeps them, and has accounts trimmed that have more than it keeps.
func (u *Upkeep) expireJobs(ctx context.Context, now time.Time) error {
	u.o.Growth.clear()
	return u.eachAccount(ctx, func(one account.Account) error {
		before := now.Add(-one.Limits(u.o.Limits).JobRetention)
		if err := inBatches(func() (int, error) { return u.o.Jobs.Forget(ctx, one.ID, before, batchSize) }); err != nil {
			return err
		}
		return u.requestTrim(ctx, one)
	})
}

// requestTrim has an account trimmed that has more than its plan keeps. It may write
// as fast as it is trimmed: this is not waited for.
func (u *Upkeep) requestTrim(ctx context.Context, one account.Account) error {
	bound := one.Limits(u.o.Limits).RecordsBytes
	if bound == 0 {
		return nil
	}
	stored, err := u.o.Jobs.RecordBytes(ctx, one.ID)
	if err == nil && stored > bound {
		u.o.Growth.request(one.ID)
	}
	return err
}
