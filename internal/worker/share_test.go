package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
)

// lossyShares makes and takes back links, and loses word of the first of each,
// before or after it was done.
type lossyShares struct {
	shares.Store
	before, after bool // lose word then
	lost          map[string]bool
}

func (l *lossyShares) lose(what string) error {
	if l.lost[what] {
		return nil
	}
	l.lost[what] = true
	return errors.New("the process died")
}

func (l *lossyShares) Create(ctx context.Context, n shares.CreateParams) error {
	if l.before {
		if err := l.lose("create"); err != nil {
			return err
		}
	}
	if err := l.Store.Create(ctx, n); err != nil || !l.after {
		return err
	}
	return l.lose("create")
}

func (l *lossyShares) Revoke(ctx context.Context, a account.ID, token shares.Hash, at time.Time) error {
	if l.before {
		if err := l.lose("revoke"); err != nil {
			return err
		}
	}
	if err := l.Store.Revoke(ctx, a, token, at); err != nil || !l.after {
		return err
	}
	return l.lose("revoke")
}

// TestShareIsMadeOnce: a job that is cut off at SHARE or UNSHARE makes one link
// all the same, and goes on with that very one.
func TestShareIsMadeOnce(t *testing.T) {
	for name, lossy := range map[string]*lossyShares{"before": {before: true}, "after": {after: true}} {
		t.Run(name, func(t *testing.T) {
			e := newWorld(t, faults{})
			lossy.Store, lossy.lost = e.store.Shares(), map[string]bool{}
			all := shares.New(shares.Options{Store: lossy, Canonical: files.Canonical, URL: "https://files.example.com", Clock: e.now})
			open := e.host.Resources
			e.host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
				r, err := open(ctx, a, l, session)
				r.Shares = all.For(a.ID, shares.Limits{})
				return r, err
			}
			id := e.submit(`
				WRITE "x" TO "/a.txt"
				SHARE "/a.txt" SET ?kept
				SHARE "/a.txt" TIMES 2 SET ?taken
				WRITE {kept: ?kept, taken: ?taken} TO "/links.json"
				UNSHARE ?taken
				READ "/links.json" SET ?links
				EMIT ?links.kept = ?kept AND ?links.taken = ?taken
				EMIT " ", ?kept`)
			view := e.await(id, job.Complete)
			text, ok := strings.CutPrefix(string(view.Result), "true https://files.example.com/files/")
			token, isToken := shares.ParseToken(text)
			if !ok || !isToken {
				t.Fatalf("the job gave %s: %s", view.Result, view.Error)
			}
			list, err := e.store.Shares().List(t.Context(), e.ada.ID, 0, 10)
			check(t, err)
			if len(list) != 2 || list[1].Token != token || !list[1].Revoked.IsZero() || list[0].Times != 2 || list[0].Revoked.IsZero() {
				t.Errorf("the links are %+v", list)
			}
		})
	}
}
