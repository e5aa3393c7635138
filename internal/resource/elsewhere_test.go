package resource

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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
