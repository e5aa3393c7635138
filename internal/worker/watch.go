package worker

import (
	"context"
	"slices"

	"ql/internal/job"
	"ql/internal/wire"
)

// View returns a job with all there is to show. What one that runs elsewhere
// has done so far is not seen.
func (w *Worker) View(ctx context.Context, id job.ID) (*job.View, error) {
	w.mu.Lock()
	l := w.lives[id]
	w.mu.Unlock()
	var so job.Progress
	if l != nil {
		so = l.look(ctx)
	}
	v, err := w.o.Queue.View(ctx, id)
	if err != nil || v.State != job.Running {
		return v, err
	}
	if so.Trace != nil && len(v.Result) <= len(so.Output) {
		v.Result, v.Encoding = so.Output, job.EncodingOf(so.Output)
		v.Trace, v.TraceDropped, v.Response, v.Steps = so.Trace, so.TraceDropped, so.Response, so.Steps
		return v, nil
	}
	v.Trace, err = soFar(v.Trace)
	return v, err
}

// soFar leaves out of a stored trace where the job stood then.
func soFar(trace []byte) ([]byte, error) {
	steps, err := wire.ReadTrace(trace)
	if err != nil || trace == nil {
		return nil, err
	}
	steps = slices.DeleteFunc(steps, func(s wire.Step) bool { return !s.IsOver() })
	return wire.AppendTrace(nil, steps), nil
}

// Watch returns a channel that gets a value when a job here may have changed,
// and the function that ends it.
func (w *Worker) Watch(id job.ID) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topics[id] == nil {
		w.topics[id] = map[chan struct{}]bool{}
	}
	w.topics[id][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.topics[id], c)
		if len(w.topics[id]) == 0 {
			delete(w.topics, id)
		}
	}
}

// notify tells those who watch a job.
func (w *Worker) notify(id job.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.topics[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
