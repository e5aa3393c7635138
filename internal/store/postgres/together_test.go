package postgres

import (
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
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
