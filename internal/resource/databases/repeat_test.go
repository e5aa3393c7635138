package databases

import (
	"context"
	"testing"

	"ql/internal/engine"
	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// memoryJournal is a journal in memory: results, and what a change left as its
// receipt.
type memoryJournal struct {
	results, receipts map[int64]engine.Result
}

func (k *memoryJournal) BeforeEffect(context.Context, *engine.Run) error { return nil }
func (k *memoryJournal) BeforeEffectInTx(context.Context) error          { return nil }
func (k *memoryJournal) Recorded(seq int64) (engine.Result, bool) {
	t, ok := k.results[seq]
	return t, ok
}
func (k *memoryJournal) Append(t engine.Result) {
	if r, ok := k.receipts[t.Seq]; ok && t.Err == nil {
		t = r
	}
	k.results[t.Seq] = t
}
func (k *memoryJournal) Checkpoint(ctx context.Context, _ engine.Result) context.Context { return ctx }
func (k *memoryJournal) BeforeCall(context.Context, int64) (string, error)               { return "", nil }
func (k *memoryJournal) MailKey(int64) string                                            { return "" }

func (k *memoryJournal) RecordedPart(int64, int) (engine.Result, bool) {
	return engine.Result{}, false
}
func (k *memoryJournal) AppendPart(context.Context, int, engine.Result, bool) {}
func (k *memoryJournal) EndParts(context.Context) error                       { return nil }
func (k *memoryJournal) BeforeCommand(context.Context, int64) (string, bool, error) {
	return "", false, nil
}
func (k *memoryJournal) Receipt(_ context.Context, _ string, t engine.Result, fuel func() int64) *engine.Receipt {
	return &engine.Receipt{Job: [16]byte{1}, Attempt: 1, Step: t.Seq, Write: func(v value.Value) ([]byte, error) {
		t.Value, t.Fuel = v, fuel()
		k.receipts[t.Seq] = t
		return []byte("x"), nil
	}}
}

// TestRepeatedSQLCostsTheSame: a run that is told again what its statements gave,
// by the journal or by a receipt, uses the fuel that it used at first.
func TestRepeatedSQLCostsTheSame(t *testing.T) {
	const script = `
		CREATE TABLE t (id INTEGER PRIMARY KEY, n);
		INSERT INTO t (n) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 1000) SELECT i FROM c;
		SELECT sum(n) FROM t SET VALUE ?sum
		TRY SELECT nothing FROM t SET ?x CATCH ?e EMIT ?e.code END
		TRANSACTION
			FOR ?i FROM 1 TO 10 DO INSERT INTO t (n) VALUES (?i); END
			UPDATE t SET n = n + 1;
		END
		INSERT INTO t (n) VALUES (?sum) RETURNING id SET VALUE ?id
		EMIT ?sum, " ", ?id`
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(d engine.Databases, j engine.Journal) (string, int64) {
		m := vm.New(p, langtest.Limits(), vm.Input{})
		defer m.Release()
		out, err := engine.New(m, engine.Options{Resources: engine.Resources{Databases: d}, Journal: j}, engine.State{}).Continue(t.Context())
		if err != nil || out.Status != engine.Done {
			t.Fatalf("it ended %v with %v, %v", out.Status, out.Err, err)
		}
		return string(m.Output()), m.Fuel()
	}
	j := &memoryJournal{results: map[int64]engine.Result{}, receipts: map[int64]engine.Result{}}
	first, fuel := run(open(t, Options{}), j)
	if len(j.receipts) < 4 || fuel < 100_000 {
		t.Errorf("there are %d receipts, and it cost %d", len(j.receipts), fuel)
	}
	// Nothing is done again: there are no databases.
	if second, again := run(nil, j); second != first || again != fuel {
		t.Errorf("%q for %d, and repeated %q for %d", first, fuel, second, again)
	}
}
