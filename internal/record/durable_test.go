package record

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/job"
)

// journal is a log that a test can hold, break and fill.
type journal struct {
	store *memory

	mu     sync.Mutex
	frames [][]int64 // the numbers of records that were appended together
	stored []Position
	most   int      // records in a frame
	fail   error    // of appending
	failTo Position // where that may have come to
	panics bool
	gate   chan struct{} // where not nil, an Append takes a value from it first
}

func (j *journal) Append(records []*job.Record) (Position, error) {
	j.mu.Lock()
	gate := j.gate
	j.mu.Unlock()
	if gate != nil {
		<-gate
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.panics:
		panic("broken")
	case j.fail != nil:
		return j.failTo, j.fail
	case j.most > 0 && len(records) > j.most:
		return 0, ErrNoRoom
	}
	var frame []int64
	for _, r := range records {
		frame = append(frame, r.Steps)
	}
	j.frames = append(j.frames, frame)
	return Position(len(j.frames)) * 10, nil
}

func (j *journal) Store(ctx context.Context, records []job.Record, to Position) error {
	if err := j.store.Record(ctx, records); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stored = append(j.stored, to)
	return nil
}

func (j *journal) wantFrames(t *testing.T, want ...[]int64) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.EqualFunc(j.frames, want, slices.Equal) {
		t.Errorf("the log holds %v, want %v", j.frames, want)
	}
}

func (j *journal) wantStored(t *testing.T, want ...Position) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.stored, want) {
		t.Errorf("the log was stored up to %v, want %v", j.stored, want)
	}
}

// startLogged starts a recorder with a log.
func startLogged(t *testing.T, o Options, f func(t *testing.T, m *memory, j *journal, r *Recorder)) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		j := &journal{store: m}
		o.Log = j
		r := NewRecorder(m, o)
		defer r.Close(t.Context())
		f(t, m, j, r)
	})
}

// keepAll keeps records at the same time, which come in their order, and returns
// their outcomes.
func keepAll(t *testing.T, r *Recorder, numbers ...int) []chan error {
	t.Helper()
	var list []chan error
	for _, n := range numbers {
		outcome := make(chan error, 1)
		go func() { outcome <- r.RecordDurably(numbered(n), time.Hour) }()
		synctest.Wait()
		list = append(list, outcome)
	}
	return list
}

func wantAll(t *testing.T, outcomes []chan error, want error) {
	t.Helper()
	for i, o := range outcomes {
		if err := <-o; !errors.Is(err, want) {
			t.Errorf("outcome %d: %v, want %v", i, err, want)
		}
	}
}

// TestRecordsDurably: a record is in the log before RecordDurably returns, can be read at once, and is
// stored later, together with those that were appended with it.
func TestRecordsDurably(t *testing.T) {
	startLogged(t, Options{Linger: time.Hour, MaxBatch: 2}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		j.gate, m.gate = make(chan struct{}), make(chan struct{})
		put(t, r, 1)
		outcomes := keepAll(t, r, 2, 3, 4, 5) // the first alone, then two and one
		if _, pending := r.Pending(numbered(2).ID); pending {
			t.Error("a record could be read before it was in the log")
		}
		for range 3 {
			j.gate <- struct{}{}
			synctest.Wait()
		}
		wantAll(t, outcomes, nil)
		j.wantFrames(t, []int64{2}, []int64{3, 4}, []int64{5})
		if got, pending := r.Pending(numbered(4).ID); !pending || !got.Created.Equal(time.Unix(1, 1_000)) {
			t.Errorf("the record: %v, %t", got, pending)
		}
		put(t, r, 6)
		close(m.gate)
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantStored(t, m, 1, 2, 3, 4, 5, 6)
		j.wantStored(t, 10, 20, 30)
		m.mu.Lock()
		defer m.mu.Unlock()
		if want := []int{2, 2, 2}; !slices.Equal(m.batches, want) {
			t.Errorf("the batches have %v, want %v", m.batches, want)
		}
	})
}

// TestFramesStayWhole: what was appended together is stored together, though a batch
// would hold less.
func TestFramesStayWhole(t *testing.T) {
	startLogged(t, Options{Linger: time.Hour, MaxBatch: 3}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		j.gate = make(chan struct{})
		m.gate = make(chan struct{}, 10)
		outcomes := keepAll(t, r, 1, 2, 3, 4)
		for range 2 {
			j.gate <- struct{}{}
		}
		wantAll(t, outcomes, nil)
		for range 10 {
			m.gate <- struct{}{}
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		j.wantFrames(t, []int64{1}, []int64{2, 3, 4})
		j.wantStored(t, 20)
		wantStored(t, m, 1, 2, 3, 4)
		m.mu.Lock()
		defer m.mu.Unlock()
		if want := []int{4}; !slices.Equal(m.batches, want) {
			t.Errorf("the batches have %v, want %v", m.batches, want)
		}
	})
}

// TestNoRoomInTheLog: a record that does not fit is not taken, and those with it
// are; what is in the buffer is stored then, which makes room.
func TestNoRoomInTheLog(t *testing.T) {
	startLogged(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		j.gate, j.most = make(chan struct{}), 1
		outcomes := keepAll(t, r, 1, 2, 3)
		close(j.gate)
		wantAll(t, outcomes, nil)
		j.wantFrames(t, []int64{1}, []int64{2}, []int64{3})
		wantStored(t, m)
		j.mu.Lock()
		j.fail = ErrNoRoom
		j.mu.Unlock()
		wantAll(t, keepAll(t, r, 4), ErrNoRoom)
		synctest.Wait()
		wantStored(t, m, 1, 2, 3)
		if _, pending := r.Pending(numbered(4).ID); pending {
			t.Error("a record that was not taken can be read")
		}
		j.mu.Lock()
		j.fail = nil
		j.mu.Unlock()
		wantAll(t, keepAll(t, r, 4), nil)
	})
}

// TestPartsOfABatch: where records do not fit together they are appended in parts, as
// large ones as go: each is a flush that all wait for.
func TestPartsOfABatch(t *testing.T) {
	startLogged(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		j.gate, j.most = make(chan struct{}), 2
		outcomes := keepAll(t, r, 1, 2, 3, 4, 5)
		close(j.gate)
		wantAll(t, outcomes, nil)
		j.wantFrames(t, []int64{1}, []int64{2, 3}, []int64{4, 5})
	})
}

// TestKeepDoesNotWait: a record that finds the buffer full is stored in another way,
// for which its caller needs the time that it has.
func TestKeepDoesNotWait(t *testing.T) {
	startLogged(t, Options{MaxRecords: 1}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		m.gate = make(chan struct{})
		put(t, r, 1)
		began := time.Now()
		wantAll(t, keepAll(t, r, 2), ErrNoRoom)
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waited for %v", waited)
		}
		close(m.gate)
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantAll(t, keepAll(t, r, 2), nil)
	})
}

// TestFailedPartOfTheLog: what may stand in the log though its append failed is
// stored by its callers. The log is stored up to after it, so that nobody stores it
// once more, when it may be gone already.
func TestFailedPartOfTheLog(t *testing.T) {
	for _, before := range [][]int64{nil, {1, 2}} {
		startLogged(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
			for _, n := range before {
				wantAll(t, keepAll(t, r, int(n)), nil)
			}
			m.fail(errors.New("the disk is busy"))
			broken := errors.New("the disk is gone")
			j.fail, j.failTo = broken, 1000
			wantAll(t, keepAll(t, r, 3), broken)
			synctest.Wait()
			j.wantStored(t)
			m.fail(nil)
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantStored(t, m, before...)
			j.wantStored(t, 1000)
		})
	}
}

// TestLogFails: after a failure of the log, which is told once, nothing is appended to
// it any more; all else goes on.
func TestLogFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		broken := errors.New("the disk is gone")
		var told []error
		startLogged(t, Options{Linger: time.Hour, LogFailed: func(err error) { told = append(told, err) }}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
			wantAll(t, keepAll(t, r, 1), nil)
			if s := r.Stats(); s != (Stats{Pending: 1}) {
				t.Errorf("with one record it is %+v", s)
			}
			j.fail, j.panics = broken, panics
			if err := <-keepAll(t, r, 2)[0]; err == nil || !panics && !errors.Is(err, broken) {
				t.Errorf("the error is %v", err)
			}
			j.fail, j.panics = nil, false
			wantAll(t, keepAll(t, r, 3), ErrNoRoom)
			put(t, r, 4)
			if err := r.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantStored(t, m, 1, 4)
			if s := r.Stats(); s != (Stats{LogFailed: true}) {
				t.Errorf("after the failure it is %+v", s)
			}
			if len(told) != 1 {
				t.Errorf("told of %v", told)
			}
		})
	}
}

func TestKeepWithoutALog(t *testing.T) {
	start(t, Options{}, func(t *testing.T, m *memory, r *Recorder) {
		if err := r.RecordDurably(numbered(1), time.Hour); !errors.Is(err, ErrNoRoom) {
			t.Errorf("RecordDurably: %v", err)
		}
	})
}

// TestKeepsWithinBounds: records on their way into the log count for the buffer's
// bounds, until they are not taken after all.
func TestKeepsWithinBounds(t *testing.T) {
	startLogged(t, Options{MaxRecords: 2, Linger: time.Hour, Wait: time.Minute}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		j.gate = make(chan struct{})
		m.gate = make(chan struct{}, 10)
		outcomes := keepAll(t, r, 1, 2)
		late := make(chan error, 1)
		go func() { late <- r.Record(t.Context(), numbered(3)) }()
		wantAll(t, []chan error{late}, ErrFull)
		go func() { late <- r.Record(t.Context(), numbered(3)) }()
		j.mu.Lock()
		j.fail = ErrNoRoom
		j.mu.Unlock()
		close(j.gate)
		wantAll(t, outcomes, ErrNoRoom)
		wantAll(t, []chan error{late}, nil)
		close(m.gate)
		if err := r.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStored(t, m, 3)
	})
}

// TestCloseCountsWhatIsLost: what is in the log is not lost.
func TestCloseCountsWhatIsLost(t *testing.T) {
	startLogged(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		m.failing = errors.New("the disk is full")
		put(t, r, 1)
		wantAll(t, keepAll(t, r, 2, 3), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var lost *LostError
		if err := r.Close(ctx); !errors.As(err, &lost) || lost.Records != 1 {
			t.Errorf("Close: %v", err)
		}
		wantAll(t, keepAll(t, r, 4), ErrClosed)
	})
	startLogged(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, j *journal, r *Recorder) {
		m.failing = errors.New("the disk is full")
		wantAll(t, keepAll(t, r, 1), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("Close where all is in the log: %v", err)
		}
	})
}
