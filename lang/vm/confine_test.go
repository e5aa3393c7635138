package vm_test

import (
	"context"
	"slices"
	"testing"

	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// TestConfined: a run with little memory either ends there, whatever it catches, or is the same to the bit as with all of
// it.
func TestConfined(t *testing.T) {
	for name, text := range map[string]string{
		"lists":    `FOR ?i FROM 1 TO 300 DO APPEND {n: ?i, t: "x" + ?i} TO ?all END EMIT LENGTH(?all)`,
		"garbage":  `FOR ?i FROM 1 TO 500 DO SET ?t AS REPEAT("x", 500) END EMIT LENGTH(?t)`,
		"output":   `FOR ?i FROM 1 TO 500 DO EMIT "0123456789" END`,
		"a result": `SET ?x AS NOW() FOR ?i FROM 1 TO 20 DO APPEND ?x + ?i TO ?all END EMIT ?all`,
		"caught":   `TRY FOR ?i FROM 1 TO 300 DO SET ?t AS REPEAT("x", 500) END CATCH ?e EMIT ?e.code END EMIT "end"`,
		"failure":  `SET ?t AS REPEAT("x", 5000) FAIL "no" CODE "no"`,
		"none":     `EMIT 1`,
	} {
		p := compile(t, text)
		limits := langtest.Limits()
		limits.Memory = 64 << 10 // so that "garbage" is measured without it too
		var hashes [][32]byte
		run := func(bytes int64) *vm.Machine {
			m := vm.New(p, limits, vm.Input{})
			if bytes >= 0 {
				m.Confine(bytes)
			}
			hashes = nil
			for m.Run(context.Background()) == vm.Pending {
				hashes = append(hashes, m.StateHash())
				m.Resume(value.Text("2026-11-18T00:00:00Z"))
			}
			return m
		}
		free := run(-1)
		want := append(hashes, free.StateHash())
		passed, ended := 0, 0
		for bytes := int64(0); bytes <= 128<<10; bytes += 997 {
			m := run(bytes)
			if e := m.Err(); e != nil && e.Limit != nil && e.Limit.Name == vm.Confined {
				if passed > 0 {
					t.Errorf("%s: %d bytes are too few, and fewer were enough", name, bytes)
				}
				ended++
				m.Release()
				continue
			}
			passed++
			m.Unconfine()
			if m.Fuel() != free.Fuel() || m.Memory() != free.Memory() || m.Steps() != free.Steps() || string(m.Output()) != string(free.Output()) || m.Status() != free.Status() {
				t.Errorf("%s: with %d bytes it is %v, %d fuel, %d bytes, %q; and %v, %d, %d, %q otherwise",
					name, bytes, m.Status(), m.Fuel(), m.Memory(), m.Output(), free.Status(), free.Fuel(), free.Memory(), free.Output())
			}
			if got := append(hashes, m.StateHash()); !slices.Equal(got, want) {
				t.Errorf("%s: with %d bytes its states are others", name, bytes)
			}
			m.Release()
		}
		if name == "garbage" && passed > 0 {
			t.Errorf("%s: a run that is measured got by", name)
		}
		if name != "garbage" && name != "caught" && passed == 0 || ended == 0 && name != "none" {
			t.Errorf("%s: %d runs got by, and %d did not", name, passed, ended)
		}
		free.Release()
	}
}
