package langtest

import (
	"testing"

	"ql/lang/lib"
	"ql/lang/vm"
)

// TestLibraryExamples runs the example of every function of the library.
func TestLibraryExamples(t *testing.T) {
	for _, b := range lib.Reference() {
		if b.Host && b.Result == "" {
			continue
		}
		c := &Case{Name: b.Name, Script: "EMIT " + b.Example}
		switch r := c.Run(Straight); {
		case r.Wrong != nil:
			t.Errorf("%s: %v", b.Name, r.Wrong)
		case len(r.Compile) > 0:
			t.Errorf("%s: %v", b.Name, r.Compile)
		case r.Status != vm.Done:
			t.Errorf("%s: %v", b.Name, r.Err)
		case r.Output != b.Result:
			t.Errorf("%s gives %q, its documentation says %q", b.Example, r.Output, b.Result)
		}
	}
}
