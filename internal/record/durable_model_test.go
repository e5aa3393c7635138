package record

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// faulty is a store with a log that fail by chance, sometimes after they did what
// they were asked for.
type faulty struct {
	Store

	mu      sync.Mutex
	chance  *rand.Rand
	frames  []faultyFrame
	place   Position
	rows    map[job.ID]bool
	counted map[job.ID]int // how often a record was stored
	acked   map[job.ID]bool
	broken  bool // the log
}

type faultyFrame struct {
	records []job.Record
	to      Position
}

var errFaulty = errors.New("the disk is gone")

func (f *faulty) Append(records []*job.Record) (Position, error) {
	time.Sleep(time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return 0, errFaulty
	}
	n := f.chance.IntN(100)
	if n < 10 || len(records) > 4 {
		return 0, ErrNoRoom
	}
	to := Position(len(f.frames) + 1)
	f.broken = n == 10
	if !f.broken || f.chance.IntN(2) == 0 {
		one := faultyFrame{to: to}
		for _, r := range records {
			one.records = append(one.records, *r)
		}
		f.frames = append(f.frames, one)
	}
	if f.broken {
		return to, errFaulty
	}
	return to, nil
}

func (f *faulty) Record(ctx context.Context, records []job.Record) error {
	return f.storing(ctx, records, 0)
}

// faultyLog is the log of a faulty store.
type faultyLog struct{ *faulty }

func (f faultyLog) Store(ctx context.Context, records []job.Record, to Position) error {
	return f.storing(ctx, records, to)
}

func (f *faulty) storing(ctx context.Context, records []job.Record, to Position) error {
	time.Sleep(time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.chance.IntN(10)
	if n == 0 || ctx.Err() != nil {
		return errFaulty
	}
	for _, r := range records {
		f.store(f.rows, f.counted, r.ID)
	}
	f.place = max(f.place, to)
	if n == 1 {
		return errFaulty
	}
	return nil
}

func (f *faulty) store(rows map[job.ID]bool, counted map[job.ID]int, id job.ID) {
	if !rows[id] {
		rows[id] = true
		counted[id]++
	}
}

// forget removes what was stored for good, while nothing is left to store: records
// are kept for much longer than that takes.
func (f *faulty) forget(r *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(r.pending) > 0 {
		return
	}
	for id := range f.rows {
		if f.acked[id] {
			delete(f.rows, id)
		}
	}
}

// check has another process store what it finds.
func (f *faulty) check(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows, counted := map[job.ID]bool{}, map[job.ID]int{}
	for id := range f.rows {
		rows[id] = true
	}
	for id, n := range f.counted {
		counted[id] = n
	}
	for _, one := range f.frames {
		if one.to > f.place {
			for _, r := range one.records {
				f.store(rows, counted, r.ID)
			}
		}
	}
	for id := range f.acked {
		if counted[id] != 1 {
			t.Errorf("a job that was accepted is stored %d times after a crash", counted[id])
		}
	}
}

// TestKeepModel has many callers keep and record, while the log and the store fail
// and records are removed. What was accepted is stored once, whenever a crash comes.
func TestKeepModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chance := rand.New(rand.NewPCG(seed, 0))
				f := &faulty{chance: chance, rows: map[job.ID]bool{}, counted: map[job.ID]int{}, acked: map[job.ID]bool{}}
				r := NewRecorder(f, Options{Log: faultyLog{f}, MaxRecords: 12, MaxBatch: 6, Retry: 5 * time.Millisecond})
				var callers sync.WaitGroup
				for c := range 8 {
					chance := rand.New(rand.NewPCG(seed, uint64(c+1)))
					callers.Go(func() {
						for i := range 10 {
							f.accept(t, r, chance, job.Record{Summary: job.Summary{ID: job.ID{byte(c), byte(i), 1}, Account: account.ID(1)}})
						}
					})
				}
				for range 20 {
					time.Sleep(time.Millisecond)
					f.check(t)
					f.forget(r)
				}
				early := seed%2 == 1 // closed while callers are at it
				if !early {
					callers.Wait()
				}
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
				callers.Wait()
				f.check(t)
				if !early && (r.bytes != 0 || len(r.pending) != 0 || len(r.byID) != 0) || r.reserved != 0 {
					t.Errorf("what is left: %d bytes, %d held, %d pending, %d by id", r.bytes, r.reserved, len(r.pending), len(r.byID))
				}
				for _, p := range r.pending {
					if p.end == 0 {
						t.Error("a record was taken that is neither stored nor in the log")
					}
				}
			})
		})
	}
}

// accept accepts a job as a worker does.
func (f *faulty) accept(t *testing.T, r *Recorder, chance *rand.Rand, record job.Record) {
	time.Sleep(time.Duration(chance.IntN(4)) * time.Millisecond)
	wait := time.Duration(1+chance.IntN(20)) * time.Millisecond
	if chance.IntN(4) == 0 {
		// A record that is not in the log may be lost in a crash.
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		_ = r.Record(ctx, record)
		return
	}
	err := r.RecordDurably(record, wait)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil { // then it is stored by itself
		f.store(f.rows, f.counted, record.ID)
	}
	f.acked[record.ID] = true
}
