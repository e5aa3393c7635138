package bytecode_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// many is a script with n of everything that fills a program.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `
			DEFINE f%[1]d(?a) IF ?a > 0 THEN RETURN f%[1]d(?a - 1) END TRY RETURN %[1]d.5 CATCH ?e RETURN {k%[1]d: ["a", "a", "", "%[2]s"]} END END
			SET ?x AS f%[1]d("const %[1]d") EMIT "{?x} and {?x}"
			SELECT a, b FROM t WHERE x = ?x AND y IN ?x SET ?y
			FOR ?i IN ["%[1]d", "%[1]d"] DO EMIT UPPER(?i) END
			WAIT %[3]d SECONDS`, i, strings.Repeat("long ", 10), i+1)
	}
	return b.String()
}

// inThirdFormat takes the names of variables out of a program, and returns it as an
// earlier release stored it: without a list of names for each function at the end.
func inThirdFormat(t testing.TB, p *bytecode.Program) []byte {
	t.Helper()
	for _, f := range p.Funcs {
		f.Vars = nil
	}
	p.Bytes = p.Weigh()
	b := bytecode.Encode(p)
	c := bytes.Clone(b[:len(b)-16-len(p.Funcs)])
	c[3] = 3
	return sealed(c)
}

// inSecondFormat returns a program of the third format without INPUT FIELDS, which is
// null as the last byte, as a still earlier release wrote it.
func inSecondFormat(t testing.TB, b []byte) []byte {
	t.Helper()
	c := bytes.Clone(b[:len(b)-16-1])
	c[3] = 2
	return sealed(c)
}

// inFirstFormat returns it as a still earlier release did.
func inFirstFormat(t testing.TB, b []byte) []byte {
	t.Helper()
	c := inSecondFormat(t, b)
	c = c[:len(c)-16]
	c[3] = 1
	c[len("QLP")+2+sha256.Size+1] ^= 1 // what it weighs was an estimate
	return sealed(c)
}

// TestInput stores what a script says of its input.
func TestInput(t *testing.T) {
	p := compile(t, `INPUT FIELDS name TEXT REQUIRED LABEL "Name", c CHOICES {a: "A", b: "B"} DEFAULT ["a"] EMIT !INPUT`)
	b := bytecode.Encode(p)
	q, err := bytecode.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"title":null,"fields":[{"name":"name","kind":"text","required":true,"label":"Name"},` +
		`{"name":"c","kind":"choices","required":false,"choices":{"a":"A","b":"B"},"default":["a"]}]}`
	for _, p := range []*bytecode.Program{p, q} {
		if got := string(value.AppendJSON(nil, p.Input)); got != want {
			t.Errorf("the input is %s", got)
		}
		if p.Bytes != p.Weigh() || p.Weigh() <= compile(t, "EMIT !INPUT").Weigh() {
			t.Errorf("it says that it weighs %d, and weighs %d", p.Bytes, p.Weigh())
		}
	}
	p.Input = value.NewMap(nil, 0).Value().Freeze()
	p.Bytes = p.Weigh()
	if q, err = bytecode.Decode(bytecode.Encode(p)); err != nil || strings.Contains(q.Disassemble(), "input ") {
		t.Errorf("an input without fields, which the machine refuses: %v", err)
	}
	p.Input = value.Int(1)
	if _, err := bytecode.Decode(bytecode.Encode(p)); !errors.Is(err, bytecode.ErrCorrupt) {
		t.Errorf("an input that is a number: %v", err)
	}
}

// TestWeight checks that programs weigh the same compiled, stored and decoded, and
// that decoding takes work in proportion.
func TestWeight(t *testing.T) {
	for _, n := range []int{1, 30, 1000} {
		p := compile(t, many(n))
		if p.Bytes != p.Weigh() {
			t.Errorf("a program that weighs %d says %d", p.Weigh(), p.Bytes)
		}
		wrote, read := 0, 0
		b, err := bytecode.EncodeYielding(p, func() error { wrote++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if w, err := bytecode.Weight(b); err != nil || w != int64(p.Bytes) {
			t.Errorf("a program of %d bytes is stored as one of %d: %v", p.Bytes, w, err)
		}
		q, err := bytecode.DecodeYielding(b, func() error { read++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if q.Bytes != p.Bytes || q.Weigh() != p.Bytes {
			t.Errorf("a program of %d bytes is decoded as one of %d, and weighs %d", p.Bytes, q.Bytes, q.Weigh())
		}
		least, most := len(b)>>16, 3+4*len(b)>>16
		if wrote < least || wrote > most || read < least || read > most {
			t.Errorf("a program of %d bytes is written with %d yields and read with %d", len(b), wrote, read)
		}

		b = inThirdFormat(t, p)
		if q, err = bytecode.Decode(b); err != nil || q.Bytes != p.Bytes {
			t.Errorf("a program of %d bytes is not decoded from the third format: %v", p.Bytes, err)
		}
		if q, err = bytecode.Decode(inSecondFormat(t, b)); err != nil || q.Bytes != p.Bytes {
			t.Errorf("a program of %d bytes is not decoded from the second format: %v", p.Bytes, err)
		}
		old := inFirstFormat(t, b)
		q, err = bytecode.Decode(old)
		if err != nil {
			t.Fatal(err)
		}
		if q.Bytes != p.Bytes {
			t.Errorf("a program of %d bytes is decoded from the first format as one of %d", p.Bytes, q.Bytes)
		}
		if w, err := bytecode.Weight(old); err != nil || w < int64(p.Bytes) {
			t.Errorf("a program of %d bytes in the first format is said to weigh %d: %v", p.Bytes, w, err)
		}
	}
}

// TestYieldEnds checks that the error of a yield ends what is under way, and is
// not taken for a corrupt program.
func TestYieldEnds(t *testing.T) {
	p := compile(t, many(1000))
	errEnd := errors.New("no more turns")
	after := func(n int) func() error {
		return func() error {
			if n--; n < 0 {
				return errEnd
			}
			return nil
		}
	}
	b := bytecode.Encode(p)
	for n := range len(b) >> 16 {
		if _, err := bytecode.EncodeYielding(p, after(n)); !errors.Is(err, errEnd) {
			t.Errorf("writing with %d yields: %v", n, err)
		}
		if _, err := bytecode.DecodeYielding(b, after(n)); !errors.Is(err, errEnd) || errors.Is(err, bytecode.ErrCorrupt) {
			t.Errorf("reading with %d yields: %v", n, err)
		}
	}
}

// TestWeightOfParts compares what the parts of a program weigh with what they are.
func TestWeightOfParts(t *testing.T) {
	size := func(v any) int { return int(reflect.TypeOf(v).Size()) }
	for name, test := range map[string]struct{ weight, is int }{
		"text":      {bytecode.TextSize, size("")},
		"template":  {bytecode.TemplateSize, size(bytecode.Template{})},
		"statement": {bytecode.StatementSize, size(bytecode.Statement{})},
		"step":      {bytecode.StepSize, size(bytecode.Step{})},
		"site":      {bytecode.SiteSize, size(bytecode.Site{})},
		"function":  {bytecode.FuncSize, size(bytecode.Func{}) + size(&bytecode.Func{})},
		"instr":     {bytecode.InstrSize, 2*size(bytecode.Instr{}) + 1},
		"mark":      {bytecode.MarkSize, size(bytecode.Mark{})},
		"handler":   {bytecode.HandlerSize, size(bytecode.Handler{})},
		"program":   {bytecode.ProgramSize, size(bytecode.Program{})},
	} {
		if test.weight < test.is || test.weight > test.is+128 && name != "program" {
			t.Errorf("a %s weighs %d and has %d bytes", name, test.weight, test.is)
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

// TestWeightInMemory compares what programs weigh with what they take, compiled
// and decoded, once they have run: they hold nothing of the texts that they were
// made of.
func TestWeightInMemory(t *testing.T) {
	for name, make := range map[string]func(int) *bytecode.Program{
		"compiled": func(i int) *bytecode.Program {
			// The comment is not kept.
			p, err := lang.Compile(strings.Repeat("-- a comment\n", 200_000)+many(300+i), lang.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		"decoded": func(i int) *bytecode.Program {
			p, err := bytecode.Decode(bytecode.Encode(compile(t, many(300+i))))
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			make(0)
			all, weight := []*bytecode.Program{}, int64(0)
			before := heap()
			for i := range 5 {
				p := make(i)
				m := vm.New(p, langtest.SmallLimits(), vm.Input{})
				m.Run(t.Context())
				if _, err := m.Snapshot(t.Context(), nil); m.Status() == vm.Pending && err != nil {
					t.Fatal(err)
				}
				m.Release()
				all = append(all, p)
				weight += int64(p.Bytes)
			}
			took := heap() - before
			runtime.KeepAlive(all)
			t.Logf("they weigh %d and take %d", weight, took)
			if took > weight*5/4+1<<20 || took < weight/2 {
				t.Errorf("programs that weigh %d bytes take %d", weight, took)
			}
		})
	}
}
