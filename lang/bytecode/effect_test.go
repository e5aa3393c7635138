package bytecode_test

import (
	"testing"

	"ql/lang/bytecode"
)

// TestEffectTraits checks that the table of effects does not contradict itself:
// hosts decide by one trait and rely on the others.
func TestEffectTraits(t *testing.T) {
	// Both only enclose what a transaction does.
	neither := map[bytecode.Effect]bool{bytecode.EffectTxBegin: true, bytecode.EffectTxRollback: true}
	n := 0
	for e := bytecode.EffectNone + 1; e.Info().Name != ""; e++ {
		n++
		i := e.Info()
		does := 0
		for _, trait := range []bool{i.Reads, i.Changes, i.Outside, i.Suspends} {
			if trait {
				does++
			}
		}
		if want := 1; does != want && !neither[e] || neither[e] && does != 0 {
			t.Errorf("%s does %d of reads, changes, outside and suspends", e, does)
		}
		if i.Outside != (i.Class == bytecode.ClassNet || i.Class == bytecode.ClassMachine) {
			t.Errorf("%s is of the class %s, and outside is %t", e, i.Class, i.Outside)
		}
		if i.Suspends != (i.Class == bytecode.ClassHuman || i.Class == bytecode.ClassWait) {
			t.Errorf("%s is of the class %s, and suspends is %t", e, i.Class, i.Suspends)
		}
		if i.InTransaction && (i.Outside || i.Suspends) {
			t.Errorf("%s may run inside a TRANSACTION, which cannot wait for it", e)
		}
		if i.EndsTransaction && !(i.InTransaction && i.Inner) {
			t.Errorf("%s ends a TRANSACTION and cannot run in one, or is a statement", e)
		}
		if (i.Instant || i.Secret) && !i.Reads {
			t.Errorf("%s does more than read", e)
		}
		if bytecode.EffectNamed(i.Name) != e {
			t.Errorf("%s is not found by its name", e)
		}
	}
	if n < 30 {
		t.Errorf("there are only %d effects", n)
	}
	if e := bytecode.EffectNamed("none"); e != bytecode.EffectNone {
		t.Errorf("no effect is %v", e)
	}
}

// TestOnlyReads: of all effects those leave everything as it is that read or wait, and SELECT.
func TestOnlyReads(t *testing.T) {
	for e := bytecode.EffectNone + 1; e.Info().Name != ""; e++ {
		i := e.Info()
		if got, want := e.OnlyReads(nil), i.Reads || i.Suspends; got != want || got && (i.Changes || i.Outside) {
			t.Errorf("%s: %t", e, got)
		}
	}
	for head, want := range map[string]bool{"SELECT": true, "WITH": false, "INSERT": false, "UPDATE": false, "EXPLAIN": false, "PRAGMA": false, "CREATE": false} {
		s := &bytecode.Statement{Head: head}
		if got := bytecode.EffectSQL.OnlyReads(s); got != want {
			t.Errorf("%s: %t", head, got)
		}
		if bytecode.EffectSQLFile.OnlyReads(s) {
			t.Errorf("%s into a file only reads", head)
		}
	}
}
