package postgres

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/store/postgres/pgtest"
	"ql/internal/store/relational"
)

// TestJobsMeetRemovals: accounts are removed while jobs of theirs are stored, by two members and in each way that there is.
// Then none is left, though no foreign key says whose a job is.
func TestJobsMeetRemovals(t *testing.T) {
	ctx := t.Context()
	o := Options{URL: pgtest.Start(t).Empty(t), Migrate: true, Readers: 2, ValidFor: 10 * time.Millisecond}
	stores := []*Store{openTest(t, o), openTest(t, o)}
	members := make([]member.Member, len(stores))
	for i, s := range stores {
		m, _, err := s.Members().Join(ctx, member.Node{ID: int64(i) + 1, Knows: len(s.schema.steps)})
		if err != nil {
			t.Fatal(err)
		}
		members[i] = m
	}
	if err := stores[0].FinishUpgrade(ctx); err != nil {
		t.Fatal(err)
	}
	count := func(sql string) (n int64) {
		t.Helper()
		c, err := connect(ctx, stores[0].config)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Query(ctx, sql, nil, func(r relational.Row) bool {
			n = r.Int(0)
			return false
		}), c.close()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count("SELECT count(*) FROM pg_constraint WHERE conname = 'jobs_account_fkey'"); n != 0 {
		t.Fatal("the jobs have a foreign key still")
	}

	summary := func(s *Store, a account.ID, state job.State) job.Summary {
		now := time.Now()
		one := job.Summary{ID: s.NewID(), Account: a, State: state, Mode: job.Async, Convention: job.JSON, Credential: principal.ByKey, Created: now}
		if state == job.Complete {
			one.Finished = now
		}
		return one
	}
	ways := map[string]func(*Store, member.Member, account.ID) error{
		"accept": func(s *Store, m member.Member, a account.ID) error {
			_, _, err := s.Queue().Accept(ctx, &job.Task{Summary: summary(s, a, job.Accepted), Spec: []byte("spec"), Code: []byte("code")}, m, time.Now())
			return err
		},
		"accept with others": func(s *Store, m member.Member, a account.ID) error {
			_, _, err := s.Queue().Accept(ctx, &job.Task{Summary: summary(s, a, job.Accepted), Spec: []byte("spec")}, m, time.Now())
			if errors.Is(err, job.ErrNoProgram) { // nobody has stored it for this account
				return nil
			}
			return err
		},
		"ended": func(s *Store, _ member.Member, a account.ID) error {
			e := &job.End{Record: job.Record{Summary: summary(s, a, job.Complete), Call: job.Call{Source: &job.Source{Hash: [32]byte{4}, Text: "EMIT 1"}}}}
			_, err := s.Queue().AcceptEnded(ctx, &job.Task{Summary: e.Summary, Call: e.Call}, e)
			return err
		},
		"record": func(s *Store, _ member.Member, a account.ID) error {
			records := make([]job.Record, 12)
			for i := range records {
				records[i] = job.Record{Summary: summary(s, a, job.Complete)}
			}
			return s.Jobs().Record(ctx, records)
		},
	}
	for round := range 4 {
		ids := make([]account.ID, 2)
		for i := range ids {
			id, err := stores[0].Accounts().Create(ctx, account.Account{Username: fmt.Sprintf("ada-%d-%d", round, i), Plan: account.Free, Created: time.Unix(1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			ids[i] = id
		}
		var group, begun sync.WaitGroup
		for i, s := range stores {
			for _, a := range ids {
				for name, store := range ways {
					begun.Add(1)
					group.Go(func() {
						for n := range 8 { // bounded, since who removes has to try again for as long as others store
							err := store(s, members[i], a)
							if n == 0 {
								begun.Done()
							}
							if errors.Is(err, account.ErrNotFound) {
								return
							}
							if err != nil && !fault.Is(err, fault.StorageUnavailable) { // who stands in the way of many gives up
								t.Errorf("%s: %v", name, err)
								return
							}
							if n > 0 && !isThere(t, s, a) { // also where nothing is stored, and that is no error
								return
							}
						}
					})
				}
			}
		}
		begun.Wait()
		for _, a := range ids {
			group.Go(func() {
				err := stores[1].Accounts().Delete(ctx, a)
				for fault.Is(err, fault.StorageUnavailable) { // as who removes it does
					err = stores[1].Accounts().Delete(ctx, a)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if n := count("SELECT count(*) FROM jobs"); n != 0 {
		t.Errorf("%d jobs of accounts are left that are not there", n)
	}
}

func isThere(t *testing.T, s *Store, a account.ID) bool {
	t.Helper()
	_, err := s.Accounts().ByID(t.Context(), a)
	if err != nil && !errors.Is(err, account.ErrNotFound) {
		t.Error(err)
	}
	return err == nil
}
