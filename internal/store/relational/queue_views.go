package relational

import (
	"cmp"
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// Cancel implements job.Views.
func (q Queue) Cancel(ctx context.Context, id job.ID, now time.Time, failure []byte, delivery string) (state job.State, did bool, err error) {
	err = q.store.write(ctx, func(t tx) error {
		did = false
		var l job.Lease
		var webhook string
		var ran time.Duration
		var begun bool
		found, err := t.one("SELECT seq, account, state, "+finishedWebhook+", ran, begun = 1 AND member IN (SELECT incarnation FROM members) FROM jobs WHERE id = ?", func(r row) {
			l = job.Lease{Seq: r.int(0), ID: id, Account: account.ID(r.int(1))}
			state, webhook, ran = job.State(r.text(2)), r.text(3), time.Duration(r.int(4))*time.Microsecond
			begun = r.bool(5)
		}, t.conn.IDs.place(id))
		switch {
		case err != nil:
			return err
		case !found:
			return job.ErrNotFound
		case state.Finished():
			return nil
		case state == job.Running && begun:
			if _, err := t.exec("UPDATE jobs SET stopping = 1 WHERE seq = ?", l.Seq); err != nil {
				return err
			}
			return t.stopChildren(l, now)
		}
		state, did = job.Cancelled, true
		return t.finishAsStored(l, job.Cancelled, now, ran, failure, webhook, delivery, true)
	})
	return state, did, err
}

// progress is what a job had to show at its last snapshot, beside its output; before it, the
// trace is that of its start.
type progress struct {
	traceDropped    int64
	response, trace []byte
	json            bool // the output is one value
}

func (t tx) progress(seq int64) (so progress, err error) {
	_, err = t.one("SELECT coalesce(s.trace_dropped, 0), s.response, coalesce(s.trace, jobs.trace), jobs.encoding FROM jobs LEFT JOIN job_snapshots s ON s.job = seq WHERE seq = ?", func(r row) {
		so = progress{r.int(0), r.bytes(1), r.bytes(2), job.Encoding(r.text(3)) == job.JSONText}
	}, seq)
	return so, err
}

// View implements job.Views.
func (q Queue) View(ctx context.Context, id job.ID) (v *job.View, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			v, err = t.view(id)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// ViewWithin implements job.Views.
func (q Queue) ViewWithin(ctx context.Context, id job.ID, most int64) (v *job.View, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			v, err = t.viewWithin(id, most)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// viewWithin reads how much there is before it reads that.
func (t tx) viewWithin(id job.ID, most int64) (*job.View, error) {
	v := &job.View{Omitted: true}
	found, err := t.one("SELECT "+summaryColumns+`, seq, due, webhook, stopping, coalesce(length(result), 0), coalesce(length(trace), 0),
		coalesce(length(error), 0) + coalesce(length(response), 0), CASE WHEN length(error) <= 16384 THEN error END, webhook_trace FROM jobs WHERE id = ?`, func(r row) {
		v.Summary = readSummary(r)
		v.Seq, v.Webhook, v.Stopping = r.int(11), r.text(13), r.bool(14)
		if v.State == job.Waiting {
			v.Until = r.time(12)
		}
		v.Output, v.TraceBytes = r.int(15), r.int(16)
		v.Bytes = v.Output + v.TraceBytes + r.int(17)
		v.Error = r.bytes(18)
		v.WebhookTrace = r.bool(19)
	}, t.conn.IDs.place(id))
	if err == nil && !found {
		err = job.ErrNotFound
	}
	if err == nil && !v.State.Finished() && v.State != job.Accepted {
		err = t.sizeUnfinished(v)
	}
	if err != nil || v.Bytes > most {
		return v, err
	}
	whole, err := t.view(id)
	if err == nil {
		whole.Bytes, whole.Output, whole.TraceBytes = v.Bytes, v.Output, v.TraceBytes
	}
	return whole, err
}

// sizeUnfinished adds what a job holds that is not finished.
func (t tx) sizeUnfinished(v *job.View) error {
	_, err := t.one("SELECT coalesce(length(trace), 0), coalesce(length(response), 0), trace_dropped FROM job_snapshots WHERE job = ?", func(r row) {
		v.TraceBytes = r.int(0)
		v.Bytes = r.int(0) + r.int(1)
		v.TraceDropped = r.int(2)
	}, v.Seq)
	if err != nil {
		return err
	}
	// A piece may begin within the one before it, and takes its place from there on.
	_, err = t.one("SELECT start + length(output) FROM job_output WHERE job = ? ORDER BY start DESC LIMIT 1", func(r row) {
		v.Output = r.int(0)
		v.Bytes += v.Output
	}, v.Seq)
	if err != nil || v.State != job.Paused {
		return err
	}
	words := int64(0)
	_, err = t.one("SELECT id, octet_length(message) + coalesce(length(schema), 0) + coalesce(length(follows), 0) FROM job_prompts WHERE job = ?", func(r row) {
		v.Prompt = &job.Prompt{ID: r.text(0)}
		words = r.int(1)
	}, v.Seq)
	if err != nil || v.Prompt == nil {
		return err
	}
	v.Bytes += 2 * words // which are copied when they are shown
	if words <= job.AlwaysShownBytes {
		v.Prompt, err = t.prompt(v.Seq)
	}
	return err
}

func (t tx) view(id job.ID) (*job.View, error) {
	v := &job.View{}
	var damage error
	found, err := t.one("SELECT "+summaryColumns+", "+recordColumns+", seq, due, webhook, stopping, webhook_trace FROM jobs WHERE id = ?", func(r row) {
		v.Record, damage = readRecord(r)
		v.Seq, v.Webhook, v.Stopping, v.WebhookTrace = r.int(19), r.text(21), r.bool(22), r.bool(23)
		if v.State == job.Waiting {
			v.Until = r.time(20)
		}
	}, t.conn.IDs.place(id))
	if err == nil && !found {
		err = job.ErrNotFound
	}
	err = cmp.Or(err, damage)
	if err != nil || v.State.Finished() || v.State == job.Accepted {
		return v, err
	}
	so, err := t.progress(v.Seq)
	if err != nil {
		return nil, err
	}
	v.TraceDropped, v.Response, v.Trace = so.traceDropped, so.response, so.trace
	if v.Result, err = t.output(v.Seq); err != nil {
		return nil, err
	}
	v.Encoding = (&job.Progress{Output: v.Result, JSON: so.json}).Encoding()
	v.Prompt, err = t.prompt(v.Seq)
	return v, err
}
