package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"ql/internal/admit"
	"ql/internal/job"
)

// look returns a job without the bytes that it holds.
func (s *Service) look(ctx context.Context, id job.ID) (*job.View, error) {
	if r, ok := s.o.Records.Pending(id); ok {
		return &job.View{Record: job.Record{Summary: r.Summary}, Bytes: recordBytes(&r), Output: int64(len(r.Result)), Traced: int64(len(r.Trace)), Left: true}, nil
	}
	return s.o.Jobs.Look(ctx, id, 0)
}

// view returns a job with all there is to show: a call that was just recorded, or one
// from the store. What it holds is counted until the call is answered.
func (s *Service) view(ctx context.Context, h *Held, id job.ID) (*job.View, error) {
	if r, ok := s.o.Records.Pending(id); ok {
		if bytes := recordBytes(&r); bytes > Uncounted {
			if err := h.Grow(ctx, bytes); err != nil {
				return nil, err
			}
		}
		return &job.View{Record: r}, nil
	}
	v, err := s.o.Jobs.Look(ctx, id, Uncounted)
	switch {
	case err != nil || !v.Left:
		return v, err
	case v.State.Finished(): // which it stays, to the byte
		return s.views.take(ctx, s, h, v)
	}
	return s.load(ctx, h, v)
}

// load reads a job that holds much, and may hold a little more by then. While the
// store reads, it holds the same again.
func (s *Service) load(ctx context.Context, r interface {
	Grow(ctx context.Context, bytes int64) error
	Shrink(bytes int64)
}, v *job.View) (_ *job.View, err error) {
	const twice = 2
	had := int64(0)
	for v.Left {
		most := v.Bytes
		if !v.State.Finished() {
			most += v.Bytes/8 + Uncounted
		}
		if err := r.Grow(ctx, twice*(most-had)); err != nil {
			r.Shrink(twice * had)
			return nil, err
		}
		had = most
		if v, err = s.o.Jobs.Look(ctx, v.ID, had); err != nil {
			r.Shrink(twice * had)
			return nil, err
		}
	}
	r.Shrink(twice*had - v.Bytes)
	return v, nil
}

// views are the finished jobs that are being shown and hold much: all who look at one
// at the same time share it.
type views struct {
	mu sync.Mutex
	of map[job.ID]*shared
}

type shared struct {
	users  int
	memory admit.Reservation
	loaded chan struct{} // closed when the rest is there
	view   *job.View
	err    error
}

// loadTime is how long reading a job may take, whoever of those that wait for it hangs
// up.
const loadTime = 10 * time.Second

// take returns a job, charged to its account, until the call is answered.
func (vs *views) take(ctx context.Context, s *Service, h *Held, v *job.View) (*job.View, error) {
	vs.mu.Lock()
	one, found := vs.of[v.ID]
	if !found {
		one = &shared{memory: s.o.Ledger.Open(admit.AccountHolder(int64(v.Account))), loaded: make(chan struct{})}
		if vs.of == nil {
			vs.of = map[job.ID]*shared{}
		}
		vs.of[v.ID] = one
	}
	one.users++
	vs.mu.Unlock()
	h.Until(func() { vs.leave(v.ID, one) })
	if found {
		select {
		case <-one.loaded:
			return one.view, one.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	one.err = errors.New("reading a job came to no end") // should it panic
	defer func() {
		if one.err != nil { // who comes next tries again
			vs.forget(v.ID, one)
		}
		close(one.loaded)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTime)
	defer cancel()
	one.view, one.err = s.load(ctx, &one.memory, v)
	return one.view, one.err
}

func (vs *views) forget(id job.ID, one *shared) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.of[id] == one {
		delete(vs.of, id)
	}
}

// leave lets go of a job; the last lets go of its memory.
func (vs *views) leave(id job.ID, one *shared) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if one.users--; one.users > 0 {
		return
	}
	if vs.of[id] == one {
		delete(vs.of, id)
	}
	one.memory.Release()
}
