package relational

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
)

// Jobs keeps records of jobs.
type Jobs struct{ store *Store }

var _ job.Store = Jobs{}

// Jobs returns the store's jobs.
func (s *Store) Jobs() Jobs { return Jobs{s} }

// What the last two hold stands far behind in a row, but for most rows that is nothing, and the start
// of the row says so.
const summaryColumns = "id, account, state, mode, convention, credential, created, finished, steps, key_id, program_name"

func readSummary(r row) job.Summary {
	j := job.Summary{
		Account:     account.ID(r.int(1)),
		State:       job.State(r.text(2)),
		Mode:        job.Mode(r.text(3)),
		Convention:  job.Convention(r.text(4)),
		Credential:  principal.Credential(r.text(5)),
		Created:     r.time(6),
		Finished:    r.time(7),
		Steps:       r.int(8),
		KeyID:       account.NamedKeyID(r.int(9)),
		ProgramName: r.text(10),
	}
	j.ID = r.id(0)
	return j
}

// listedColumns are what listings show.
const listedColumns = summaryColumns + ", seq, name, error_code, ran, origin, schedule"

func readListed(r row) job.Listed {
	return job.Listed{Summary: readSummary(r), Ref: r.int(11), Name: r.text(12), ErrorCode: r.text(13), Ran: time.Duration(r.int(14)) * time.Microsecond, Origin: r.int(15), Schedule: r.text(16)}
}

// recordColumns follow the summary's where all of a record is read.
const recordColumns = "trace_dropped, error, response, trace, result, encoding, ran, checksum"

func readRecord(r row) (job.Record, error) {
	record := job.Record{
		Summary:      readSummary(r),
		TraceDropped: r.int(11),
		Error:        r.bytes(12),
		Response:     r.bytes(13),
		Trace:        r.bytes(14),
		Result:       r.bytes(15),
		Encoding:     job.Encoding(r.text(16)),
		Ran:          time.Duration(r.int(17)) * time.Microsecond,
	}
	if !r.matches(18, record.Result) {
		return record, damagedResult(record.ID)
	}
	return record, nil
}

// Most records are of scripts that simply ended: what those have not is left out, since each value
// takes time though it is null.
const (
	insertPlain   = "id, account, state, mode, convention, credential, created, finished, steps, trace_dropped, trace, result, encoding, ran, checksum, key_id, source, fuel, memory"
	insertColumns = insertPlain + ", " + insertRest
	insertRest    = "error, response, program_name, name, request, origin, fetches, task, history"
	insertParams  = 28
	insertEnd     = " ON CONFLICT (id) DO NOTHING"
)

var (
	insertAll      = newInserts("jobs", insertColumns, insertEnd)
	insertAllPlain = newInserts("jobs", insertPlain, insertEnd)
)

// Record implements job.Store.
func (s Jobs) Record(ctx context.Context, records []job.Record) error {
	return s.store.write(ctx, func(t tx) error { return t.Record(records) })
}

// Record stores the records that are not stored yet, and counts them.
func (t Tx) Record(records []job.Record) error {
	kept, err := t.ofAccounts(records)
	if err != nil || len(kept) == 0 {
		return err
	}
	last, err := t.number("SELECT coalesce(max(seq), 0) FROM jobs")
	if err != nil {
		return err
	}
	sources, err := t.keepSources(kept, nil)
	if err != nil {
		return err
	}
	inserted, err := t.insertRecords(kept, sources)
	if err != nil {
		return err
	}
	for _, r := range kept {
		if err := t.setErrorCode(r.ID, r.Error); err != nil {
			return err
		}
	}
	b := billOf(kept)
	if inserted < int64(len(kept)) { // some were stored and counted before
		if b, err = t.billSince(last); err != nil {
			return err
		}
		if err := t.releaseUnstored(kept, sources, last); err != nil {
			return err
		}
	}
	return t.charge(b)
}

// releaseUnstored counts the sources of those records no longer that were not stored after a
// job, since they were there before.
func (t tx) releaseUnstored(records []*job.Record, sources []int64, last int64) error {
	stored, err := t.sourcesSince(last)
	if err != nil {
		return err
	}
	for i, r := range records {
		switch {
		case stored[sources[i]] > 0:
			stored[sources[i]]--
		default:
			if err := t.releaseSource(r.Account, sources[i], 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertRecords stores records with the numbers of their sources, and returns how many were not
// there already.
func (t tx) insertRecords(records []*job.Record, sources []int64) (inserted int64, err error) {
	for len(records) > 0 {
		n := t.conn.Conn.RowsAtOnce(fewBytes(records))
		stored, err := t.insertSome(records[:n], sources[:n])
		if err != nil {
			return inserted, err
		}
		inserted += stored
		records, sources = records[n:], sources[n:]
		if n > 1 {
			runtime.Gosched() // nobody waits for this, and callers wait for a processor
		}
	}
	return inserted, nil
}

// mostRowBytes is how many bytes rows have at most that are inserted at once, where they are several.
const mostRowBytes = 1 << 20

// fewBytes is how many of the first records have no more bytes than are inserted at once.
func fewBytes(records []*job.Record) int {
	return fewOf(records, (*job.Record).Bytes)
}

// fewOf is fewBytes for anything that has bytes.
func fewOf[T any](list []T, size func(T) int64) int {
	var bytes int64
	for i, one := range list {
		if bytes += size(one); bytes > mostRowBytes && i > 0 {
			return i
		}
	}
	return len(list)
}

// ofAccounts returns the records whose accounts are there.
func (t tx) ofAccounts(records []job.Record) ([]*job.Record, error) {
	there := map[account.ID]bool{}
	kept := make([]*job.Record, 0, len(records))
	for i := range records {
		r := &records[i]
		known, asked := there[r.Account]
		if !asked {
			var err error
			if known, err = t.has("SELECT 1 FROM accounts WHERE id = ?", int64(r.Account)); err != nil {
				return nil, err
			}
			there[r.Account] = known
		}
		if known {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// insertSome inserts records by one statement, and returns how many were not there already.
func (t tx) insertSome(records []*job.Record, sources []int64) (int64, error) {
	in, plain := insertAll, arePlain(records)
	if plain {
		in = insertAllPlain
	}
	values := recordValues.Get().(*valuesOf)
	defer func() {
		clear(*values) // they hold results
		*values = (*values)[:0]
		recordValues.Put(values)
	}()
	for i, r := range records {
		values.plain(r, sources[i], t.conn.IDs)
		if !plain {
			values.rest(r)
		}
	}
	return t.conn.Conn.ExecRows(t.ctx, in, *values)
}

// arePlain tells whether records have nothing in the columns of insertRest.
func arePlain(records []*job.Record) bool {
	for _, r := range records {
		c, h := &r.Call, &r.History
		if r.Error != nil || r.Response != nil || r.ProgramName != "" || c.Name != "" || c.Request != nil || c.Origin != 0 || r.Cost.Fetches != 0 || h.Spec != nil || h.Part != nil {
			return false
		}
	}
	return true
}

// recordValues are lists of values that are used again: each has room for manyRows records, some 50 KB, or for as many as an
// engine takes at once.
var recordValues = sync.Pool{New: func() any {
	values := make(valuesOf, 0, manyRows*insertParams)
	return &values
}}

// plain adds the values of a record with the number of its source, as insertPlain has them.
func (v *valuesOf) plain(r *job.Record, source int64, places *IDs) {
	v.blob(places.place(r.ID))
	v.int(int64(r.Account))
	v.text(string(r.State))
	v.text(string(r.Mode))
	v.text(string(r.Convention))
	v.text(string(r.Credential))
	v.int(r.Created.UnixMicro())
	v.time(r.Finished)
	v.int(r.Steps)
	v.int(r.TraceDropped)
	v.optionalBlob(r.Trace)
	v.blob(r.Result)
	v.text(string(r.Encoding))
	v.int(r.Ran.Microseconds())
	v.int(checksum(r.Result))
	v.optionalInt(int64(r.KeyID))
	v.optionalInt(source)
	v.optionalInt(r.Cost.Fuel)
	v.optionalInt(r.Cost.Memory)
}

// rest adds what a record may have besides, as insertRest has it.
func (v *valuesOf) rest(r *job.Record) {
	v.optionalBlob(r.Error)
	v.optionalBlob(r.Response)
	v.optionalText(r.ProgramName)
	v.optionalText(r.Call.Name)
	v.optionalBlob(r.Call.Request)
	v.optionalInt(r.Call.Origin)
	v.optionalInt(r.Cost.Fetches)
	v.optionalBlob(r.History.Spec)
	v.optionalBlob(r.History.Part)
}

// ByID implements job.Store.
func (s Jobs) ByID(ctx context.Context, id job.ID) (record job.Record, err error) {
	err = s.store.read(ctx, func(t tx) error {
		var damage error
		found, err := t.one("SELECT "+summaryColumns+", "+recordColumns+" FROM jobs WHERE id = ?", func(r row) { record, damage = readRecord(r) }, t.conn.IDs.place(id))
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return cmp.Or(err, damage)
	})
	return record, err
}

// Summary implements job.Store.
func (s Jobs) Summary(ctx context.Context, id job.ID) (summary job.Summary, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT "+summaryColumns+" FROM jobs WHERE id = ?", func(r row) { summary = readSummary(r) }, t.conn.IDs.place(id))
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	return summary, err
}

// List implements job.Store.
func (s Jobs) List(ctx context.Context, a account.ID, q job.Query) (list []job.Listed, err error) {
	err = s.store.read(ctx, func(t tx) error {
		before := int64(1<<63 - 1)
		if q.Before != (job.ID{}) {
			before = 0
			if _, err := t.one("SELECT seq FROM jobs WHERE id = ? AND account = ?", func(r row) { before = r.int(0) }, t.conn.IDs.place(q.Before), int64(a)); err != nil {
				return err
			}
		}
		if len(q.Programs) == 0 {
			list, err = t.list(a, q, "", before)
			return err
		}
		// Those of each program stand together, in their order.
		for _, name := range q.Programs {
			some, err := t.list(a, q, name, before)
			if err != nil {
				return err
			}
			list = append(list, some...)
			slices.SortFunc(list, func(a, b job.Listed) int { return cmp.Compare(b.Ref, a.Ref) })
			list = list[:min(len(list), max(q.Limit, 0))]
		}
		return nil
	})
	return list, err
}

// list returns an account's jobs before a number, those stored last first: of a program, or, for "",
// of all. Which of them are meant is found by an index that has few others, or all that is asked
// for: an account may have very many, and their rows are large.
func (t tx) list(a account.ID, q job.Query, program string, before int64) (list []job.Listed, err error) {
	where, args := " WHERE account = ?1 AND seq < ?2", []any{int64(a), before}
	and := func(condition string, value any) {
		args = append(args, value)
		where += " AND " + condition + " ?" + strconv.Itoa(len(args))
	}
	if q.KeyID != 0 {
		and("key_id =", int64(q.KeyID))
	}
	if program != "" {
		and("program_name =", program)
	}
	if q.Schedule != "" {
		and("schedule IS NOT NULL AND schedule =", q.Schedule)
	}
	if q.State != "" {
		and("state =", string(q.State))
	}
	if q.Credential != "" {
		and("credential =", string(q.Credential))
	}
	if q.ErrorCode != "" {
		and("error IS NOT NULL AND error_code =", q.ErrorCode)
	}
	if q.Convention != "" {
		and("convention =", string(q.Convention))
	}
	if !q.Since.IsZero() {
		and("created >=", q.Since)
	}
	if !q.Until.IsZero() {
		and("created <", q.Until)
	}
	if q.Text != "" {
		and("0 < instr(lower(name), lower(", q.Text)
		where += "))"
	}
	args = append(args, max(q.Limit, 0))
	end := " ORDER BY seq DESC LIMIT ?" + strconv.Itoa(len(args))
	sql := "SELECT " + listedColumns + " FROM jobs WHERE seq IN (" + chosen(&q, program, where, end) + ") ORDER BY seq DESC"
	err = t.each(sql, func(r row) { list = append(list, readListed(r)) }, args...)
	return list, err
}

// chosen selects the numbers of the jobs that a listing shows.
func chosen(q *job.Query, program, where, end string) string {
	by := func(index string) string { return "SELECT seq FROM jobs INDEXED BY " + index + where }
	switch {
	case q.Schedule != "":
		return by("jobs_schedule") + end
	case program != "":
		return by("jobs_program") + end
	case q.KeyID != 0:
		return by("jobs_key") + end
	case q.ErrorCode != "":
		return by("jobs_error") + end
	case q.State == "" || q.State == job.Complete:
		return by("jobs_account") + end
	case q.State.Finished():
		return by("jobs_ended") + " AND finished IS NOT NULL AND state <> 'complete'" + end
	}
	// Those that some attempt has are found by it: there are few on a node.
	return "SELECT seq FROM (" + by("jobs_due_account") + " AND program IS NOT NULL AND member IS NULL UNION ALL " +
		by("jobs_member") + " AND member IS NOT NULL) AS few" + end
}

// After implements job.Changes.
func (s Jobs) After(ctx context.Context, a account.ID, ref int64, limit int) (list []job.Listed, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+listedColumns+" FROM jobs WHERE account = ? AND seq > ? ORDER BY seq LIMIT ?", func(r row) { list = append(list, readListed(r)) },
			int64(a), ref, max(limit, 0))
	})
	return list, err
}

// LastRef implements job.Changes.
func (s Jobs) LastRef(ctx context.Context, a account.ID) (ref int64, err error) {
	err = s.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT coalesce(max(seq), 0) FROM jobs WHERE account = ?", func(r row) { ref = r.int(0) }, int64(a))
		return err
	})
	return ref, err
}

// Unfinished implements job.Changes.
func (s Jobs) Unfinished(ctx context.Context, a account.ID, limit int) (map[int64]job.Mark, error) {
	found := map[int64]job.Mark{}
	err := s.store.read(ctx, func(t tx) error {
		return t.each(`SELECT seq, state, attempt FROM jobs INDEXED BY jobs_due_account WHERE account = ?1 AND program IS NOT NULL AND member IS NULL
			UNION ALL SELECT seq, state, attempt FROM jobs INDEXED BY jobs_member WHERE account = ?1 AND member IS NOT NULL LIMIT ?2`,
			func(r row) { found[r.int(0)] = job.Mark{State: job.State(r.text(1)), Attempt: r.int(2)} }, int64(a), max(limit, 0))
	})
	return found, err
}
