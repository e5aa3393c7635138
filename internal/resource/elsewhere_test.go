package resource

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/member"
	"ql/internal/resource/databases/ship"
)

// standingLog is a log that has homes claimed, and then stands still.
type standingLog struct{ ship.Log }

func (standingLog) Claim(_ context.Context, id account.ID, m member.Member) (ship.Home, error) {
	return ship.Home{Account: id, Member: m, Epoch: 1}, nil
}

func (standingLog) Leave(ctx context.Context, _ ship.Home) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestHomesOfAStoreThatStandsStill: who wants databases that are in no use waits for those of its own account alone, and a pool is closed
// in the time of one.
func TestHomesOfAStoreThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Folder: t.TempDir(), Ship: &ship.Options{Changes: standingLog{}}})
		p.ShipAs(func() (member.Member, error) { return member.Member{}, nil })
		const accounts = 20
		for id := range account.ID(accounts) {
			check(t, p.ClaimDatabases(t.Context(), id))
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.leaveHomes(ctx)
		}()
		time.Sleep(homeIdle + homeSweep + time.Millisecond)
		synctest.Wait()
		began := time.Now()
		var callers sync.WaitGroup
		for id := range account.ID(accounts) {
			callers.Go(func() {
				if err := p.ClaimDatabases(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if took := time.Since(began); took > leaveTime {
			t.Errorf("%d accounts waited for %s", accounts, took)
		}
		cancel()
		<-ended
		began = time.Now()
		if err := p.Close(); err == nil {
			t.Error("homes were left that could not be")
		}
		if took := time.Since(began); took > leaveTime {
			t.Errorf("the pool was closed in %s", took)
		}
	})
}

// leftLog is a log that counts homes.
type leftLog struct {
	ship.Log
	homes atomic.Int64
}

func (l *leftLog) Claim(_ context.Context, id account.ID, m member.Member) (ship.Home, error) {
	l.homes.Add(1)
	return ship.Home{Account: id, Member: m, Epoch: 1}, nil
}

func (l *leftLog) Leave(context.Context, ship.Home) error {
	l.homes.Add(-1)
	return nil
}

// TestHomesAreLeft: a node that is about to stop leaves the homes that nobody uses, and the others when they are not used
// any more.
func TestHomesAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &leftLog{}
		p := New(Options{Folder: t.TempDir(), Ship: &ship.Options{Changes: log}})
		p.ShipAs(func() (member.Member, error) { return member.Member{}, nil })
		for id := range account.ID(5) {
			check(t, p.ClaimDatabases(t.Context(), id))
		}
		used := p.acquire(3)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.leaveHomes(ctx)
		}()
		time.Sleep(time.Second)
		want := func(what string, homes int64) {
			t.Helper()
			synctest.Wait()
			if n := log.homes.Load(); n != homes {
				t.Errorf("%s: this node is the home of %d accounts, and not of %d", what, n, homes)
			}
		}
		want("before", 5)
		p.LeaveHomes()
		want("at once", 1)
		time.Sleep(homeIdle)
		want("while one is in use", 1)
		p.release(used)
		want("when it was released", 1)
		time.Sleep(drainIdle + drainSweep + time.Millisecond)
		want("a moment later", 0)
		check(t, p.ClaimDatabases(t.Context(), 4))
		want("who still calls finds them", 1)
		time.Sleep(drainIdle + drainSweep + time.Millisecond)
		want("and a moment later", 0)
		cancel()
		<-ended
		check(t, p.Close())
	})
}

// TestAdoptTwice: a folder is adopted also where one was before, as in a service that was moved back meanwhile.
func TestAdoptTwice(t *testing.T) {
	p := New(Options{Folder: t.TempDir(), Ship: &ship.Options{Changes: standingLog{}}})
	folder := filepath.Join(t.TempDir(), "accounts")
	adopt := p.Adopt(folder, nil, slog.New(slog.DiscardHandler))
	for _, name := range []string{".adopted", ".adopted-2", ".adopted-3"} {
		check(t, os.MkdirAll(filepath.Join(folder, "something"), 0o700))
		check(t, adopt(t.Context()))
		if _, err := os.Stat(filepath.Join(folder+name, "something")); err != nil {
			t.Error(err)
		}
	}
}
