package bytecode_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ql/lang/bytecode"
)

// TestFormatPage checks that the page on stored programs numbers operations and
// effects as the code does. Their numbers are part of the format: where this
// fails after a change in the middle of their lists, the version must change.
func TestFormatPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats/program.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	row := func(format string, args ...any) {
		t.Helper()
		if r := fmt.Sprintf(format, args...); !strings.Contains(text, "\n"+r+"\n") {
			t.Errorf("the page has no row\n%s", r)
		}
	}
	operations := 0
	for op := bytecode.Op(0); !strings.HasPrefix(op.String(), "Op("); op++ {
		row("| %d | %s | %s |", op, op, op.Parts())
		operations++
	}
	effects := 0
	for e := bytecode.Effect(1); e.Info().Name != ""; e++ {
		row("| %d | %s |", e, e)
		effects++
	}
	if n := strings.Count(text, "\n| "); operations < 80 || effects < 30 || n < operations+effects {
		t.Errorf("the page has %d rows for %d operations and %d effects", n, operations, effects)
	}
	row("| `uint` | the version of the language and of the bytecode: %d |", bytecode.Version)
	row("| `uint` | the number of its registers, at most %d |", bytecode.MaxRegs)
}
