package journal

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// memoryHost stores parts in memory, by their steps.
type memoryHost struct {
	calls int // that were stored
	lease job.Lease
	parts map[int64][]byte
	fail  error
}

func (h *memoryHost) Lease() job.Lease { return h.lease }
func (h *memoryHost) SealPart(plain []byte) ([]byte, error) {
	return append([]byte("sealed"), plain...), h.fail
}

func (h *memoryHost) StorePart(_ context.Context, e job.JournalEntry) error {
	if h.parts[e.Step] != nil {
		return errors.New("there is a part of this step")
	}
	h.parts[e.Step] = e.Entries
	return nil
}
func (h *memoryHost) CallsStored(list []job.EndedCall) { h.calls += len(list) }

func (h *memoryHost) Aside(do func()) { do() }
func (h *memoryHost) Yield()          {}

// memoryDatabases hold receipts in memory.
type memoryDatabases struct {
	engine.Databases
	receipts map[string][]engine.StoredReceipt
}

func (d memoryDatabases) Receipts(_ context.Context, name string, _ [16]byte, _ int64) ([]engine.StoredReceipt, error) {
	return d.receipts[name], nil
}

// recovered returns the results that the next attempt replays.
func (h *memoryHost) recovered(t *testing.T, d engine.Databases) map[int64]engine.Result {
	t.Helper()
	var parts [][]byte
	for _, p := range h.parts {
		parts = append(parts, p)
	}
	history, err := Recover(t.Context(), Source{
		Job: h.lease.ID, Attempt: h.lease.Attempt + 1, Parts: parts, Databases: d, MaxValue: 1 << 20,
		Open: func(sealed []byte) ([]byte, error) { return bytes.TrimPrefix(sealed, []byte("sealed")), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[int64]engine.Result{}
	for seq := range int64(100) {
		if r, ok := history.Recorded(seq); ok {
			all[seq] = r
		}
	}
	return all
}

func newWriter() (*Writer, *memoryHost) {
	h := &memoryHost{lease: job.Lease{ID: job.ID{1}, Attempt: 3}, parts: map[int64][]byte{}}
	w := &Writer{}
	w.Init(h, admit.Reservation{}, 1<<20)
	return w, h
}

func result(seq int64, kind bytecode.Effect) engine.Result {
	return engine.Result{Seq: seq, Kind: kind, Value: value.Int(seq), Fuel: seq}
}

func wantSteps(t *testing.T, all map[int64]engine.Result, want ...int64) {
	t.Helper()
	steps := slices.Sorted(maps.Keys(all))
	if !slices.Equal(steps, want) {
		t.Errorf("the next attempt replays %v, not %v", steps, want)
	}
	for seq, r := range all {
		if r.Fuel != seq || !value.Equal(nil, r.Value, value.Int(seq)) {
			t.Errorf("the result of %d is %+v", seq, r)
		}
	}
}

// TestFlushedResultsAreReplayed: what is flushed is, what waits is lost with its attempt.
func TestFlushedResultsAreReplayed(t *testing.T) {
	w, h := newWriter()
	w.Append(result(1, bytecode.EffectNow))
	w.Append(result(2, bytecode.EffectUUID))
	key, err := w.BeforeCall(t.Context(), 3)
	if err != nil || key == "" {
		t.Fatal(key, err)
	}
	w.Append(result(3, bytecode.EffectFetch))
	if !w.ShouldFlush() || w.IsFlushed() {
		t.Error("the answer of another server waits")
	}
	wantSteps(t, h.recovered(t, nil), 1, 2)
	if !w.TryFlush(t.Context()) {
		t.Error("it cannot be flushed")
	}
	w.Append(result(4, bytecode.EffectNow))
	wantSteps(t, h.recovered(t, nil), 1, 2, 3)
	if again, _ := w.BeforeCall(t.Context(), 3); again != key {
		t.Error("the same call has another key")
	}
	if names := w.Truncate(); len(names) != 0 || w.Len() != 0 {
		t.Errorf("after a snapshot it has %d bytes, and databases %v", w.Len(), names)
	}
}

// TestCommandsAreNoted: that a command was begun is known to the next attempt, which has the same
// key for it, and does not count as something that the job has done.
func TestCommandsAreNoted(t *testing.T) {
	w, h := newWriter()
	w.Append(result(1, bytecode.EffectNow))
	before := func(w *Writer, seq int64) (string, bool) {
		key, repeated, err := w.BeforeCommand(t.Context(), seq)
		if err != nil || key == "" {
			t.Fatal(key, err)
		}
		return key, repeated
	}
	first, repeated := before(w, 2)
	if call, err := w.BeforeCall(t.Context(), 2); err != nil || call == first || repeated {
		t.Errorf("a first one is repeated: %t; or has the key of a call, %v", repeated, err)
	}
	w.Append(result(2, bytecode.EffectRun))
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, _ := before(w, 3)
	wantSteps(t, h.recovered(t, nil), 1, 2)
	for step := range h.parts {
		if step > 2 {
			t.Errorf("a part of step %d says that something was done", step)
		}
	}
	next := &Writer{}
	next.Init(h, admit.Reservation{}, 1<<20)
	parts := slices.Collect(maps.Values(h.parts))
	plain := func(sealed []byte) ([]byte, error) { return bytes.TrimPrefix(sealed, []byte("sealed")), nil }
	if err := next.Recover(t.Context(), Source{Parts: parts, Open: plain, MaxValue: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	count := len(h.parts)
	if key, repeated := before(next, 3); key != second || key == first || !repeated || len(h.parts) != count {
		t.Errorf("the command has the key %s after %s, repeated %t, %d parts after %d", key, second, repeated, len(h.parts), count)
	}
	// A snapshot takes the note's place too: it is noted again.
	next.Truncate()
	clear(h.parts)
	if _, repeated := before(next, 3); !repeated || len(h.parts) != 1 {
		t.Errorf("after a snapshot: repeated %t, %d parts", repeated, len(h.parts))
	}
	if _, repeated := before(next, 4); repeated {
		t.Error("another one is repeated")
	}
}

// TestProvisionalParts: what was read inside a transaction counts once that has ended.
func TestProvisionalParts(t *testing.T) {
	w, h := newWriter()
	d := memoryDatabases{receipts: map[string][]engine.StoredReceipt{}}
	w.Append(result(1, bytecode.EffectTxBegin))
	long := result(2, bytecode.EffectSQL)
	long.Value = value.Text(strings.Repeat("x", MaxPending))
	w.Append(long)
	if err := w.BeforeEffectInTx(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !w.IsFlushed() || len(h.parts) != 1 {
		t.Errorf("%d parts are stored", len(h.parts))
	}
	if got := h.recovered(t, d); len(got) != 0 {
		t.Errorf("%d results of an open transaction count", len(got))
	}
	receipt := w.Receipt(t.Context(), "shop", result(3, bytecode.EffectTxCommit), func() int64 { return 3 })
	stored, err := receipt.Write(value.Int(3))
	if err != nil {
		t.Fatal(err)
	}
	d.receipts["shop"] = []engine.StoredReceipt{{Step: 3, Bytes: stored}}
	w.Append(result(3, bytecode.EffectTxCommit))
	got := h.recovered(t, d)
	if len(got) != 3 || got[2].Value.Str() != long.Value.Str() {
		t.Errorf("%d results are replayed after the commit", len(got))
	}
	if names := w.Truncate(); !slices.Equal(names, []string{"shop"}) {
		t.Errorf("receipts are in %v", names)
	}
}

// TestJournalIsBounded: an effect for whose result there is no room is not done.
func TestJournalIsBounded(t *testing.T) {
	w, h := newWriter()
	long := result(1, bytecode.EffectSQL)
	long.Value = value.Text(strings.Repeat("x", 1<<20))
	w.Append(long)
	var refused *value.Error
	if err := w.BeginEffect(); !errors.As(err, &refused) || refused.Limit == nil || refused.Limit.Name != "journal" {
		t.Errorf("%v", err)
	}
	h.fail = errors.New("no key")
	if ctx := w.Checkpoint(t.Context(), result(2, bytecode.EffectFileWrite)); !errors.Is(context.Cause(ctx), h.fail) || !errors.Is(w.Err(), h.fail) {
		t.Errorf("a change whose result cannot be sealed: %v, %v", context.Cause(ctx), w.Err())
	}
}

// TestPartsAreReplayed: parts of an effect are committed on their way, or with its result, and another
// attempt finds those that were.
func TestPartsAreReplayed(t *testing.T) {
	w, h := newWriter()
	recovered := func() *History {
		history, err := Recover(t.Context(), Source{
			Parts: slices.Collect(maps.Values(h.parts)), MaxValue: 1 << 20,
			Open: func(sealed []byte) ([]byte, error) { return bytes.TrimPrefix(sealed, []byte("sealed")), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return &history
	}
	part := func(seq int64, i int, flush bool) {
		w.AppendPart(t.Context(), i, engine.Result{Seq: seq, Kind: bytecode.EffectFetchAll, Value: value.Int(int64(i)), Fuel: 7}, flush)
	}
	want := func(seq int64, indexes ...int) {
		t.Helper()
		history := recovered()
		for i := range 10 {
			r, ok := history.RecordedPart(seq, i)
			if ok != slices.Contains(indexes, i) || ok && (r.Value.Int64() != int64(i) || r.Fuel != 7 || r.Kind != bytecode.EffectFetchAll) {
				t.Errorf("part %d of %d: %+v, %t", i, seq, r, ok)
			}
			if _, again := history.RecordedPart(seq, i); again {
				t.Errorf("part %d of %d is there twice", i, seq)
			}
		}
	}
	w.Append(result(1, bytecode.EffectNow))
	if _, err := w.BeforeCall(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	part(2, 3, false)
	want(2)
	part(2, 0, true)
	want(2, 0, 3)
	part(2, 1, true)
	part(2, 2, false)
	want(2, 0, 1, 3)
	if err := w.EndParts(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Append(result(2, bytecode.EffectFetchAll))
	if !w.ShouldFlush() {
		t.Error("the answers of other servers wait")
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	part(3, 0, true)
	want(2, 0, 1, 2, 3)
	want(3, 0)
	wantSteps(t, h.recovered(t, nil), 1, 2)
	for step := range h.parts {
		if step > 2 {
			t.Errorf("a part of step %d says that something was done", step)
		}
	}
	h.fail = errors.New("the disk is full")
	part(3, 1, true)
	if err := w.EndParts(t.Context()); !errors.Is(err, h.fail) {
		t.Errorf("parts that could not be stored: %v", err)
	}
}
