package worker

import (
	"testing"
	"time"

	"ql/lang/bytecode"
)

// TestProgramsAreBounded keeps programs within their bytes, and remembers of a large
// one that the store has it.
func TestProgramsAreBounded(t *testing.T) {
	var p programs
	now := time.Now()
	for i := range byte(200) {
		p.keep([32]byte{i}, known{&bytecode.Program{Bytes: 1 << 20}, now})
		held := 0
		for _, k := range p.of {
			held += k.program.Bytes
		}
		if held != p.bytes || held > mostProgramBytes {
			t.Fatalf("after %d programs %d bytes are held, and %d counted", i, held, p.bytes)
		}
	}
	large := [32]byte{1, 1}
	p.keep(large, known{&bytecode.Program{Bytes: mostProgramBytes}, now})
	if k := p.find(large); k.program != nil || !k.isStored(now) {
		t.Errorf("%+v", k)
	}
}
