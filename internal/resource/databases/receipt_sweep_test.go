package databases

import (
	"context"
	"errors"
	"os"
	"testing"

	"ql/internal/engine"
	"ql/lang/value"
)

// jobReceipt is the first receipt of a job.
func jobReceipt(job [16]byte) *engine.Receipt {
	return &engine.Receipt{Job: job, Attempt: 1, Step: 1, Write: func(value.Value) ([]byte, error) { return []byte("kept"), nil }}
}

// rowsOf returns how many rows a table of our own has.
func rowsOf(t *testing.T, d *Databases, table string) (n int64) {
	t.Helper()
	err := d.change(t.Context(), "", func(c *conn) (err error) {
		n, err = c.queryInt(t.Context(), "SELECT count(*) FROM "+table)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSweepReceipts has more jobs leave receipts than are looked at in one go, and
// a few of them are still under way.
func TestSweepReceipts(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	const jobs = 2*sweepBatch + 7
	underWay := func(job [16]byte) bool { return job[0]%100 == 3 }
	wantLeft := int64(0)
	for i := range jobs {
		job := [16]byte{byte(i), byte(i >> 8), 15: 1}
		if underWay(job) {
			wantLeft++
		}
		if _, err := withReceipt(t, d, jobReceipt(job), "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
	}
	// Of this one only a mark is left, as of one that was attempted twice.
	if _, err := withReceipt(t, d, receipt(2, 1), "INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteReceipts(t.Context(), "", theJob, 1); err != nil {
		t.Fatal(err)
	}
	ended := func(_ context.Context, job [16]byte) (bool, error) { return !underWay(job), nil }
	if err := d.SweepReceipts(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"_ql_receipts", "_ql_marks"} {
		if n := rowsOf(t, d, table); n != wantLeft {
			t.Errorf("%s has %d rows, want %d", table, n, wantLeft)
		}
	}
	if kept, err := d.Receipts(t.Context(), "", [16]byte{3, 15: 1}, 1); err != nil || len(kept) != 1 || string(kept[0].Bytes) != "kept" {
		t.Errorf("of a job under way there is %v, %v", kept, err)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":1008}]` {
		t.Errorf("the rows of scripts are %s", got)
	}
	checkSettings(t, d)
}

// TestSweepReceiptsWhereNothingIs makes no database, and no tables in one that no
// job has changed; what cannot be told is left alone.
func TestSweepReceiptsWhereNothingIs(t *testing.T) {
	d := open(t, Options{})
	broken := errors.New("the store is away")
	ended := func(context.Context, [16]byte) (bool, error) { return true, broken }
	if err := d.SweepReceipts(t.Context(), ended); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(d.options.Folder); err != nil || len(entries) > 0 {
		t.Errorf("made were %v, %v", entries, err)
	}
	must(t, d, "CREATE TABLE t(a)")
	if err := d.SweepReceipts(t.Context(), ended); err != nil {
		t.Error(err)
	}
	if n := rowsOf(t, d, "sqlite_schema"); n != 1 {
		t.Errorf("the database has %d tables", n)
	}
	if _, err := withReceipt(t, d, receipt(1, 1), "INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := d.SweepReceipts(t.Context(), ended); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got := found(t, d, 1); got == "" {
		t.Error("a receipt is gone")
	}
}
