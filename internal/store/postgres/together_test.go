package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/store/relational"
)

// TestAcceptTogether: jobs that are accepted at the same time are few changes, and few statements.
func TestAcceptTogether(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	ada, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	const jobs = 64
	before := s.Stats().Writes
	var group sync.WaitGroup
	for i := range jobs {
		group.Go(func() {
			e := &job.End{Record: job.Record{Summary: job.Summary{
				ID: s.NewID(), Account: ada, State: job.Complete, Mode: job.Async, Convention: job.JSON, Credential: principal.ByKey, Created: time.Now(), Finished: time.Now(),
			}, Result: []byte{byte(i)}}}
			if _, err := s.Queue().AcceptEnded(t.Context(), &job.Task{}, e); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.Stats().Writes - before; n >= jobs/2 {
		t.Errorf("%d jobs were %d changes", jobs, n)
	}
	list, err := s.Jobs().List(t.Context(), ada, job.Query{Limit: 2 * jobs})
	if err != nil || len(list) != jobs {
		t.Errorf("%d jobs are stored: %v", len(list), err)
	}
}

// TestMembersCountSources: members that store jobs of one script at the same time count it beside those, and each job once,
// also where it is there already.
func TestMembersCountSources(t *testing.T) {
	o := Options{URL: database(t), Readers: 2, ValidFor: 10 * time.Millisecond}
	stores := []*Store{openTest(t, o), openTest(t, o)}
	ctx := t.Context()
	var sessions []*member.Session
	for i, s := range stores {
		one, err := member.Join(ctx, member.Options{Store: s.Aggregate().Members, Node: member.Node{ID: int64(i) + 1}, Lease: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, one)
	}
	for i, one := range sessions {
		if err := one.Renew(ctx); err != nil {
			t.Fatal(err)
		}
		if !(beside{stores[i]}).Shared() {
			t.Errorf("member %d sees no other", i+1)
		}
	}
	ada, err := stores[0].Accounts().Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	source := &job.Source{Hash: [32]byte{4}, Text: `EMIT "hello"`}
	accept := func(s *Store, id job.ID) error {
		e := &job.End{Record: job.Record{Summary: job.Summary{
			ID: id, Account: ada, State: job.Complete, Mode: job.Async, Convention: job.JSON, Credential: principal.ByKey, Created: time.Now(), Finished: time.Now(),
		}, Call: job.Call{Source: source}, Result: []byte("hello")}}
		_, err := s.Queue().AcceptEnded(ctx, &job.Task{Summary: e.Summary, Call: e.Call}, e)
		return err
	}
	const jobs = 40
	var group sync.WaitGroup
	for _, s := range stores {
		for range jobs {
			group.Go(func() {
				id := s.NewID()
				if err := accept(s, id); err != nil {
					t.Error(err)
				}
				_ = accept(s, id) // with others that are new
			})
		}
	}
	group.Wait()
	var counted, stored int64
	for sql, into := range map[string]*int64{"SELECT jobs FROM sources": &counted, "SELECT count(*) FROM jobs WHERE source IS NOT NULL": &stored} {
		if err := stores[0].writer.conn.Query(ctx, sql, nil, func(r relational.Row) bool {
			*into = r.Int(0)
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	if want := int64(len(stores) * jobs); counted != want || stored != want {
		t.Errorf("of %d jobs %d are stored, and %d counted", want, stored, counted)
	}
}

// TestFinishTogether: jobs that end at the same time are few changes, and are counted with those that were accepted.
func TestFinishTogether(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	ctx := t.Context()
	m, _, err := s.Members().Join(ctx, member.Node{ID: 3})
	if err != nil {
		t.Fatal(err)
	}
	ada, err := s.Accounts().Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	const jobs = 64
	leases := make([]job.Lease, jobs)
	for i := range leases {
		one := &job.Task{Summary: job.Summary{
			ID: s.NewID(), Account: ada, State: job.Running, Mode: job.Async, Convention: job.JSON, Credential: principal.ByKey, Created: time.Unix(60, 0),
		}, Spec: []byte("spec"), Code: []byte("code")}
		if leases[i], _, err = s.Queue().Accept(ctx, one, m, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Stats().Writes
	var group sync.WaitGroup
	for _, l := range leases {
		group.Go(func() {
			e := &job.End{Record: job.Record{Summary: job.Summary{ID: l.ID, Account: ada, State: job.Complete, Convention: job.JSON, Finished: time.Unix(61, 0)}, Ran: time.Second}}
			if err := s.Queue().Finish(context.Background(), l, e); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.Stats().Writes - before; n >= jobs/2 {
		t.Errorf("%d ends were %d changes", jobs, n)
	}
	used, err := s.Usage().Used(ctx, ada, usage.MonthOf(time.Unix(61, 0)))
	if want := (usage.Used{Calls: jobs, Running: jobs * time.Second}); err != nil || used != want {
		t.Errorf("%+v is counted, want %+v: %v", used, want, err)
	}
}
