package vm_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/langtest/gen"
	"ql/lang/value"
	"ql/lang/vm"
)

// smallLimits end every run soon.
func smallLimits() vm.Limits {
	return vm.Limits{
		Bounds: value.Bounds{Text: 1 << 12, Elements: 500, Nesting: 20, Pattern: 100, PatternCost: 1e5},
		Fuel:   200_000, Memory: 100_000, CallDepth: 30, Output: 1 << 12, TraceFirst: 20, TraceLast: 5,
	}
}

// FuzzVM runs programs that are made of the input, or are the input, under
// small limits. Whatever they are, they end, within their limits.
func FuzzVM(f *testing.F) {
	for seed := range byte(8) {
		f.Add([]byte{seed, 1, 2, 3}, seed)
	}
	for _, b := range bombs[:20] {
		f.Add([]byte("\xff"+b.defs+b.body), uint8(0))
	}
	scripts, err := filepath.Glob("../syntax/testdata/scripts/*.ql")
	if err != nil || len(scripts) == 0 {
		f.Fatalf("no scripts: %v", err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append([]byte{0xff}, text...), uint8(3))
	}
	f.Fuzz(func(t *testing.T, input []byte, how uint8) {
		if len(input) > 1<<14 {
			return
		}
		var text string
		if len(input) > 0 && input[0] == 0xff {
			text = string(input[1:])
		} else {
			text = gen.FromBytes(input, gen.Options{Statements: 15})
		}
		p, err := lang.Compile(text, lang.Options{})
		if err != nil {
			return
		}
		l := smallLimits()
		l.TraceFirst = int(how % 30)
		host := gen.Host{Seed: uint64(how), Failures: int(how % 8)}
		m := vm.New(p, l, vm.Input{})
		for m.Run(context.Background()) == vm.Pending {
			if how%2 == 1 {
				m = restored(t, p, m)
			}
			v, err := host.Answer(m.Effect())
			if err != nil {
				m.ResumeError(err)
			} else {
				m.Resume(v)
			}
		}
		if m.Status() == vm.Ready || (m.Status() == vm.Failed) != (m.Err() != nil) {
			t.Fatalf("it ends as %d, with the error %v", m.Status(), m.Err())
		}
		if m.Live() > l.Memory || len(m.Output()) > l.Output || m.Fuel() > l.Fuel {
			t.Fatalf("%d bytes are live, %d emitted, fuel is %d", m.Live(), len(m.Output()), m.Fuel())
		}
		steps, _ := m.Trace()
		if len(steps) > l.TraceFirst+l.TraceLast {
			t.Fatalf("the trace shows %d steps", len(steps))
		}
		m.Release()
	})
}

// stored is a program and a machine of it that was stored.
type stored struct {
	prog *bytecode.Program
	moment
}

// storedMachines returns machines that stand at effects of all sorts.
func storedMachines(t testing.TB) []stored {
	var all []stored
	for _, text := range []string{
		"SET ?x AS [1, 2, 3] FOR ?i IN ?x DO EMIT 1 + LENGTH(NOW()) SET ?x AS ?x + [?i] END",
		"DEFINE f(?n, ?l) IF ?n = 0 THEN RETURN [NOW()] END TRY RETURN f(?n - 1, ?l + [?n]) CATCH ?e EMIT ?e.code END END EMIT f(4, [])",
		"SET ?m AS {a: 1} FOR ?i FROM 1 TO 20 DO SET ?m[\"k{?i}\"] AS [?i] END UNSET ?m.k3 FOR ?k, ?v IN ?m DO EMIT ?k, UUID() END",
		"DEFINE h(?n) TRY IF ?n = 0 THEN FAIL NOW() END RETURN [h(?n - 1)] FINALLY SET ?n AS NOW() EMIT ?n END END TRY EMIT h(3) CATCH ?e EMIT ?e.message END",
		"DEFINE g() USE DATABASE 'b' SELECT 1 SET ?x STOP END TRANSACTION TRY CALL g() CATCH ?e EMIT ?e END END",
		"SET ?t AS 'a' FOR ?i FROM 0 TO 1 STEP 0.25 DO SET ?t AS ?t + 'xyz' CONFIRM ?t SET ?ok END EMIT ?t",
		"SET ?l AS MAP([3, 1, 2], ?x -> {n: ?x, at: NOW()}) EMIT SORT_BY(?l, ?y -> ?y.n + RANDOM(1, 2)) WAIT 2 HOURS EMIT 'end'",
		"START SESSION SET 'k' AS [1, {a: 2}] OF !SESSION SET 'status' AS 404 OF !RESPONSE EMIT !SESSION('k'), !GET('q'), BYTES('x')",
	} {
		s := subject{text: text, prog: compile(t, text), limits: smallLimits(), host: gen.Host{Seed: 5}}
		_, moments, _ := s.history(t)
		if len(moments) == 0 {
			t.Fatalf("%s: there is no effect", text)
		}
		for _, m := range moments {
			all = append(all, stored{s.prog, m})
		}
	}
	return all
}

// TestFlippedBits checks that a snapshot with any one bit flipped is refused.
func TestFlippedBits(t *testing.T) {
	for _, s := range storedMachines(t)[:4] {
		for i := range 8 * len(s.Snapshot) {
			b := bytes.Clone(s.Snapshot)
			b[i/8] ^= 1 << (i % 8)
			if m, err := vm.Restore(context.Background(), nil, s.prog, b, s.Output); err == nil {
				m.Release()
				t.Fatalf("a snapshot with bit %d flipped is restored", i)
			}
		}
		for i := range s.Snapshot {
			if _, err := vm.Restore(context.Background(), nil, s.prog, s.Snapshot[:i], s.Output); err == nil {
				t.Fatalf("the first %d bytes of a snapshot are restored", i)
			}
		}
	}
}

// FuzzSnapshot changes snapshots. A changed one is refused; and even one whose
// checksum is right gives a machine that does no harm.
func FuzzSnapshot(f *testing.F) {
	all := storedMachines(f)
	f.Add(uint8(0), []byte{})
	for i := range all {
		f.Add(uint8(i), []byte{byte(3 * i), 0, 1})
		f.Add(uint8(i), []byte{byte(7 * i), 0, 0x80, byte(11 * i), 0, 0xff})
	}
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		s := all[int(which)%len(all)]
		b := bytes.Clone(s.Snapshot)
		// Each three bytes of changes flip bits of one byte.
		for ; len(changes) >= 3; changes = changes[3:] {
			b[(int(changes[0])|int(changes[1])<<8)%len(b)] ^= changes[2]
		}
		m, err := vm.Restore(context.Background(), nil, s.prog, b, s.Output)
		if err == nil {
			again, err := m.Snapshot(context.Background(), nil)
			if err != nil || !bytes.Equal(again, s.Snapshot) {
				t.Fatal("a changed snapshot is restored")
			}
			m.Release()
		}
		// The limits stay as they are: they bound what follows.
		copy(b, s.Snapshot[:vm.StateStart(s.Snapshot)])
		vm.Seal(b)
		if m, err = vm.Restore(context.Background(), nil, s.prog, b, s.Output); err != nil {
			return
		}
		if again, err := m.Snapshot(context.Background(), nil); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("a restored snapshot is not stored as it was: %v", err)
		}
		if weight, err := vm.Weight(b); err != nil || weight != m.Live() || weight > 2*smallLimits().Memory+1<<20 {
			t.Fatalf("what holds %d bytes was stored as %d: %v", m.Live(), weight, err)
		}
		for effects := 0; m.Run(context.Background()) == vm.Pending && effects < 1000; effects++ {
			m.Resume(value.Text("2026-01-01T00:00:00Z"))
		}
		if len(m.Output()) > smallLimits().Output {
			t.Fatalf("%d bytes are emitted", len(m.Output()))
		}
		m.Trace()
		m.Forget()
	})
}
