package bytecode_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// programs compiles all scripts of the conformance suite that compile.
func programs(t testing.TB) map[string]*bytecode.Program {
	t.Helper()
	all := map[string]*bytecode.Program{}
	for _, c := range langtest.Cases(t, "../langtest/testdata/*.qlt") {
		if p, err := c.Compile(); err == nil {
			all[c.Name] = p
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d scripts compile", len(all))
	}
	return all
}

func compile(t testing.TB, script string) *bytecode.Program {
	t.Helper()
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sameValue compares constants as an Encoder sees them.
var sameValue = cmp.Comparer(func(a, b value.Value) bool {
	encode := func(v value.Value) []byte {
		e := value.NewEncoder(nil)
		e.Value(v)
		return e.Bytes()
	}
	return bytes.Equal(encode(a), encode(b))
})

func TestCodec(t *testing.T) {
	for name, p := range programs(t) {
		b := bytecode.Encode(p)
		q, err := bytecode.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(p, q, sameValue, cmpopts.IgnoreUnexported(bytecode.Program{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s is another when decoded (-want +got):\n%s", name, d)
		}
		if !bytes.Equal(bytecode.Encode(q), b) {
			t.Errorf("%s is encoded otherwise after it was decoded", name)
		}
		if w, err := bytecode.Weight(b); err != nil || p.Weigh() != p.Bytes || q.Weigh() != p.Bytes || w != int64(p.Bytes) {
			t.Errorf("%s weighs %d, stored %d and decoded %d: %v", name, p.Weigh(), w, q.Weigh(), err)
		}
	}
}

// sealed gives a body its checksum.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:16]...)
}

func TestDecodeRefuses(t *testing.T) {
	good := bytecode.Encode(compile(t, `FOR ?x IN [1, {a: "b"}] DO EMIT UPPER("{?x}") END SELECT ?x SET ?y`))
	body := good[:len(good)-16]
	change := func(at int, b byte) []byte {
		c := bytes.Clone(body)
		c[at] = b
		return sealed(c)
	}
	tests := []struct {
		name string
		b    []byte
		err  error
	}{
		{"nothing", nil, bytecode.ErrCorrupt},
		{"too little", good[:10], bytecode.ErrCorrupt},
		{"another magic", change(0, 'X'), bytecode.ErrCorrupt},
		{"another format", change(3, 5), bytecode.ErrVersion},
		{"no format", change(3, 0), bytecode.ErrVersion},
		{"another weight", change(5+32+1, body[5+32+1]^1), bytecode.ErrCorrupt},
		{"another version", change(4, bytecode.Version+1), bytecode.ErrVersion},
		{"a flag that is none", change(5+32, 4), bytecode.ErrCorrupt},
		{"something behind it", sealed(append(bytes.Clone(body), 0)), bytecode.ErrCorrupt},
		{"a snapshot's magic", change(2, 'S'), bytecode.ErrCorrupt},
	}
	for _, test := range tests {
		if _, err := bytecode.Decode(test.b); !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.err)
		}
	}
	for i := range good {
		c := bytes.Clone(good)
		c[i] ^= 1 << (i % 8)
		if _, err := bytecode.Decode(c); err == nil {
			t.Errorf("a flipped bit in byte %d was taken", i)
		}
	}
	for i := range body {
		if _, err := bytecode.Decode(sealed(body[:i])); err == nil {
			t.Errorf("the first %d bytes were taken", i)
		}
	}
}

// TestDisassemble compares whole programs, so that a change of what the
// compiler makes is seen.
func TestDisassemble(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.ql")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		langtest.Golden(t, strings.TrimSuffix(file, ".ql")+".txt", compile(t, string(text)).Disassemble())
	}
}

// TestDisassembleAll checks that every instruction of every program can be
// written.
func TestDisassembleAll(t *testing.T) {
	seen := map[bytecode.Op]bool{}
	for name, p := range programs(t) {
		text := p.Disassemble()
		if strings.Contains(text, "Op(") || strings.Contains(text, "%!") {
			t.Errorf("%s:\n%s", name, text)
		}
		for _, f := range p.Funcs {
			for _, in := range f.Traced.Instrs {
				seen[in.Op] = true
			}
		}
	}
	if len(seen) < 70 {
		t.Errorf("the programs use only %d operations", len(seen))
	}
}

// FuzzDecodeProgram gives Decode bytes whose checksum is right. What it takes
// must be exactly what Encode writes, and must run to an end within its limits.
func FuzzDecodeProgram(f *testing.F) {
	for _, script := range []string{
		`EMIT "hello"`,
		`SET ?x AS [1, 2.5, {a: "b"}] FOR ?i, ?e IN ?x DO SET ?x[0] AS ?e APPEND ?i TO ?x EMIT "{?e}{?i}" END`,
		`DEFINE f(?n, ?l DEFAULT []) IF ?n = 0 THEN RETURN ?l END RETURN f(?n - 1, ?l + [?n]) END EMIT f(5)`,
		`TRY TRANSACTION INSERT INTO t VALUES (?x.a.b, !GET('q')); FAIL "x" CODE "y" END CATCH ?x SET ?x.c AS ?x.code END`,
		`WHILE ?i < 10 DO SET ?i AS ?i DEFAULT 0 + 1 IF ?i % 2 = 0 THEN CONTINUE END EMIT HTML "<{?i}>" END`,
		`EMIT MAP(RANGE(1, 5), ?x -> ?x * NOW()), SORT_BY([2, 1], ?x -> -?x), REDUCE([1], (?a, ?b) -> ?a + ?b, 0)`,
		`USE DATABASE "a" SET "status" AS 404 OF !RESPONSE UNSET "c" OF !COOKIE CONFIRM "x" WITHIN 2 HOURS CALL g() DEFINE g() USE DATABASE "b" STOP END`,
	} {
		b := bytecode.Encode(compile(f, script))
		f.Add(b[:len(b)-16])
		b[3] = 1
		f.Add(b[:len(b)-16])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := sealed(body)
		p, err := bytecode.Decode(b)
		if err != nil {
			return
		}
		if p.Bytes != p.Weigh() || int64(p.Bytes) > 128*int64(len(b))+512 {
			t.Errorf("%d bytes are decoded to %d, and weigh %d", len(b), p.Bytes, p.Weigh())
		}
		// A program of the first format is written in the second.
		if again := bytecode.Encode(p); b[3] > 1 && !sameProgram(p, again, b) {
			t.Error("what was decoded is encoded otherwise")
		}
		_ = p.Disassemble()
		run(t, p)
	})
}

// sameProgram tells whether two stored programs are the same, but for a byte of
// each handler that is not used.
func sameProgram(p *bytecode.Program, a, b []byte) bool {
	const checksum = 16
	unused := 0
	for _, f := range p.Funcs {
		unused += len(f.Traced.Handlers) + len(f.Fast.Handlers)
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a[:len(a)-checksum] {
		if a[i] != b[i] {
			unused--
		}
	}
	return unused >= 0
}

// run runs a program under small limits.
func run(t *testing.T, p *bytecode.Program) {
	limits := vm.Limits{
		Bounds: value.Bounds{Text: 1000, Elements: 100, Nesting: 10, Pattern: 50, PatternCost: 1000},
		Fuel:   20_000, Memory: 50_000, CallDepth: 20, Output: 1000, TraceFirst: 10, TraceLast: 10,
	}
	answers := []value.Value{
		value.Null, value.True, value.Int(3), value.Text("t"), value.Bytes([]byte("b")),
		value.ListOf(value.Int(1), value.Text("x")), value.NewMap(nil, 0).Value(),
	}
	m := vm.New(p, limits, vm.Input{})
	for n := 0; m.Run(context.Background()) == vm.Pending && n < 50; n++ {
		if snapshot, err := m.Snapshot(context.Background(), nil); err != nil {
			t.Errorf("it cannot be stored: %v", err)
		} else if r, err := vm.Restore(context.Background(), nil, p, snapshot, bytes.Clone(m.Output())); err == nil {
			m.Release()
			m = r
		}
		if n%5 == 4 {
			m.ResumeError(value.Errorf("odd", "the host says no"))
			continue
		}
		m.Resume(answers[n%len(answers)])
	}
	if len(m.Output()) > limits.Output {
		t.Errorf("it has emitted %d bytes", len(m.Output()))
	}
	if steps, _ := m.Trace(); len(steps) > limits.TraceFirst+limits.TraceLast {
		t.Errorf("its trace has %d steps", len(steps))
	}
	m.Release()
}
