package sqlite

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/resource/sessions"
	"ql/internal/store/migrate"
)

// kept is what the store has counted of an account.
type kept struct{ standing, bytes, sessions int64 }

// wantKept compares what was counted of an account with what is there.
func wantKept(t *testing.T, s *Store, a account.ID, want kept) {
	t.Helper()
	var counted, there kept
	err := s.read(t.Context(), func(tx tx) error {
		if _, err := tx.one("SELECT standing, standing_bytes, sessions FROM kept WHERE account = ?", func(r row) {
			counted = kept{r.int(0), r.int(1), r.int(2)}
		}, int64(a)); err != nil {
			return err
		}
		var programs, stored int64
		if _, err := tx.one("SELECT programs, (SELECT coalesce(sum(length(code)), 0) FROM programs WHERE account = kept.account) FROM kept WHERE account = ?", func(r row) {
			programs, stored = r.int(0), r.int(1)
		}, int64(a)); err != nil {
			return err
		}
		if programs != stored {
			t.Errorf("%d bytes of programs are counted, and %d are there", programs, stored)
		}
		_, err := tx.one(`SELECT count(held), coalesce(sum(held), 0), (SELECT count(*) FROM sessions WHERE account = ?) FROM jobs WHERE account = ?`, func(r row) {
			there = kept{r.int(0), r.int(1), r.int(2)}
		}, int64(a), int64(a))
		return err
	})
	if err != nil || counted != want || there != want {
		t.Errorf("counted %+v, there are %+v, want %+v, %v", counted, there, want, err)
	}
}

// TestKept follows what is counted through all that changes it.
func TestKept(t *testing.T) {
	s := openTest(t, Options{})
	ctx, q, now := t.Context(), s.Queue(), time.Unix(1000, 0)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.Accounts().Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: now})
	must(err)
	m, _, err := s.Members().Join(ctx, member.Node{ID: 1})
	must(err)
	adopt := func() job.Lease {
		t.Helper()
		task := &job.Task{Summary: job.Summary{ID: job.NewID(), Account: a, State: job.Waiting, Created: now}, Code: []byte("code"), Spec: []byte("spec")}
		l, err := q.Adopt(ctx, task, &job.Suspension{State: job.Waiting, Until: now, Snapshot: []byte("123456")})
		must(err)
		return l
	}
	dueOf := func(l job.Lease) job.Due { return job.Due{Lease: l, State: job.Waiting, At: now} }
	ends, cancelled, abandoned, stays := adopt(), adopt(), adopt(), adopt()
	wantKept(t, s, a, kept{4, 56, 0})

	ends, err = q.ClaimListed(ctx, m, dueOf(ends), now)
	must(err)
	must(q.Suspend(ctx, ends, &job.Suspension{State: job.Waiting, Until: now, Snapshot: []byte("12")}))
	wantKept(t, s, a, kept{4, 52, 0})
	ends, err = q.ClaimListed(ctx, m, dueOf(ends), now)
	must(err)
	wantKept(t, s, a, kept{4, 52, 0})
	must(q.Finish(ctx, ends, &job.End{Record: job.Record{Summary: job.Summary{State: job.Complete, Finished: now}}, Leftovers: true}))
	wantKept(t, s, a, kept{3, 42, 0})
	_, _, err = q.Cancel(ctx, cancelled.ID, now, nil, "")
	must(err)
	wantKept(t, s, a, kept{2, 28, 0})
	must(q.Abandon(ctx, dueOf(abandoned), nil, now))
	wantKept(t, s, a, kept{1, 14, 0})

	for n := range byte(5) {
		must(s.Sessions().Create(ctx, sessions.Key{Account: a, Hash: [32]byte{n}}, now.Add(time.Duration(n)), sessions.Expiry{Most: 2}))
	}
	wantKept(t, s, a, kept{1, 14, 3})
	must(s.Sessions().Remove(ctx, sessions.Key{Account: a, Hash: [32]byte{4}}))
	wantKept(t, s, a, kept{1, 14, 2})

	_, err = s.Jobs().Forget(ctx, a, now.Add(time.Hour), 10)
	must(err)
	wantKept(t, s, a, kept{1, 14, 2})
	_, _, err = q.Cancel(ctx, stays.ID, now, nil, "")
	must(err)
	wantKept(t, s, a, kept{0, 0, 2})
	n, err := q.Prune(ctx, now.Add(10_000*time.Hour), 10)
	must(err)
	if n != 1 {
		t.Errorf("%d programs were removed", n)
	}
	wantKept(t, s, a, kept{0, 0, 2})
	adopt()
	must(s.Accounts().Delete(ctx, a))
	wantKept(t, s, a, kept{})
}

// TestKeptOfAnOlderStore counts what was there before anything was counted.
func TestKeptOfAnOlderStore(t *testing.T) {
	folder := t.TempDir()
	steps, err := migrate.Load(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSteps(t, folder, true, steps[:9])
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	const columns = "INSERT INTO jobs (seq, id, account, state, mode, convention, credential, created, finished, steps, trace_dropped, result, encoding, program, task) VALUES "
	if err := s.write(t.Context(), func(t tx) error {
		for _, sql := range []string{
			columns + "(1, x'01', 1, 'paused', '', '', '', 1, NULL, 0, 0, x'', '', x'01', x'0102')",
			columns + "(2, x'02', 1, 'running', '', '', '', 1, NULL, 0, 0, x'', '', x'01', x'0102')",
			columns + "(3, x'03', 1, 'complete', '', '', '', 1, 1, 0, 0, x'01', '', NULL, NULL)",
			"INSERT INTO job_snapshots (job, trace_dropped, trace, snapshot) VALUES (1, 0, x'01', x'010203')",
			"INSERT INTO job_output (job, start, output) VALUES (1, 0, x'0102'), (1, 2, x'0304')",
			"INSERT INTO sessions (account, id_hash, created, touched, version, data) VALUES (1, x'01', 1, 1, 0, '{}'), (1, x'02', 1, 1, 0, '{}')",
		} {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantKept(t, openTest(t, Options{Folder: folder, Own: true}), a, kept{1, 2 + 3 + 1 + 4, 2})
}
