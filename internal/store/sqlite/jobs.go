package sqlite

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// Jobs keeps records of jobs.
type Jobs struct{ store *Store }

var _ job.Store = Jobs{}

// Jobs returns the store's jobs.
func (s *Store) Jobs() Jobs { return Jobs{s} }

const summaryColumns = "id, account, state, mode, convention, credential, created, finished, steps"

func readSummary(r row) job.Summary {
	j := job.Summary{
		Account:    account.ID(r.int(1)),
		State:      job.State(r.text(2)),
		Mode:       job.Mode(r.text(3)),
		Convention: job.Convention(r.text(4)),
		Credential: job.Credential(r.text(5)),
		Created:    r.time(6),
		Finished:   r.time(7),
		Steps:      r.int(8),
	}
	copy(j.ID[:], r.s.Blob(0))
	return j
}

// Record implements job.Store.
func (s Jobs) Record(ctx context.Context, records []job.Record) error {
	return s.store.write(ctx, func(t tx) error {
		for i := range records {
			r := &records[i]
			_, err := t.exec(`INSERT INTO jobs (id, account, state, mode, convention, credential, created, finished, steps, trace_dropped, error, response, trace, result, encoding)
				SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15 FROM accounts WHERE id = ?2
				ON CONFLICT (id) DO NOTHING`,
				r.ID[:], int64(r.Account), string(r.State), string(r.Mode), string(r.Convention), string(r.Credential), r.Created.UnixMicro(), r.Finished,
				r.Steps, r.TraceDropped, r.Error, r.Response, r.Trace, append([]byte{}, r.Result...), string(r.Encoding))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ByID implements job.Store.
func (s Jobs) ByID(ctx context.Context, id job.ID) (record job.Record, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT "+summaryColumns+", trace_dropped, error, response, trace, result, encoding FROM jobs WHERE id = ?", func(r row) {
			record = job.Record{
				Summary:      readSummary(r),
				TraceDropped: r.int(9),
				Error:        r.bytes(10),
				Response:     r.bytes(11),
				Trace:        r.bytes(12),
				Result:       r.bytes(13),
				Encoding:     job.Encoding(r.text(14)),
			}
		}, id[:])
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	return record, err
}

// List implements job.Store.
func (s Jobs) List(ctx context.Context, a account.ID, q job.Query) (list []job.Summary, err error) {
	const first = 1<<63 - 1
	sql := "SELECT " + summaryColumns + " FROM jobs WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
	if q.State != "" {
		sql = "SELECT " + summaryColumns + " FROM jobs WHERE account = ? AND seq < ? AND state = ?4 ORDER BY seq DESC LIMIT ?3"
	}
	err = s.store.read(ctx, func(t tx) error {
		before := int64(first)
		if q.Before != (job.ID{}) {
			before = 0
			if _, err := t.one("SELECT seq FROM jobs WHERE id = ? AND account = ?", func(r row) { before = r.int(0) }, q.Before[:], int64(a)); err != nil {
				return err
			}
		}
		args := []any{int64(a), before, max(q.Limit, 0)}
		if q.State != "" {
			args = append(args, string(q.State))
		}
		return t.each(sql, func(r row) { list = append(list, readSummary(r)) }, args...)
	})
	return list, err
}

// Forget implements job.Store.
func (s Jobs) Forget(ctx context.Context, a account.ID, before time.Time, limit int) (n int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		removed, err := t.exec("DELETE FROM jobs WHERE seq IN (SELECT seq FROM jobs WHERE account = ? AND finished < ? ORDER BY finished LIMIT ?)",
			int64(a), before.UnixMicro(), max(limit, 0))
		n = int(removed)
		return err
	})
	return n, err
}
