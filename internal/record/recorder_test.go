package record

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/job"

	"github.com/google/go-cmp/cmp"
)

// memory is a store that a test can hold and break.
type memory struct {
	mu      sync.Mutex
	records []job.Record
	batches []int
	failing error
	panics  bool
	gate    chan struct{} // where not nil, a Record takes a value from it first
}

func (m *memory) Record(ctx context.Context, records []job.Record) error {
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panics {
		panic("broken")
	}
	if m.failing != nil {
		return m.failing
	}
	m.records = append(m.records, records...)
	m.batches = append(m.batches, len(records))
	return nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = err
}

func (m *memory) ByID(_ context.Context, id job.ID) (job.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.records, func(r job.Record) bool { return r.ID == id })
	if i < 0 {
		return job.Record{}, job.ErrNotFound
	}
	return m.records[i], nil
}

func (m *memory) Summary(ctx context.Context, id job.ID) (job.Summary, error) {
	r, err := m.ByID(ctx, id)
	return r.Summary, err
}

func (m *memory) List(context.Context, account.ID, job.Query) ([]job.Listed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []job.Listed
	for _, r := range slices.Backward(m.records) {
		list = append(list, job.Listed{Summary: r.Summary})
	}
	return list, nil
}

func (m *memory) Forget(context.Context, account.ID, time.Time, int) (int, error) { return 0, nil }
func (m *memory) RecordBytes(context.Context, account.ID) (int64, error)          { return 0, nil }
func (m *memory) Trim(context.Context, account.ID, int64, int) (int, error)       { return 0, nil }

// steps returns the numbers of the records that are stored, in their order.
func (m *memory) steps() (list []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.records {
		list = append(list, r.Steps)
	}
	return list
}

func numbered(n int) job.Record {
	return job.Record{Summary: job.Summary{ID: job.ID{byte(n >> 8), byte(n), 1}, State: job.Complete, Steps: int64(n), Created: time.Unix(1, 1_999), Finished: time.Unix(2, 0)}, Ran: 1_999}
}

func put(t *testing.T, r *Recorder, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := r.Record(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func wantStored(t *testing.T, m *memory, want ...int64) {
	t.Helper()
	if got := m.steps(); !slices.Equal(got, want) {
		t.Errorf("the store keeps %v, want %v", got, want)
	}
}

// start starts a recorder that writes only when it must, in a bubble of its
// own time.
func start(t *testing.T, o Options, f func(t *testing.T, m *memory, r *Recorder)) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		r := NewRecorder(m, o)
		defer r.Close(t.Context())
		f(t, m, r)
	})
}

func TestRecordsCanBeReadAtOnce(t *testing.T) {
	start(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, r *Recorder) {
		put(t, r, 1)
		want := numbered(1)
		want.Created, want.Ran = time.Unix(1, 1_000).UTC(), 1_000 // as the store would keep it
		want.Finished = time.Unix(2, 0).UTC()
		got, found := r.Pending(want.ID)
		if diff := cmp.Diff(want, got); diff != "" || !found {
			t.Error(diff)
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantStored(t, m, 1)
		for _, id := range []job.ID{want.ID, {}} {
			if _, found := r.Pending(id); found {
				t.Errorf("%v is pending", id)
			}
		}
		put(t, r, 2)
		list, err := r.List(t.Context(), 1, job.Query{})
		if err != nil || len(list) != 2 || list[0].Steps != 2 {
			t.Errorf("the list: %v, %v", list, err)
		}
	})
}

func TestRecordsAreWrittenInBatches(t *testing.T) {
	start(t, Options{Linger: time.Second, MaxBatch: 4, MaxRecords: 100}, func(t *testing.T, m *memory, r *Recorder) {
		put(t, r, 1, 2, 3)
		synctest.Wait()
		wantStored(t, m)
		<-time.After(time.Second) // of the bubble's time
		synctest.Wait()
		wantStored(t, m, 1, 2, 3)
		put(t, r, 4, 5, 6, 7) // a whole batch does not linger
		synctest.Wait()
		wantStored(t, m, 1, 2, 3, 4, 5, 6, 7)
		if diff := cmp.Diff([]int{3, 4}, m.batches); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAFullBufferWaits(t *testing.T) {
	for name, o := range map[string]Options{
		"by number": {MaxRecords: 2, Linger: time.Hour},
		"by size":   {MaxBytes: 1200, Linger: time.Hour}, // two records are a little less
	} {
		t.Run(name, func(t *testing.T) {
			start(t, o, func(t *testing.T, m *memory, r *Recorder) {
				m.gate = make(chan struct{})
				put(t, r, 1, 2)
				waiting := make(chan error, 1)
				go func() { waiting <- r.Record(t.Context(), numbered(3)) }()
				ctx, cancel := context.WithCancel(t.Context())
				given := make(chan error, 1)
				go func() { given <- r.Record(ctx, numbered(4)) }()
				synctest.Wait()
				cancel()
				if err := <-given; !errors.Is(err, context.Canceled) {
					t.Errorf("one that gave up: %v", err)
				}
				select {
				case err := <-waiting:
					t.Fatalf("there was room: %v", err)
				default:
				}
				wantStored(t, m)
				close(m.gate)
				if err := <-waiting; err != nil {
					t.Error(err)
				}
				if err := r.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				wantStored(t, m, 1, 2, 3)
			})
		})
	}
}

func TestARecordDoesNotWaitForEver(t *testing.T) {
	start(t, Options{MaxRecords: 1, Wait: time.Minute}, func(t *testing.T, m *memory, r *Recorder) {
		m.gate = make(chan struct{})
		put(t, r, 1)
		began := time.Now()
		if err := r.Record(t.Context(), numbered(2)); !errors.Is(err, ErrFull) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(m.gate)
	})
}

func TestALargeRecordFindsRoom(t *testing.T) {
	start(t, Options{MaxBytes: 100}, func(t *testing.T, m *memory, r *Recorder) {
		large := numbered(1)
		large.Result = make([]byte, 1000)
		if err := r.Record(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		put(t, r, 2)
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantStored(t, m, 1, 2)
		if r.bytes != 0 || len(r.byID) != 0 || len(r.pending) != 0 {
			t.Errorf("%d bytes of %d records are left", r.bytes, len(r.byID))
		}
	})
}

func TestFailuresAreTriedAgain(t *testing.T) {
	var failures []error
	broken := errors.New("disk full")
	o := Options{Linger: time.Hour, Retry: time.Minute, Failed: func(err error) { failures = append(failures, err) }}
	start(t, o, func(t *testing.T, m *memory, r *Recorder) {
		m.fail(broken)
		put(t, r, 1, 2)
		if err := r.Flush(t.Context()); !errors.Is(err, broken) {
			t.Errorf("Flush to a broken store: %v", err)
		}
		if _, found := r.Pending(numbered(1).ID); !found {
			t.Error("a record that is not stored is gone")
		}
		m.fail(nil)
		m.panics = true
		if err := r.Flush(t.Context()); err == nil {
			t.Error("Flush to a store that panics")
		}
		m.mu.Lock()
		m.panics = false
		m.mu.Unlock()
		put(t, r, 3)
		if err := r.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStored(t, m, 1, 2, 3)
		if len(failures) != 2 {
			t.Errorf("the failures %v", failures)
		}
	})
}

func TestCloseWritesTheRest(t *testing.T) {
	start(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, r *Recorder) {
		put(t, r, 1, 2)
		for range 2 {
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		wantStored(t, m, 1, 2)
		if err := r.Record(t.Context(), numbered(3)); !errors.Is(err, ErrClosed) {
			t.Errorf("Record after Close: %v", err)
		}
		if err := r.Flush(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Flush after Close: %v", err)
		}
		if list, err := r.List(t.Context(), 1, job.Query{}); err != nil || len(list) != 2 {
			t.Errorf("List after Close: %v, %v", list, err)
		}
	})
}

func TestCloseGivesUpInTime(t *testing.T) {
	start(t, Options{MaxRecords: 2, Linger: time.Hour}, func(t *testing.T, m *memory, r *Recorder) {
		m.gate = make(chan struct{}) // nobody lets it through
		put(t, r, 1, 2)
		results := make(chan error, 2)
		go func() { results <- r.Flush(context.Background()) }()
		go func() { results <- r.Record(context.Background(), numbered(3)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.Close(ctx)
		var lost *LostError
		if !errors.As(err, &lost) || err.Error() != "the records of 2 jobs are lost: they could not be stored in time" {
			t.Errorf("Close: %v", err)
		}
		for range 2 {
			if err := <-results; err == nil {
				t.Error("one who waited was told that it was done")
			}
		}
	})
}

// TestCloseBesideFailingStore: the store's error is told, and the stop comes to its
// end.
func TestCloseBesideFailingStore(t *testing.T) {
	start(t, Options{Linger: time.Hour}, func(t *testing.T, m *memory, r *Recorder) {
		m.failing = errors.New("the disk is full")
		put(t, r, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := r.Close(ctx)
		if !errors.Is(err, m.failing) || err.Error() != "the record of 1 job is lost: it could not be stored in time: the disk is full" {
			t.Errorf("Close: %v", err)
		}
	})
}
