package app

import (
	"context"
	"errors"
	"math"
	"sync"

	"ql/internal/account"
	"ql/internal/job"
)

// A plan bounds what the records of an account's finished jobs may take. Nothing
// is refused for it, and nothing of it stands between a job and its end: records
// that finished first go afterwards, by the upkeep and, where an account writes
// much meanwhile, at once.

// shareOf is by how much an account may be over its bound before it is looked at.
func shareOf(bound int64) int64 { return max(bound/16, 1) }

// growth is what accounts have written since they were last looked at.
type growth struct {
	least int64         // that anybody is looked at for; 0 for never
	wake  chan struct{} // somebody is due

	mu  sync.Mutex
	of  map[account.ID]*grown
	due []account.ID
}

type grown struct {
	bytes int64
	next  int64 // with how many it is due
}

func newGrowth(bounds []int64) *growth {
	g := &growth{wake: make(chan struct{}, 1), of: map[account.ID]*grown{}}
	for _, bound := range bounds {
		if share := shareOf(bound); bound > 0 && (g.least == 0 || share < g.least) {
			g.least = share
		}
	}
	return g
}

// add counts what is written. It holds up all who write.
func (g *growth) add(a account.ID, bytes int64) {
	if g.least == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of[a]
	if one == nil {
		one = &grown{next: g.least}
		g.of[a] = one
	}
	if one.bytes += bytes; one.bytes < one.next {
		return
	}
	one.next = math.MaxInt64 // until it was looked at
	g.push(a)
}

// take returns the accounts that are due.
func (g *growth) take() []account.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.due
	g.due = nil
	return due
}

// begin has an account count anew, before it is looked at, and returns what it has
// counted.
func (g *growth) begin(a account.ID) (bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.of[a]; one != nil {
		bytes, one.bytes = one.bytes, 0
	}
	return bytes
}

// settle says how much an account keeps of what it may: it is due again when it
// could be a share beyond that.
func (g *growth) settle(a account.ID, kept, bound int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.of[a]; one != nil {
		one.next = max(bound-kept, 0) + shareOf(bound)
	}
}

// ask has an account looked at.
func (g *growth) ask(a account.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.push(a)
}

func (g *growth) push(a account.ID) {
	g.due = append(g.due, a)
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// forget lets go of what is known of accounts: some are gone, or have another plan.
func (g *growth) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.of)
}

// startTrims keeps the records of accounts within their plans.
func (a *App) startTrims() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a.parts.guard.Go("trim", func() {
		defer close(done)
		a.parts.guard.Loop(ctx, "trim", func(ctx context.Context) {
			for {
				select {
				case <-a.growth.wake:
					a.trimDue(ctx)
				case <-ctx.Done():
					return
				}
			}
		})
	})
	a.closes("records", func(context.Context) error {
		cancel()
		<-done
		return nil
	})
}

// trimDue trims the accounts that are due, in turns, until none is. One at which
// the store fails is left to the next upkeep.
func (a *App) trimDue(ctx context.Context) {
	a.trimming.Lock()
	defer a.trimming.Unlock()
	removed := map[account.ID]int{}
	for due := a.growth.take(); len(due) > 0; due = append(due, a.growth.take()...) {
		var again []account.ID
		for _, id := range due {
			var n int
			err := a.parts.guard.DoErr("trim", func() (err error) {
				n, err = a.trim(ctx, id, removed[id] > 0)
				return err
			})
			if n > 0 {
				removed[id] += n
				again = append(again, id)
				continue
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, account.ErrNotFound) {
				a.o.Log.Error("what an account keeps beyond its plan was not removed and will be later", "account", id, "error", err)
			}
			if removed[id] > 0 {
				a.o.Log.Info("jobs went before their time was over: their account keeps more than its plan has", "account", id, "jobs", removed[id])
				delete(removed, id)
			}
		}
		due = again
	}
}

// trim removes some of an account's records where they take more than its plan
// has, and returns how many. Where others came since it last did, a quarter more
// than those go too, however small they are: so records never come faster than
// they go, and to remove them takes less than it took to write those.
func (a *App) trim(ctx context.Context, id account.ID, again bool) (n int, err error) {
	one, err := a.parts.store.Accounts.ByID(ctx, id)
	if err != nil {
		return 0, err
	}
	bound := a.settings.Limits(one.LimitPlan()).RecordsBytes
	if bound == 0 {
		return 0, nil
	}
	limit := int64(forgetAtOnce)
	if came := a.growth.begin(id); again {
		limit += came / job.RowBytes * 5 / 4
	}
	jobs := a.parts.store.Jobs
	kept, err := jobs.Kept(ctx, id)
	if err != nil {
		return 0, err
	}
	if n, err = jobs.Trim(ctx, id, bound, int(limit)); err == nil && n == 0 {
		a.growth.settle(id, kept, bound)
	}
	return n, err
}
