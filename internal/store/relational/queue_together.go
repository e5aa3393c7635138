package relational

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/batch"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/member"
)

// Jobs that are accepted at the same time can be stored by the same statements. Where the server is another process,
// each statement is a way there and back, which costs more than what it does.

// maxTogether is how many jobs are stored by the same statements.
const maxTogether = 128

// errApart says that jobs are to be stored each by itself, since one of them is not as most are.
var errApart = errors.New("the jobs are stored each by itself")

// Beside makes counts, each by a statement that is a transaction of its own, where several members share the store.
// Count runs f, maybe more than once; what it counts may be lost with the server, but not without what is committed later.
type Beside interface {
	Shared() bool
	Count(ctx context.Context, f func(Tx) error) error
}

// together has the jobs that are being accepted.
type together struct {
	beside   Beside
	ended    *batch.Group[*acceptance]
	accepted *batch.Group[*acceptance]
	finished *batch.Group[*finishing]
}

// acceptance is a job that is being accepted, and what became of it.
type acceptance struct {
	ctx         context.Context
	task        *job.Task
	end         *job.End // of one that is over
	incarnation int64
	lease       job.Lease
	err         error
}

// AcceptTogether has jobs that are accepted, or end, at the same time share statements.
func (s *Store) AcceptTogether(b Beside) {
	s.together = &together{
		beside:   b,
		ended:    batch.NewGathering(maxTogether, func(list []*acceptance) { s.acceptTogether(list, tx.insertEndedTogether) }),
		accepted: batch.NewGathering(maxTogether, func(list []*acceptance) { s.acceptTogether(list, tx.insertTogether) }),
		finished: batch.New(maxTogether, s.finishTogether),
	}
}

// mayShare tells whether nothing else is to be stored, or looked at, with a job than what all jobs have.
func (s *Store) mayShare(ctx context.Context, t *job.Task) bool {
	return s.together != nil && t.Key == nil && t.Called == nil && t.Code == nil && t.Concurrency.Key == "" && job.CheckpointOf(ctx) == nil
}

// acceptTogether stores jobs in one change, also one alone: those that come meanwhile are the next. Its error is that of
// all, unless they are to be stored apart.
func (s *Store) acceptTogether(list []*acceptance, insert func(tx, []*acceptance, countedSources) error) {
	contexts := make([]context.Context, len(list))
	for i, one := range list {
		contexts[i] = one.ctx
	}
	ctx, cancel := ofAll(contexts)
	defer cancel()
	counted, err := s.countSources(ctx, list)
	if err == nil {
		err = s.write(ctx, func(t tx) error { return insert(t, list, counted) })
	}
	unknown := fault.Is(err, fault.OutcomeUnknown)
	if err != nil && !unknown && len(counted) > 0 {
		// Where it fails the text of a script is kept for longer than any job has it.
		_ = s.write(ctx, func(t tx) error { return t.uncountSources(counted) })
	}
	if err != nil && !unknown && !fault.Is(err, fault.StorageUnavailable) {
		err = errApart // one may be refused for what it is while the others are not
	}
	for _, one := range list {
		one.err = err
	}
}

// countSources counts the sources of jobs before they are stored, where other members may count them too.
func (s *Store) countSources(ctx context.Context, list []*acceptance) (counted countedSources, err error) {
	if !s.together.beside.Shared() {
		return nil, nil
	}
	records := make([]*job.Record, len(list))
	for i, one := range list {
		records[i] = one.record()
	}
	counted = countedSources{}
	return counted, s.together.beside.Count(ctx, func(t Tx) error { return t.countSources(records, counted) })
}

// record is what is to be stored of the job.
func (a *acceptance) record() *job.Record {
	if a.end != nil {
		return &a.end.Record
	}
	return &job.Record{Summary: a.task.Summary, Call: a.task.Call}
}

// ofAll returns a context for all: the end of one caller's undoes nobody else's job. It ends where the last of those does,
// so that it is known that somebody waits.
func ofAll(list []context.Context) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(list[0])
	last, waits := list[0].Deadline()
	if !waits {
		return ctx, func() {}
	}
	for _, one := range list[1:] {
		if at, ok := one.Deadline(); ok && at.After(last) {
			last = at
		}
	}
	return context.WithDeadline(ctx, last)
}

// insertEndedTogether stores jobs that are over, and counts them.
func (t tx) insertEndedTogether(list []*acceptance, counted countedSources) error {
	records := make([]*job.Record, len(list))
	for i, one := range list {
		records[i] = one.record()
	}
	sources, err := t.keepSources(records, counted)
	if err != nil {
		return err
	}
	for at := 0; at < len(list); {
		n := t.conn.Conn.RowsAtOnce(fewBytes(records[at:]))
		values := make(valuesOf, 0, n*insertEnded.width)
		for i := at; i < at+n; i++ {
			values.ended(records[i], list[i].task, sources[i], t.conn.IDs)
		}
		stored, err := t.conn.Conn.ExecRows(t.ctx, insertEnded, values)
		if err != nil {
			return err
		}
		if stored < int64(n) { // one was stored before
			return errApart
		}
		at += n
	}
	for _, r := range records {
		if err := t.setErrorCode(r.ID, r.Error); err != nil {
			return err
		}
	}
	return t.charge(billOf(records))
}

// insertTogether stores jobs that are to run, and counts them.
func (t tx) insertTogether(list []*acceptance, counted countedSources) error {
	programs := map[[32]byte]bool{}
	records := make([]*job.Record, len(list))
	b := bill{}
	for i, one := range list {
		if !programs[one.task.Program] {
			programs[one.task.Program] = true
			if _, err := t.storeProgram(one.task); err != nil {
				return err
			}
		}
		records[i] = one.record()
		key := billed{one.task.Account, usage.DayOf(one.task.Created)}
		c := b[key]
		c.Calls++
		b[key] = c
	}
	if err := t.checkElsewhereTogether(list); err != nil {
		return err
	}
	sources, err := t.keepSources(records, counted)
	if err != nil {
		return err
	}
	conn := t.conn.Conn.(RowsConn)
	for at := 0; at < len(list); {
		n := conn.RowsAtOnce(fewOf(list[at:], func(a *acceptance) int64 { return int64(len(a.task.Spec) + len(a.task.Call.Request)) }))
		var args []any
		values, of := make(valuesOf, 0, n*taskParams), make(map[job.ID]*acceptance, n)
		for i := at; i < at+n; i++ {
			one := list[i]
			args = t.appendTask(args[:0], one.task, one.task.Created, 0, one.incarnation, sources[i], false)
			values.add(args)
			of[one.task.ID] = one
		}
		stored := 0
		if err := conn.QueryRows(t.ctx, insertTaskRows, values, taskParams, func(s Row) bool {
			r := row{s, t.conn.IDs}
			if one := of[r.id(1)]; one != nil {
				one.lease = job.Lease{Seq: r.int(0), ID: one.task.ID, Account: one.task.Account}
				stored++
			}
			return true
		}); err != nil {
			return err
		}
		if stored < n {
			return errApart
		}
		at += n
	}
	return t.charge(b)
}

// checkElsewhereTogether is checkElsewhere for jobs that are stored together: where one of them is not certain to fit, each is
// looked at by itself.
func (t tx) checkElsewhereTogether(list []*acceptance) error {
	latest := list[0].task.Created
	for _, one := range list[1:] {
		if one.task.Created.After(latest) {
			latest = one.task.Created
		}
	}
	type want struct{ jobs, most int }
	wanted := map[account.ID]want{}
	for _, one := range list {
		if task := one.task; task.Elsewhere && task.MostBlocked > 0 {
			w, known := wanted[task.Account]
			if !known {
				w.most = task.MostBlocked
			}
			wanted[task.Account] = want{w.jobs + 1, min(w.most, task.MostBlocked)}
		}
	}
	for _, one := range list {
		w, waits := wanted[one.task.Account]
		if !waits {
			continue
		}
		delete(wanted, one.task.Account)
		if t.conn.Elsewhere.fits(one.task.Account, w.jobs, w.most) {
			continue
		}
		n, err := t.countElsewhere(one.task.Account, latest, w.most)
		if err != nil {
			return err
		}
		if n+w.jobs > w.most {
			return errApart
		}
		t.conn.Elsewhere.set(one.task.Account, n+w.jobs)
	}
	return nil
}

// insertTaskRows is insertTaskInto and insertTaskRow for rows that are arrays.
var insertTaskRows = func() string {
	types := strings.Fields("BYTEA BIGINT TEXT TEXT TEXT TEXT BIGINT BYTEA BYTEA BIGINT BIGINT BIGINT BIGINT BYTEA BIGINT BIGINT BYTEA BYTEA BIGINT TEXT TEXT BIGINT BYTEA BIGINT TEXT TEXT BIGINT BIGINT BIGINT")
	var row strings.Builder
	arrays, names := make([]string, len(types)), make([]string, len(types))
	for _, part := range strings.SplitAfter(strings.Trim(insertTaskRow, "()"), "?") {
		before, isParam := strings.CutSuffix(part, "?")
		row.WriteString(before)
		if isParam {
			i := slices.Index(names, "")
			arrays[i], names[i] = fmt.Sprintf("CAST(?%d AS %s[])", i+1, types[i]), fmt.Sprintf("c%d", i+1)
			row.WriteString(names[i])
		}
	}
	return strings.TrimSuffix(insertTaskInto, "VALUES ") + "SELECT " + row.String() + " FROM unnest(" + strings.Join(arrays, ", ") + ") AS tasks (" + strings.Join(names, ", ") + ") RETURNING seq, id"
}()

// acceptEndedShared stores a job that is over with others that come; errApart where it is to be stored alone.
func (q Queue) acceptEndedShared(ctx context.Context, task *job.Task, e *job.End) error {
	one := &acceptance{ctx: ctx, task: task, end: e}
	if err := q.store.together.ended.Do(ctx, one); err != nil {
		return err
	}
	return one.err
}

// acceptShared is acceptEndedShared for a job that is to run.
func (q Queue) acceptShared(ctx context.Context, task *job.Task, m member.Member) (job.Lease, error) {
	one := &acceptance{ctx: ctx, task: task, incarnation: m.Incarnation}
	if err := q.store.together.accepted.Do(ctx, one); err != nil {
		return job.Lease{}, err
	}
	return one.lease, one.err
}
