package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/resource/files"
	"ql/internal/resource/mails"
)

// lossyMails stores mails, and loses word of each first one, before or after it was done.
type lossyMails struct {
	mail.Store
	before, after bool
	lost          map[string]bool
}

func (l *lossyMails) Create(ctx context.Context, n mail.CreateParams) error {
	first := !l.lost[n.ID]
	l.lost[n.ID] = true
	if first && l.before {
		return errors.New("the process died")
	}
	if err := l.Store.Create(ctx, n); err != nil || !first || !l.after {
		return err
	}
	return errors.New("the process died")
}

// TestMailIsStoredOnce: a job that is cut off at each of its mails, and at a question by mail, stores each
// once, and goes on with the id that it has.
func TestMailIsStoredOnce(t *testing.T) {
	for name, lossy := range map[string]*lossyMails{"before": {before: true}, "after": {after: true}} {
		t.Run(name, func(t *testing.T) {
			e := newWorld(t, faults{})
			lossy.Store, lossy.lost = e.store.Mails(), map[string]bool{}
			all := mails.New(mails.Options{
				Store: lossy, Sealer: e.accounts.Sealer(), Sender: mail.Address{Local: "ql", Domain: "service.example"}, Canonical: files.Canonical, Clock: e.now, Wake: func() {},
				Domains: func(context.Context, account.Account) ([]string, error) { return nil, nil },
			})
			open := e.host.Resources
			e.host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
				r, err := open(ctx, a, l, session)
				r.Mails = all.For(a, mails.Limits{PerDay: 100, Bytes: 1 << 20})
				return r, err
			}
			id := e.submit(`
				WRITE "x" TO "/a.txt"
				FOR ?i FROM 1 TO 3 DO
					MAIL TO "zoe@example.org" SUBJECT "{?i}" TEXT "x" ATTACH "/a.txt" SET ?id
					EMIT ?id, " "
				END`)
			view := e.await(id, job.Complete)
			list, err := e.store.Mails().List(t.Context(), e.ada.ID, mail.Query{Limit: 10})
			check(t, err)
			ids := strings.Fields(string(view.Result))
			if len(list) != 3 || len(ids) != 3 {
				t.Fatalf("%d mails are stored, and the job gave %s: %s", len(list), view.Result, view.Error)
			}
			for i, m := range list {
				if m.ID != ids[2-i] || m.Job != id {
					t.Errorf("mail %d is %+v, want %s", i, m, ids[2-i])
				}
			}
		})
	}
}
