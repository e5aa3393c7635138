package vm_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// waiting runs a script to its first effect.
func waiting(t testing.TB, l vm.Limits, script string, in vm.Input) *vm.Machine {
	t.Helper()
	m := vm.New(compile(t, script), l, in)
	if s := m.Run(context.Background()); s != vm.Pending {
		t.Fatalf("%.100s: it is in state %d: %v", script, s, m.Err())
	}
	return m
}

// paces counts how often it is asked, and gives out after a while.
type paces struct{ taken, most int }

var errTurns = errors.New("there are no more turns")

func (p *paces) Turn(ctx context.Context) error {
	if p.taken++; p.taken > p.most {
		return errTurns
	}
	return ctx.Err()
}

// resumes stores a machine and restores it, and checks that the two are the same,
// that they weigh the same, and that the work was in proportion to what is stored.
func resumes(t testing.TB, p *bytecode.Program, m *vm.Machine) {
	t.Helper()
	const many = 1 << 20
	encoding, decoding := &paces{most: many}, &paces{most: many}
	b, err := m.Snapshot(t.Context(), encoding)
	if err != nil {
		t.Fatal(err)
	}
	weight, err := vm.Weight(b)
	if err != nil || weight != m.Live() {
		t.Errorf("a machine that holds %d bytes is stored as one that holds %d: %v", m.Live(), weight, err)
	}
	again, err := vm.Restore(t.Context(), decoding, p, b, m.Output())
	if err != nil {
		t.Fatalf("a machine that holds %d bytes is stored in %d, and not restored: %v", m.Live(), len(b), err)
	}
	if again.Live() != m.Live() || again.StateHash() != m.StateHash() {
		t.Errorf("a machine that holds %d bytes is restored as another, which holds %d", m.Live(), again.Live())
	}
	// Each byte is written, read, and looked at for the checksum; and of a key that
	// was read before, a little for each entry.
	if limit := 2 + 3*(len(b)+int(weight)*32)>>16; encoding.taken > limit || decoding.taken > limit {
		t.Errorf("%d bytes in a snapshot of %d take %d turns to write and %d to read, more than %d", weight, len(b), encoding.taken, decoding.taken, limit)
	}
	if least := len(b) >> 17; encoding.taken < least || decoding.taken < least {
		t.Errorf("%d bytes take %d turns to write and %d to read: others wait", len(b), encoding.taken, decoding.taken)
	}
	again.Release()
}

// TestRestoreNearTheLimit fills the memory of a plan with one sort of values.
func TestRestoreNearTheLimit(t *testing.T) {
	for name, script := range map[string]string{
		"zeros":               "SET ?l AS RANGE(1, 100000) FOR ?i FROM 0 TO 99999 DO SET ?l[?i] AS 0 END SET ?all AS [] FOR ?i FROM 1 TO 18 DO SET ?l[0] AS 0 APPEND ?l TO ?all END",
		"booleans":            "SET ?l AS MAP(RANGE(1, 100000), ?x -> TRUE) SET ?all AS [] FOR ?i FROM 1 TO 18 DO SET ?l[0] AS ?i = 1 APPEND ?l TO ?all END",
		"empty maps":          "SET ?all AS [] FOR ?i FROM 1 TO 100000 DO APPEND {} TO ?all END",
		"small maps":          "SET ?all AS [] FOR ?i FROM 1 TO 50000 DO APPEND {a: ?i, b: [?i]} TO ?all END",
		"short texts":         "SET ?all AS [] FOR ?i FROM 1 TO 100000 DO APPEND \"{?i}\" TO ?all END",
		"keys of the library": "SET ?all AS FIND_ALL(REPEAT('ab', 9000), '(a)(b)')",
		"shared lists":        "SET ?all AS [] SET ?l AS [[1], [2]] FOR ?i FROM 1 TO 100000 DO APPEND ?l TO ?all END",
	} {
		t.Run(name, func(t *testing.T) {
			script += " WAIT 1 SECOND"
			l := langtest.SmallLimits()
			l.Fuel = 1e9
			m := waiting(t, l, script, vm.Input{})
			defer m.Release()
			t.Logf("%d of %d bytes", m.Live(), l.Memory)
			resumes(t, compile(t, script), m)
		})
	}
}

// TestNamesOfGroups holds on to the names of many groups: they count as any other
// texts, and fit when they are restored.
func TestNamesOfGroups(t *testing.T) {
	script := `SET ?all AS [] FOR ?i FROM 1 TO 3000 DO APPEND FIND("a", "(?P<n{?i}_" + REPEAT("x", 1000) + ">a)").names TO ?all END WAIT 1 SECOND`
	l := langtest.Limits()
	l.Fuel = 1 << 50
	m := waiting(t, l, script, vm.Input{})
	if m.Live() < 3000*1000 {
		t.Errorf("3000 names of 1000 bytes weigh %d", m.Live())
	}
	resumes(t, compile(t, script), m)
	m.Release()
}

// TestRestoreReferences stores many references to one thing: neither a text nor a
// key is looked at again for each.
func TestRestoreReferences(t *testing.T) {
	n, maps := "1000000", "30000"
	if testing.Short() {
		n, maps = "50000", "3000"
	}
	for name, script := range map[string]string{
		"a text":          "SET ?t AS REPEAT('äb', 1000000) SET ?all AS MAP(RANGE(1, #), ?x -> ?t)",
		"a long key":      "SET ?t AS REPEAT('äb', 1000000) SET ?m AS {} FOR ?i FROM 1 TO 9 DO SET ?m[\"{?i}\"] AS ?i END SET ?m[?t] AS 1 SET ?all AS MAP(RANGE(1, MAPS), ?x -> ?m + {z: ?x})",
		"long keys alike": "SET ?t AS REPEAT('x', 1000000) SET ?m AS {} SET ?m[?t + 'a'] AS 1 SET ?m[?t + 'b'] AS 1 SET ?m[?t + 'c'] AS 1 SET ?all AS MAP(RANGE(1, MAPS), ?x -> ?m + {z: ?x})",
		"keys in a text":  "SET ?t AS REPEAT('x', 100000) SET ?m AS {} FOR ?i FROM 1 TO 20000 DO SET ?t AS ?t + 'yyyyy' SET ?m[?t] AS ?i END",
	} {
		t.Run(name, func(t *testing.T) {
			script = strings.NewReplacer("#", n, "MAPS", maps).Replace(script) + " WAIT 1 SECOND"
			m := waiting(t, langtest.LargeLimits(), script, vm.Input{})
			defer m.Release()
			resumes(t, compile(t, script), m)
		})
	}
}

// TestRestoreEnds checks that storing and restoring end where the context or the
// pace says so, and that the state is not taken for a corrupt one then.
func TestRestoreEnds(t *testing.T) {
	script := "SET ?all AS MAP(RANGE(1, 100000), ?x -> \"number {?x}\") WAIT 1 SECOND"
	m := waiting(t, langtest.Limits(), script, vm.Input{})
	defer m.Release()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := m.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Snapshot(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("storing after the end: %v", err)
	}
	if _, err := vm.Restore(ended, nil, compile(t, script), b, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("restoring after the end: %v", err)
	}
	all := &paces{most: 1 << 20}
	if _, err := vm.Restore(t.Context(), all, compile(t, script), b, nil); err != nil {
		t.Fatal(err)
	}
	for n := range all.taken {
		p := &paces{most: n}
		if _, err := vm.Restore(t.Context(), p, compile(t, script), b, nil); !errors.Is(err, errTurns) || p.taken > n+1 {
			t.Errorf("restoring with %d of %d turns: %v, and %d were taken", n, all.taken, err, p.taken)
		}
	}
	for n := range len(b) >> 16 {
		if _, err := m.Snapshot(t.Context(), &paces{most: n}); !errors.Is(err, errTurns) {
			t.Errorf("storing with %d turns: %v", n, err)
		}
	}
}

// TestRestoreWeight checks that a snapshot must say what its values weigh.
func TestRestoreWeight(t *testing.T) {
	script := "SET ?l AS [1, 'x', {a: NOW()}] WAIT 1 SECOND"
	m := vm.New(compile(t, script), langtest.SmallLimits(), vm.Input{})
	m.Run(t.Context())
	b, err := m.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const weight, checksum = 8, 16
	at := len(b) - checksum - weight
	for _, change := range []byte{1, 0xff} {
		for i := range weight {
			c := bytes.Clone(b)
			c[at+i] += change
			vm.Seal(c)
			if _, err := vm.Restore(t.Context(), nil, compile(t, script), c, nil); !errors.Is(err, vm.ErrCorrupt) {
				t.Errorf("byte %d of the weight changed by %d: %v", i, change, err)
			}
		}
	}
}

// TestInputIsCharged checks that the input counts from the start.
func TestInputIsCharged(t *testing.T) {
	get := value.NewMap(nil, 0)
	get.SetText("t", value.Text(strings.Repeat("x", 1<<20)))
	l := langtest.SmallLimits()
	l.Memory = 3 << 20
	in := vm.Input{Get: get.Value()}
	script := "SET ?t AS REPEAT('x', #) WAIT 1 SECOND"
	m := waiting(t, l, strings.ReplaceAll(script, "#", "1000000"), in)
	resumes(t, compile(t, strings.ReplaceAll(script, "#", "1000000")), m)
	m.Release()

	l.Text = 4 << 20
	m = vm.New(compile(t, strings.ReplaceAll(script, "#", "2500000")), l, in)
	if s := m.Run(t.Context()); s != vm.Failed || m.Err().Limit == nil || m.Err().Limit.Name != "memory" {
		t.Errorf("with an input of 1 MB and a text of 2.5 MB in 3 MiB it is in state %d: %v", s, m.Err())
	}
	m.Release()

	l.Memory = 1 << 20
	m = vm.New(compile(t, "WAIT 1 SECOND"), l, in)
	if s := m.Run(t.Context()); s != vm.Failed || m.Err().Limit == nil || m.Err().Limit.Name != "memory" {
		t.Errorf("with an input larger than the memory it is in state %d: %v", s, m.Err())
	}
	m.Release()
}

// TestRestoreJSON stores a machine whose output is one value: the restored one knows
// that, and nothing else is taken for it.
func TestRestoreJSON(t *testing.T) {
	script := "EMIT JSON [1] WAIT 1 SECOND EMIT 2"
	prog := compile(t, script)
	m := waiting(t, langtest.Limits(), script, vm.Input{})
	defer m.Release()
	b, err := m.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := vm.Restore(t.Context(), nil, prog, b, m.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	if !again.OutputIsJSON() || string(again.Output()) != "[1]" {
		t.Errorf("it is restored with %q, which is JSON: %t", again.Output(), again.OutputIsJSON())
	}
	again.Resume(value.Null)
	if s := again.Run(t.Context()); s != vm.Failed || again.Err().Code != "emit_conflict" || string(again.Output()) != "[1]" {
		t.Errorf("it goes on to %d, %v, and has emitted %q", s, again.Err(), again.Output())
	}
	flag := vm.JSONFlag(b)
	if b[flag] != 1 || b[flag-1] != 3 {
		t.Fatalf("the flag is %d after %d bytes of output", b[flag], b[flag-1])
	}
	for _, wrong := range []struct{ flag, output byte }{{2, 3}, {1, 0}, {255, 3}} {
		b[flag], b[flag-1] = wrong.flag, wrong.output
		vm.Seal(b)
		if _, err := vm.Restore(t.Context(), nil, prog, b, m.Output()); !errors.Is(err, vm.ErrCorrupt) {
			t.Errorf("the flag %d after %d bytes: %v", wrong.flag, wrong.output, err)
		}
	}
}
