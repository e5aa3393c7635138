package bytecode_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ql/lang"
	"ql/lang/bytecode"
)

// TestMutatedPrograms changes instructions of real programs. Whatever Verify
// lets through must run to an end without a panic.
func TestMutatedPrograms(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	var originals [][]byte
	all := programs(t)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		originals = append(originals, bytecode.Encode(all[name]))
	}
	taken := 0
	for seed, b := range originals {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for range rounds {
			if mutateAndRun(t, b, r) {
				taken++
			}
		}
	}
	if taken < len(originals)*rounds/20 {
		t.Errorf("Verify let only %d of %d programs through", taken, len(originals)*rounds)
	}
}

// FuzzMutatedProgram is the same with scripts and changes of the fuzzer's
// choice.
func FuzzMutatedProgram(f *testing.F) {
	f.Add(`SET ?x AS [1] FOR ?i FROM 1 TO 3 DO APPEND ?x TO ?x EMIT MAP(?x, ?y -> [?y]) END`, uint64(1))
	f.Add(`DEFINE f() FOR ?x IN [1] DO TRY TRY CONTINUE FINALLY EMIT 1 END CATCH BREAK FINALLY EMIT 2 END TRY RETURN ?x FINALLY EMIT 1 END END END`, uint64(3))
	f.Add(`TRY TRANSACTION SELECT ?x SET ?y CALL f(?y) END CATCH ?x END DEFINE f(?a) USE DATABASE "a" STOP END`, uint64(2))
	f.Fuzz(func(t *testing.T, script string, seed uint64) {
		if len(script) > 1000 {
			return
		}
		p, err := lang.Compile(script, lang.Options{})
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		b := bytecode.Encode(p)
		for range 10 {
			mutateAndRun(t, b, r)
		}
	})
}

// mutateAndRun changes a few instructions of a stored program and runs it if
// Verify takes it. A change may stand alone or take the parts of another
// instruction of the program, which fit more often than random ones.
func mutateAndRun(t *testing.T, b []byte, r *rand.Rand) bool {
	p, err := bytecode.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for range 1 + r.IntN(4) {
		f := p.Funcs[r.IntN(len(p.Funcs))]
		c := &f.Traced
		if len(f.Fast.Instrs) > 0 && r.IntN(2) == 0 {
			c = &f.Fast
		}
		in := &c.Instrs[r.IntN(len(c.Instrs))]
		other := c.Instrs[r.IntN(len(c.Instrs))]
		switch r.IntN(6) {
		case 0:
			in.Op = other.Op
		case 1:
			in.A = uint8(r.IntN(f.Regs + 1))
		case 2:
			in.B = uint8(r.IntN(f.Regs + 1))
		case 3:
			in.C = uint8(r.IntN(f.Regs + 1))
		case 4:
			in.Imm = other.Imm
		default:
			*in = other
		}
	}
	if bytecode.Verify(p) != nil {
		return false
	}
	run(t, p)
	return true
}
