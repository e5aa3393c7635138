package sqlite

import (
	"encoding/hex"
	"strings"
	"testing"

	"ql/internal/job"

	"github.com/google/go-cmp/cmp"
)

// entries are records, and what an earlier version of ql wrote of each into the
// intake: it must stay readable. A new version adds its own lines.
var entries = []struct {
	record job.Record
	entry  string
}{
	{
		*brief(7, 3),
		"01000000000000400080000000000000030e80db97ecec93b006d0ea97ecec93b00680897a060008636f6d706c657465056173796e63046a736f6e036b6579000000035b5d09726573756c742033",
	},
	{
		job.Record{Summary: job.Summary{KeyID: 5, ProgramName: "greet"}, Result: []byte{}},
		"02" + strings.Repeat("00", 16+6+5+3) + "01" + "0a" + "05" + hex.EncodeToString([]byte("greet")),
	},
	{
		job.Record{Result: []byte{}, Cost: job.Cost{Fuel: 1, Memory: 2, Fetches: 3}, History: job.History{Spec: []byte{5}, Part: []byte{6, 7}}, Call: job.Call{
			Name: "a", Request: []byte{7}, Origin: 4, Source: &job.Source{Hash: [32]byte{9}, Text: "T", Files: []job.SourceFile{{Path: "/p", Text: "U"}}},
		}},
		"03" + strings.Repeat("00", 16+6+5+3) + "01" + "0000" + "0161" + "0207" + "08" + "02" + "09" + strings.Repeat("00", 31) + "0154" + "022f70" + "0155" + "020406" + "0205" + "03" + "0607",
	},
	{
		job.Record{Result: []byte{}, Call: job.Call{Name: "a"}},
		"03" + strings.Repeat("00", 16+6+5+3) + "01" + "0000" + "0161" + "00" + "00" + "00" + "000000" + "0000",
	},
	{job.Record{Result: []byte{}}, "01" + strings.Repeat("00", 16+6+5+3) + "01"},
}

func TestEntries(t *testing.T) {
	for i, e := range entries {
		if got := hex.EncodeToString(encodeRecord(&e.record)); got != e.entry {
			t.Errorf("record %d is written as\n%s, want\n%s", i, got, e.entry)
		}
		b, err := hex.DecodeString(e.entry)
		must(t, err)
		got, err := decodeRecord(b)
		must(t, err)
		if diff := cmp.Diff(e.record, got); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", i, diff)
		}
		for cut := range b {
			if _, err := decodeRecord(b[:cut]); err == nil {
				t.Errorf("record %d was read of its first %d bytes", i, cut)
			}
		}
		if _, err := decodeRecord(append(b, 0)); err == nil {
			t.Errorf("record %d was read with a byte more", i)
		}
	}
}

// FuzzEntry reads entries that anybody may have written. What is read is written as
// something that is read as the same.
func FuzzEntry(f *testing.F) {
	for _, e := range entries {
		b, err := hex.DecodeString(e.entry)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	// A duration of more microseconds than one holds.
	f.Add([]byte("\x01" + strings.Repeat("\x00", 16+3) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + strings.Repeat("\x00", 11)))
	f.Fuzz(func(t *testing.T, entry []byte) {
		r, err := decodeRecord(entry)
		if err != nil {
			return
		}
		again, err := decodeRecord(encodeRecord(&r))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("written and read again (-want +got):\n%s", diff)
		}
	})
}
