package vm_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLoopHasNoSmallCalls checks that the machine's loop is not so large that the compiler leaves calls of small functions in it.
func TestLoopHasNoSmallCalls(t *testing.T) {
	said, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	inlined := 0
	for line := range strings.Lines(string(said)) {
		for _, small := range []string{"value.(*List).LoadPacked", "value.(*List).StorePacked", "value.Value.CopyScalar", "value.IsBroken"} {
			if strings.Contains(line, "run.go:") && strings.HasSuffix(strings.TrimSpace(line), "inlining call to "+small) {
				inlined++
			}
		}
	}
	if inlined < 20 {
		t.Errorf("%d calls of small functions are put into run.go: is the loop too large?", inlined)
	}
}
