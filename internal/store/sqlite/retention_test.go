package sqlite

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
	"ql/internal/store/migrate"
)

// wantRecords compares what was counted of an account's records with what is
// there, by the month.
func wantRecords(t *testing.T, s *Store, a account.ID, want map[usage.Month]int64) {
	t.Helper()
	counted, there := map[usage.Month]int64{}, map[usage.Month]int64{}
	err := s.read(t.Context(), func(tx tx) error {
		if err := tx.each("SELECT month, records FROM usage WHERE account = ? AND records <> 0", func(r row) {
			counted[usage.Month(r.int(0))] = r.int(1)
		}, int64(a)); err != nil {
			return err
		}
		return tx.each("SELECT finished, 4096 + coalesce(length(error), 0) + coalesce(length(response), 0) + coalesce(length(trace), 0) + length(result) + coalesce(length(request), 0) + question_bytes + coalesce(length(task), 0) + coalesce(length(history), 0) + history_bytes FROM jobs WHERE account = ? AND finished IS NOT NULL", func(r row) {
			there[usage.MonthOf(time.UnixMicro(r.int(0)).UTC())] += r.int(1)
		}, int64(a))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []map[usage.Month]int64{counted, there} {
		if len(got) != len(want) {
			t.Errorf("counted %v, there are %v, want %v", counted, there, want)
		}
		for m, bytes := range want {
			if got[m] != bytes {
				t.Errorf("of %s: counted %d, there are %d, want %d", m, counted[m], there[m], bytes)
			}
		}
	}
}

// TestRecordsOfAnOlderStore counts what was there before anything was counted.
func TestRecordsOfAnOlderStore(t *testing.T) {
	folder := t.TempDir()
	steps, err := migrate.Load(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSteps(t, folder, true, steps[:11])
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	// The last moment of a month, and the first of the next.
	november := usage.MonthOf(time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC))
	last := november.End().Add(-time.Microsecond)
	const columns = "INSERT INTO jobs (seq, id, account, state, mode, convention, credential, created, finished, steps, trace_dropped, error, response, trace, result, encoding) VALUES "
	must(t, s.write(t.Context(), func(t tx) error {
		for sql, args := range map[string][]any{
			columns + "(1, x'01', 1, 'complete', '', '', '', 1, ?, 0, 0, NULL, NULL, NULL, x'', '')":                 {last},
			columns + "(2, x'02', 1, 'failed', '', '', '', 1, ?, 0, 0, x'01', x'0203', x'040506', x'0708', '')":      {last},
			columns + "(3, x'03', 1, 'complete', '', '', '', 1, ?, 0, 0, NULL, NULL, x'01', zeroblob(9999), '')":     {november.End()},
			columns + "(4, x'04', 1, 'paused', '', '', '', 1, NULL, 0, 0, NULL, NULL, NULL, x'', '')":                nil,
			"INSERT INTO usage (account, month, calls, running, egress) VALUES (1, ?, 2, 3, 4), (1, 24000, 1, 1, 1)": {int64(november)},
		} {
			if _, err := t.exec(sql, args...); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())
	s = openTest(t, Options{Folder: folder, Own: true})
	wantRecords(t, s, a, map[usage.Month]int64{november: 2*job.RowBytes + 8, november + 1: job.RowBytes + 10_000})
	used, err := s.Usage().Used(t.Context(), a, november)
	if want := (usage.Used{Calls: 2, Running: 3 * time.Microsecond, Egress: 4}); err != nil || used != want {
		t.Errorf("used are %+v, %v", used, err)
	}
}

// TestAbandonedRecordsCount: those that a backup ends are counted in it.
func TestAbandonedRecordsCount(t *testing.T) {
	s := openTest(t, Options{})
	now := time.Unix(1000, 0)
	a := benchmarkAccount(t, s, "ada")
	task := &job.Task{Summary: job.Summary{ID: job.NewID(), Account: a, State: job.Waiting, Created: now}, Code: []byte("code"), Spec: []byte("spec")}
	l, err := s.Queue().Adopt(t.Context(), task, &job.Suspension{State: job.Waiting, Until: now, Snapshot: []byte("1"), Progress: job.Progress{Output: []byte("output"), Trace: []byte("[]")}})
	must(t, err)
	must(t, s.Queue().Abandon(t.Context(), job.Due{Lease: l, State: job.Waiting, At: now}, []byte("lost"), now))
	wantRecords(t, s, a, map[usage.Month]int64{usage.MonthOf(now): job.RowBytes + 4})
}

// TestTrimsAreSmall: a change that removes large jobs removes few.
func TestTrimsAreSmall(t *testing.T) {
	s := openTest(t, Options{})
	a := benchmarkAccount(t, s, "ada")
	const many, size = 40, 4 * (64 << 10)
	var list []job.Record
	for range many {
		now := time.Unix(1000, 0)
		list = append(list, job.Record{Summary: job.Summary{ID: job.NewID(), Account: a, State: job.Complete, Created: now, Finished: now}, Result: make([]byte, size)})
	}
	must(t, s.Jobs().Record(t.Context(), list))
	n, err := s.Jobs().Trim(t.Context(), a, 0, many)
	must(t, err)
	if n != many/4 {
		t.Errorf("%d of %d went at once", n, many)
	}
	// One that is larger than all that may go at once goes alone.
	if n, err = s.Jobs().Trim(t.Context(), a, 0, 1); err != nil || n != 1 {
		t.Errorf("%d went, %v", n, err)
	}
}

// TestGrowthIsTold: whoever opened the store learns how much accounts write.
func TestGrowthIsTold(t *testing.T) {
	grown := map[account.ID]int64{}
	s := openTest(t, Options{Grown: func(a account.ID, bytes int64) { grown[a] += bytes }})
	a := benchmarkAccount(t, s, "ada")
	must(t, endedJob(t.Context(), s, a))
	must(t, durableJob(t.Context(), s, a))
	e := endOf(s, a)
	must(t, s.Jobs().Record(t.Context(), []job.Record{e.Record}))
	_, err := s.Usage().Reserve(t.Context(), a, 1, 1000, 0)
	must(t, err)
	if len(grown) != 1 || grown[a] != 3*e.Bytes() {
		t.Errorf("told was %v, want %d", grown, 3*e.Bytes())
	}
}
