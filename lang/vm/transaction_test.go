package vm_test

import (
	"context"
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/langtest/gen"
	"ql/lang/vm"
)

// TestTransactionsEnd follows the transactions of random programs: each that
// begins is committed or rolled back before anything else may happen, however
// its block is left.
func TestTransactionsEnd(t *testing.T) {
	begun, commits, rollbacks, stopped := 0, 0, 0, 0
	for seed := range count(300, 1500) {
		text := gen.Program(seed, gen.Options{Statements: 20 + int(seed%30)})
		if !strings.Contains(text, "TRANSACTION") {
			continue
		}
		l := langtest.Limits()
		l.Fuel = 20e6
		l.TraceFirst = int(seed%3) * 50
		host := gen.Host{Seed: seed, Failures: int(seed % 9)}
		m := vm.New(compile(t, text), l, vm.Input{})
		open, database := false, ""
		for m.Run(context.Background()) == vm.Pending && m.Effect().Seq <= mostEffects {
			e := m.Effect()
			wrong := func(what string) {
				t.Fatalf("seed %d: effect %d, %s of line %d: %s\n%s", seed, e.Seq, e.Kind, e.Line, what, numbered(text))
			}
			v, err := host.Answer(e)
			switch {
			case e.Kind == bytecode.EffectTxBegin:
				if open {
					wrong("a TRANSACTION begins inside another")
				}
				open, database = err == nil, e.Database
				begun++
			case e.Kind == bytecode.EffectTxCommit:
				if !open {
					wrong("there is no TRANSACTION")
				}
				open = err != nil // after an error it is still to be rolled back
				commits++
			case e.Kind == bytecode.EffectTxRollback:
				if !open {
					wrong("there is no TRANSACTION")
				}
				open = false
				rollbacks++
			case open && !e.Kind.Info().InTransaction:
				wrong("it must not run inside a TRANSACTION")
			case open && e.Kind == bytecode.EffectSQL && e.Database != database:
				wrong("it goes to " + e.Database + ", the TRANSACTION to " + database)
			case !open && e.Savepoint:
				wrong("it has a savepoint outside a TRANSACTION")
			}
			if err != nil {
				m.ResumeError(err)
			} else {
				m.Resume(v)
			}
		}
		switch m.Status() {
		case vm.Done:
			stopped++
			if open {
				t.Fatalf("seed %d: the script ends well and leaves a TRANSACTION open\n%s", seed, numbered(text))
			}
		case vm.Failed:
			if open && m.Err().Limit == nil {
				t.Fatalf("seed %d: the script fails (%v) and leaves a TRANSACTION open\n%s", seed, m.Err(), numbered(text))
			}
		}
		m.Release()
	}
	t.Logf("%d begun, %d commits, %d rollbacks", begun, commits, rollbacks)
	if commits == 0 || rollbacks == 0 || stopped == 0 {
		t.Error("some way to end is never taken")
	}
}
