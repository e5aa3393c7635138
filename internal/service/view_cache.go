package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"ql/internal/admit"
	"ql/internal/job"
)

// jobHead returns a job without the bytes that it holds.
func (s *Service) jobHead(ctx context.Context, id job.ID) (*job.View, error) {
	if r, ok := s.o.Records.Pending(id); ok {
		return &job.View{Record: job.Record{Summary: r.Summary}, Bytes: recordBytes(&r), Output: int64(len(r.Result)), TraceBytes: int64(len(r.Trace)), Omitted: true}, nil
	}
	return s.o.Jobs.ViewWithin(ctx, id, 0)
}

const (
	// recordPatience is how long a record is waited for that another node may be about to store, and recordEvery how often
	// it is looked for.
	recordPatience = 300 * time.Millisecond
	recordEvery    = 20 * time.Millisecond
)

// awaitRecord reads a job that somebody asks for. A node answers a call a moment before its record is stored: one that is
// not there yet, and may come, is looked for a little longer.
func (s *Service) awaitRecord(ctx context.Context, id job.ID, read func() error) error {
	err := read()
	if !errors.Is(err, job.ErrNotFound) || s.o.MayCome == nil || !s.o.MayCome(id) {
		return err
	}
	ticker := time.NewTicker(recordEvery)
	defer ticker.Stop()
	for range recordPatience / recordEvery {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
		if err = read(); !errors.Is(err, job.ErrNotFound) {
			return err
		}
	}
	return err
}

// jobView returns a job with all there is to show: a call that was just recorded, or one
// from the store. What it holds is counted until the call is answered.
func (s *Service) jobView(ctx context.Context, h *CallMemory, id job.ID) (*job.View, error) {
	if r, ok := s.o.Records.Pending(id); ok {
		if bytes := recordBytes(&r); bytes > UnreservedBytes {
			if err := h.Grow(ctx, bytes); err != nil {
				return nil, err
			}
		}
		return &job.View{Record: r}, nil
	}
	v, err := s.o.Jobs.ViewWithin(ctx, id, UnreservedBytes)
	switch {
	case err != nil || !v.Omitted:
		return v, err
	case v.State.Finished(): // which it stays, to the byte
		return s.views.acquire(ctx, s, h, v)
	}
	return s.loadView(ctx, h, v)
}

// loadView reads a job that holds much, and may hold a little more by then. While the
// store reads, it holds the same again.
func (s *Service) loadView(ctx context.Context, r interface {
	Grow(ctx context.Context, bytes int64) error
	Shrink(bytes int64)
}, v *job.View) (_ *job.View, err error) {
	const twice = 2
	had := int64(0)
	for v.Omitted {
		most := v.Bytes
		if !v.State.Finished() {
			most += v.Bytes/8 + UnreservedBytes
		}
		if err := r.Grow(ctx, twice*(most-had)); err != nil {
			r.Shrink(twice * had)
			return nil, err
		}
		had = most
		if v, err = s.o.Jobs.ViewWithin(ctx, v.ID, had); err != nil {
			r.Shrink(twice * had)
			return nil, err
		}
	}
	r.Shrink(twice*had - v.Bytes)
	return v, nil
}

// viewCache are the finished jobs that are being shown and hold much: all who look at one
// at the same time share it.
type viewCache struct {
	mu sync.Mutex
	of map[job.ID]*cachedView
}

type cachedView struct {
	users  int
	memory admit.Reservation
	loaded chan struct{} // closed when view is there
	view   *job.View
	err    error
}

// loadTime is how long reading a job may take, whoever of those that wait for it hangs
// up.
const loadTime = 10 * time.Second

// acquire returns a job, charged to its account, until the call is answered.
func (vs *viewCache) acquire(ctx context.Context, s *Service, h *CallMemory, v *job.View) (*job.View, error) {
	vs.mu.Lock()
	one, found := vs.of[v.ID]
	if !found {
		one = &cachedView{memory: s.o.Ledger.Open(admit.AccountHolder(int64(v.Account))), loaded: make(chan struct{})}
		if vs.of == nil {
			vs.of = map[job.ID]*cachedView{}
		}
		vs.of[v.ID] = one
	}
	one.users++
	vs.mu.Unlock()
	h.OnRelease(func() { vs.release(v.ID, one) })
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
			vs.evict(v.ID, one)
		}
		close(one.loaded)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTime)
	defer cancel()
	one.view, one.err = s.loadView(ctx, &one.memory, v)
	return one.view, one.err
}

func (vs *viewCache) evict(id job.ID, one *cachedView) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.of[id] == one {
		delete(vs.of, id)
	}
}

// release ends the use of a job; the last use releases its memory.
func (vs *viewCache) release(id job.ID, one *cachedView) {
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
