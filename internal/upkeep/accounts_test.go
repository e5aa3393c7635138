package upkeep

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// shared switches the development account on for more than one person.
func shared(s *config.Settings) {
	s.Dev, s.DevUsername, s.DevPassword = false, "shared", "a shared password"
}

// leave has an account keep a bit of everything.
func leave(t *testing.T, a *node, who account.Account) (file func() error, row func() error, j job.ID) {
	t.Helper()
	r, err := a.pool.Open(t.Context(), who, a.settings.Limits(who.Plan), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	record := job.Record{Summary: job.Summary{ID: job.NewID(), Account: who.ID, State: job.Complete, Mode: job.Sync, Convention: job.JSON,
		Created: time.Now(), Finished: time.Now()}}
	if err := errors.Join(
		r.Files.Write(t.Context(), "/note", []byte("text")),
		sql(t, r, "", "CREATE TABLE t(x)"),
		a.recorder.Record(t.Context(), record),
		a.recorder.Flush(t.Context()),
	); err != nil {
		t.Fatal(err)
	}
	file = func() error { _, err := r.Files.Read(t.Context(), "/note", 10); return err }
	row = func() error { return sql(t, r, "", "INSERT INTO t VALUES (1)") }
	return file, row, record.ID
}

// TestDevelopmentIsEmptied: the shared account keeps nothing longer than a day,
// however often the service is started anew meanwhile.
func TestDevelopmentIsEmptied(t *testing.T) {
	folder := t.TempDir()
	var a *node
	restart := func() {
		t.Helper()
		if a != nil {
			if err := a.stop(); err != nil {
				t.Fatal(err)
			}
		}
		a = start(t, func(s *config.Settings) { shared(s); s.Data = folder })
	}
	restart()
	ctx, began := t.Context(), time.Now()
	dev, err := a.accounts.EnsureDevelopment(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file, row, id := leave(t, a, dev)
	keep := func(after time.Duration) {
		t.Helper()
		if err := a.upkeep.Run(ctx, began.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	keep(23 * time.Hour)
	if err := errors.Join(file(), row()); err != nil {
		t.Fatalf("after 23 hours: %v", err)
	}
	keep(25 * time.Hour)
	wantCode(t, "the file", file(), "file_not_found")
	wantCode(t, "the table", row(), "no_such_table") // by a script that ran meanwhile
	if _, err := a.store.Jobs().ByID(ctx, id); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the job: %v", err)
	}
	restart()
	file, row, _ = leave(t, a, dev)
	keep(26 * time.Hour)
	keep(48 * time.Hour)
	if err := errors.Join(file(), row()); err != nil {
		t.Errorf("less than a day later: %v", err)
	}
	restart()
	keep(50 * time.Hour)
	r := reach(t, a)
	if _, err := r.Files.Read(ctx, "/note", 10); err == nil {
		t.Error("a day later it is still there")
	}
}

// TestOwnDevelopmentIsKept: with --dev the account is one person's own.
func TestOwnDevelopmentIsKept(t *testing.T) {
	a := start(t, nil)
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file, row, _ := leave(t, a, dev)
	if err := errors.Join(a.upkeep.Run(t.Context(), time.Now().Add(48*time.Hour)), file(), row()); err != nil {
		t.Error(err)
	}
}

// TestDeletesAreFinished: an account whose removal was interrupted is shut at
// once, and removed by the upkeep, with what a script of it leaves afterwards.
func TestDeletesAreFinished(t *testing.T) {
	a := start(t, nil)
	ctx := t.Context()
	made, _, err := a.accounts.Create(ctx, account.New{Username: "ada", Password: "a rather long sentence", Plan: account.Standard})
	if err != nil {
		t.Fatal(err)
	}
	_, row, id := leave(t, a, made)
	// As a command does that is ended right after its first step.
	if err := a.accounts.MarkDeleted(ctx, "ada"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.accounts.Find(ctx, "ada"); err != nil || !got.Disabled {
		t.Errorf("right after: %+v, %v", got, err)
	}
	now := time.Now()
	if err := a.upkeep.Run(ctx, now); err != nil {
		t.Fatal(err)
	}
	if _, err := a.store.Accounts().ByID(ctx, made.ID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("the account: %v", err)
	}
	if _, err := a.store.Jobs().ByID(ctx, id); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the job: %v", err)
	}
	wantCode(t, "a script that still runs", row(), "no_such_table")
	folder := a.pool.AccountFolder(made.ID)
	for _, later := range []time.Duration{time.Hour, 25 * time.Hour, 26 * time.Hour} {
		if err := a.upkeep.Run(ctx, now.Add(later)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder, %s later: %v", later, err)
		}
	}
	if list, err := a.store.Accounts().Tombstones(ctx); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestReceiptsOfEndedJobsAreForgotten: what a crash kept a job from removing is
// removed from its database, at the start and then once a day.
func TestReceiptsOfEndedJobsAreForgotten(t *testing.T) {
	a := start(t, nil)
	ctx := t.Context()
	dev, err := a.accounts.EnsureDevelopment(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.pool.Open(ctx, dev, a.settings.Limits(dev.Plan), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	if err := sql(t, r, "", "CREATE TABLE t(x)"); err != nil {
		t.Fatal(err)
	}
	leaves := func(state job.State, finished time.Time) job.ID {
		t.Helper()
		id := job.NewID()
		if state != "" {
			record := job.Record{Summary: job.Summary{ID: id, Account: dev.ID, State: state, Mode: job.Async, Convention: job.JSON, Created: a.upkeep.o.Began, Finished: finished}}
			if err := errors.Join(a.recorder.Record(ctx, record), a.recorder.Flush(ctx)); err != nil {
				t.Fatal(err)
			}
		}
		receipt := &engine.Receipt{Job: id, Attempt: 1, Step: 1, Write: func(value.Value) ([]byte, error) { return []byte("kept"), nil }}
		insert := &bytecode.Statement{Head: "INSERT", Texts: []string{"INSERT INTO t VALUES (1)"}}
		_, err := r.Databases.Query(ctx, "", engine.Query{Statement: insert, Receipt: receipt})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	unknown := leaves("", time.Time{})
	before := leaves(job.Complete, a.upkeep.o.Began.Add(-time.Second))
	after := leaves(job.Failed, a.upkeep.o.Began.Add(time.Second))
	running := leaves(job.Running, time.Time{})
	left := func(id job.ID) bool {
		t.Helper()
		kept, err := r.Databases.Receipts(ctx, "", id, 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(kept) > 0
	}
	for _, step := range []struct {
		at    time.Duration
		swept int64
		want  map[job.ID]bool
	}{
		{time.Minute, a.upkeep.o.Began.Unix(), map[job.ID]bool{unknown: true, before: true, after: true, running: true}},
		{time.Minute, 0, map[job.ID]bool{unknown: false, before: false, after: true, running: true}},
		{26 * time.Hour, a.upkeep.o.Began.Unix(), map[job.ID]bool{after: false, running: true}},
	} {
		a.upkeep.sweptReceipts.Store(step.swept)
		if err := a.upkeep.Run(ctx, a.upkeep.o.Began.Add(step.at)); err != nil {
			t.Fatal(err)
		}
		for id, want := range step.want {
			if got := left(id); got != want {
				t.Errorf("at %s: the receipt of %s is left: %t", step.at, id, got)
			}
		}
	}
}
