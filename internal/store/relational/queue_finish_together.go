package relational

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"ql/internal/fault"
	"ql/internal/job"
)

// Ends of jobs that come at the same time can be stored by the same statements, as those of jobs that are accepted are.

// finishing is the end of a job that is being stored, and what became of it.
type finishing struct {
	ctx   context.Context
	lease job.Lease
	end   *job.End
	err   error
}

// finishesAlike tells whether nothing else is to be changed with the end of a job than what all ends change.
func (s *Store) finishesAlike(e *job.End) bool {
	return s.together != nil && !e.Leftovers && len(e.Calls) == 0 && e.Convention != job.Script && e.State != job.Cancelled && e.Delivery == ""
}

// finishShared stores the end of a job with others that come, where it may, and reports whether it is decided.
func (q Queue) finishShared(ctx context.Context, l job.Lease, e *job.End) (decided bool, err error) {
	if !q.store.finishesAlike(e) {
		return false, nil
	}
	one := &finishing{ctx: ctx, lease: l, end: e}
	if err := q.store.together.finished.Do(ctx, one); err != nil {
		return true, err
	}
	return !errors.Is(one.err, errApart), one.err
}

// finishTogether stores ends in one change. It goes by nothing but what it locks: whether the attempts still have their jobs.
// Its error is that of all, unless they are to be stored apart.
func (s *Store) finishTogether(list []*finishing) {
	contexts := make([]context.Context, len(list))
	for i, one := range list {
		contexts[i] = one.ctx
	}
	ctx, cancel := ofAll(contexts)
	defer cancel()
	err := s.engine.WriteLocking(ctx, func(t tx) error { return t.finishTogether(list) })
	if err != nil && !fault.Is(err, fault.StorageUnavailable) && !fault.Is(err, fault.OutcomeUnknown) {
		err = errApart // one may be refused for what it is while the others are not
	}
	for _, one := range list {
		one.err = cmp.Or(err, one.err)
	}
}

// finishTogether leaves errApart in those whose jobs are not as most are: the attempt may have lost one, or a schedule or
// others with the same concurrency key may be told of its end.
func (t tx) finishTogether(list []*finishing) error {
	slices.SortFunc(list, func(a, b *finishing) int { return cmp.Compare(a.lease.Seq, b.lease.Seq) })
	b := bill{}
	ended := make([]int64, 0, len(list))
	conn := t.conn.Conn.(RowsConn)
	for at := 0; at < len(list); {
		n := conn.RowsAtOnce(fewOf(list[at:], func(f *finishing) int64 { return f.end.Bytes() }))
		values, of := make(valuesOf, 0, n*finishColumns), make(map[int64]*finishing, n)
		for _, one := range list[at : at+n] {
			one.err = errApart
			if of[one.lease.Seq] != nil { // of two attempts: one has lost it
				return errApart
			}
			of[one.lease.Seq] = one
			values.finished(one.lease, one.end)
		}
		if err := conn.QueryRows(t.ctx, finishRows, values, finishColumns, func(s Row) bool {
			r := row{s, t.conn.IDs}
			one := of[r.int(0)]
			one.err = nil
			ended = append(ended, one.lease.Seq)
			e := one.end
			b.add(one.lease.Account, e.Finished, e.Ran, e.Bytes()-e.Call.Bytes()+r.int(1))
			return true
		}); err != nil {
			return err
		}
		at += n
	}
	for key, c := range b {
		c.Calls = 0 // they were counted when they were accepted
		b[key] = c
	}
	for _, one := range list {
		if one.err == nil {
			if err := t.setErrorCode(one.lease.ID, one.end.Error); err != nil {
				return err
			}
		}
	}
	if err := t.endSignalsOf(ended); err != nil {
		return err
	}
	return t.charge(b)
}

// endSignalsOf is endSignals for several jobs, most of which have none.
func (t tx) endSignalsOf(jobs []int64) error {
	for some := range slices.Chunk(jobs, mostListed) {
		in, args := listed(nil, some)
		var signalled []int64
		if err := t.each("SELECT DISTINCT job FROM job_signals WHERE job IN "+in, func(r row) { signalled = append(signalled, r.int(0)) }, args...); err != nil {
			return err
		}
		for _, seq := range signalled {
			if err := t.endSignals(seq); err != nil {
				return err
			}
		}
	}
	return nil
}

// finished adds the end of a job, as finishRows has it.
func (v *valuesOf) finished(l job.Lease, e *job.End) {
	v.int(l.Seq)
	v.int(l.Attempt)
	v.text(string(e.State))
	v.time(e.Finished)
	v.int(e.Steps)
	v.int(e.TraceDropped)
	v.optionalBlob(e.Error)
	v.optionalBlob(e.Response)
	v.optionalBlob(e.Trace)
	v.blob(e.Result)
	v.text(string(e.Encoding))
	v.int(checksum(e.Result))
	v.int(e.Ran.Microseconds())
	v.int(e.Cost.Fuel)
	v.int(e.Cost.Memory)
	v.int(e.Cost.Fetches)
	v.optionalBlob(e.History.Part)
}

const finishColumns = 17

// finishRows stores ends. What it says twice of the numbers has the planner expect few of them, and look each up by its key: one
// that knows nothing of the table yet, or knew it when it was small, would look through all of it. The rows are arrays: from a
// list of values the server makes each value anew for each job.
const finishRows = `UPDATE jobs SET state = new_state, finished = new_finished, steps = new_steps, trace_dropped = new_dropped, error = new_error, response = new_response, trace = new_trace,
		result = new_result, encoding = new_encoding, checksum = new_checksum, ran = new_ran, fuel = new_fuel, memory = new_memory, fetches = new_fetches, history = new_history,
		due = NULL, member = NULL, program = NULL, task = CASE WHEN new_history IS NOT NULL THEN task END, held = NULL
	FROM unnest(CAST(?1 AS BIGINT[]), CAST(?2 AS BIGINT[]), CAST(?3 AS TEXT[]), CAST(?4 AS BIGINT[]), CAST(?5 AS BIGINT[]), CAST(?6 AS BIGINT[]), CAST(?7 AS BYTEA[]), CAST(?8 AS BYTEA[]), CAST(?9 AS BYTEA[]),
		CAST(?10 AS BYTEA[]), CAST(?11 AS TEXT[]), CAST(?12 AS BIGINT[]), CAST(?13 AS BIGINT[]), CAST(?14 AS BIGINT[]), CAST(?15 AS BIGINT[]), CAST(?16 AS BIGINT[]), CAST(?17 AS BYTEA[]))
		AS ends (of_seq, of_attempt, new_state, new_finished, new_steps, new_dropped, new_error, new_response, new_trace,
		new_result, new_encoding, new_checksum, new_ran, new_fuel, new_memory, new_fetches, new_history)
	WHERE of_seq = of_seq + 0 AND seq = of_seq AND attempt = of_attempt AND state = 'running' AND schedule IS NULL AND concurrency_key IS NULL
	RETURNING seq, coalesce(length(request), 0) + question_bytes + coalesce(length(task), 0) + history_bytes`
