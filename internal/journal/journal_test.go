package journal

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestJournalEntries checks that results are read as they were written.
func TestJournalEntries(t *testing.T) {
	all := []engine.Result{
		{Seq: 1, Kind: bytecode.EffectNow, Value: value.Text("2026-01-01T00:00:00Z")},
		{Seq: 2, Kind: bytecode.EffectFetch, Err: value.Errorf("fetch_failed", "no")},
		{Seq: 3, Kind: bytecode.EffectFetch, Err: value.Exceeded("fetch_bytes", 100, "the answer has more than 100 bytes")},
		{Seq: 4, Kind: bytecode.EffectSQL, Value: value.Int(5), Fuel: 12_345_678_901},
		{Seq: 5, Kind: bytecode.EffectSQL, Err: value.Errorf("unique", "no"), Fuel: 1},
		{Seq: 6, Kind: bytecode.EffectNow, Value: value.Int(5)},
		{Seq: 7, Kind: bytecode.EffectConfirm, Value: value.Bool(true), Answered: &engine.Answered{
			Decision: "approved", Audience: "Käufer", By: "key ci", Note: "a\nb", Receipt: "0001-0002-0003", At: time.Date(2026, 11, 16, 8, 30, 0, 123456000, time.UTC),
		}},
		{Seq: 8, Kind: bytecode.EffectConfirm, Value: value.Bool(false)},
		{Seq: 9, Kind: bytecode.EffectRun, Value: value.Int(1), Fuel: 3, Repeated: true},
		{Seq: 10, Kind: bytecode.EffectRun, Value: value.Int(1)},
	}
	var encoded []byte
	for _, r := range all {
		encoded = AppendResult(encoded, r)
	}
	encoded = appendDatabase(encoded, "shop")
	h := newHistory(1 << 20)
	if err := h.read(encoded, func() error { return nil }, h.databases, nil); err != nil {
		t.Fatal(err)
	}
	if len(h.results) != len(all) || !h.databases["shop"] {
		t.Errorf("read %d results, databases %v", len(h.results), h.databases)
	}
	for _, want := range all {
		is, ok := h.Recorded(want.Seq)
		if !ok || is.Kind != want.Kind || is.Fuel != want.Fuel || is.Repeated != want.Repeated || !reflect.DeepEqual(is.Answered, want.Answered) || !value.Equal(nil, is.Value, want.Value) || !reflect.DeepEqual(is.Err, want.Err) {
			t.Errorf("%+v is read as %+v", want, is)
		}
		if _, again := h.Recorded(want.Seq); again {
			t.Errorf("%+v is given twice", want)
		}
	}
}

// TestJournalInTurns reads a long journal: in turns, within a script's memory, and
// no result of it but the one that is asked for is held as a value.
func TestJournalInTurns(t *testing.T) {
	empty := make([]value.Value, 1_000)
	for i := range empty {
		empty[i] = value.NewMap(nil, 100).Value()
	}
	large := value.ListOf(empty...)
	var encoded []byte
	for seq := range int64(50) {
		encoded = AppendResult(encoded, engine.Result{Seq: seq + 1, Kind: bytecode.EffectSQL, Value: large})
	}
	for seq := range int64(10_000) {
		encoded = AppendResult(encoded, engine.Result{Seq: seq + 51, Kind: bytecode.EffectNow, Value: value.Text("2026-01-01T00:00:00Z")})
	}
	weight := value.SizeOf(large)
	turns := 0
	read := func(memory int64, most int) (History, error) {
		turns = 0
		h := newHistory(memory)
		return h, h.read(encoded, func() error {
			if turns++; turns > most {
				return context.DeadlineExceeded
			}
			return nil
		}, h.databases, nil)
	}
	before := heap()
	h, err := read(weight, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	if held := heap() - before; held > weight {
		t.Errorf("a journal of %d bytes holds %d, with 50 values of %d", len(encoded), held, weight)
	}
	if least, all := len(encoded)/turnBytes, turns; all < least/2 || all > 3*least+50 {
		t.Errorf("%d bytes took %d turns", len(encoded), all)
	}
	for seq := range int64(10_050) {
		if r, ok := h.Recorded(seq + 1); !ok || r.Kind == bytecode.EffectNone {
			t.Fatalf("result %d is %v, %t", seq+1, r.Kind, ok)
		}
	}
	if _, err := read(weight-1, math.MaxInt); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with memory for less than a value: %v", err)
	}
	for _, most := range []int{0, 1, 5} {
		if _, err := read(weight, most); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCorrupt) || turns != most+1 {
			t.Errorf("it ended after %d turns of %d: %v", turns, most, err)
		}
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
