package worker

import (
	"context"
	"math"
	"slices"

	"ql/internal/job"
	"ql/internal/wire"
)

// View returns a job with all there is to show. What one that runs elsewhere
// has done so far is not seen.
func (w *Worker) View(ctx context.Context, id job.ID) (*job.View, error) {
	return w.ViewWithin(ctx, id, math.MaxInt64)
}

// ViewWithin is View of a job whose bytes are at most so many: of one that holds more it
// leaves them out, and says how many they are. With 0 it takes little.
func (w *Worker) ViewWithin(ctx context.Context, id job.ID, most int64) (*job.View, error) {
	w.mu.Lock()
	l := w.live[id]
	w.mu.Unlock()
	var so job.Progress
	if l != nil {
		so = l.progress(ctx, most > 0)
	}
	if so.Trace == nil {
		return w.viewStored(ctx, id, most)
	}
	v, err := w.o.Queue.ViewWithin(ctx, id, 0)
	if err != nil || v.State != job.Running || v.Output > int64(len(so.Output)) {
		return w.viewStored(ctx, id, most)
	}
	v.Steps, v.TraceDropped = so.Steps, so.TraceDropped
	v.Output, v.TraceBytes = int64(len(so.Output)), int64(len(so.Trace))
	v.Bytes = v.Output + v.TraceBytes + int64(len(so.Response))
	if v.Omitted = v.Bytes > most; !v.Omitted {
		v.Result, v.Encoding, v.Trace, v.Response = so.Output, so.Encoding(), so.Trace, so.Response
	}
	return v, nil
}

// viewStored looks at what is stored.
func (w *Worker) viewStored(ctx context.Context, id job.ID, most int64) (*job.View, error) {
	v, err := w.o.Queue.ViewWithin(ctx, id, most)
	if err != nil || v.State != job.Running || v.Omitted {
		return v, err
	}
	v.Trace, err = soFar(v.Trace)
	return v, err
}

// soFar leaves out of a stored trace where the job stood then.
func soFar(trace []byte) ([]byte, error) {
	if len(trace) == 0 {
		return trace, nil
	}
	steps, err := wire.ReadTrace(trace)
	if err != nil {
		return nil, err
	}
	steps = slices.DeleteFunc(steps, func(s wire.Step) bool { return !s.HasEnded() })
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
	w.countWatchers(id)
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.topics[id], c)
		if len(w.topics[id]) == 0 {
			delete(w.topics, id)
		}
		w.countWatchers(id)
	}
}

// countWatchers tells a job under way how many watch it. Called under mu.
func (w *Worker) countWatchers(id job.ID) {
	if l := w.live[id]; l != nil {
		l.watched.Store(int32(len(w.topics[id])))
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
