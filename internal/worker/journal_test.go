package worker

import (
	"reflect"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestJournalEntries checks that results are read as they were kept.
func TestJournalEntries(t *testing.T) {
	all := []engine.Told{
		{Seq: 1, Kind: bytecode.Now, Value: value.Text("2026-01-01T00:00:00Z")},
		{Seq: 2, Kind: bytecode.Fetch, Err: value.Errorf("fetch_failed", "no")},
		{Seq: 3, Kind: bytecode.Fetch, Err: value.Exceeded("fetch_bytes", 100, "the answer has more than 100 bytes")},
		{Seq: 4, Kind: bytecode.SQL, Value: value.Int(5), Fuel: 12_345_678_901},
		{Seq: 5, Kind: bytecode.SQL, Err: value.Errorf("unique", "no"), Fuel: 1},
		{Seq: 6, Kind: bytecode.Now, Value: value.Int(5)},
	}
	var kept []byte
	for _, told := range all {
		kept = appendTold(kept, told)
	}
	kept = appendDatabase(kept, "shop")
	got, databases := map[int64]engine.Told{}, map[string]bool{}
	if err := readEntries(kept, got, databases); err != nil {
		t.Fatal(err)
	}
	for _, want := range all {
		is := got[want.Seq]
		if is.Kind != want.Kind || is.Fuel != want.Fuel || !value.Equal(nil, is.Value, want.Value) || !reflect.DeepEqual(is.Err, want.Err) {
			t.Errorf("%+v is read as %+v", want, is)
		}
	}
	if len(got) != len(all) || !databases["shop"] {
		t.Errorf("read %d results, databases %v", len(got), databases)
	}
}
