package worker

import (
	"testing"
	"time"

	"ql/lang/bytecode"
)

// TestProgramsAreBounded keeps programs within their bytes, and remembers of a large
// one that the store has it.
func TestProgramsAreBounded(t *testing.T) {
	var p programCache
	now := time.Now()
	for i := range byte(200) {
		p.put([32]byte{i}, cachedProgram{&bytecode.Program{Bytes: 1 << 20}, now})
		held := 0
		for _, k := range p.of {
			held += k.program.Bytes
		}
		if held != p.bytes || held > maxProgramBytes {
			t.Fatalf("after %d programs %d bytes are held, and %d counted", i, held, p.bytes)
		}
	}
	large := [32]byte{1, 1}
	p.put(large, cachedProgram{&bytecode.Program{Bytes: maxProgramBytes}, now})
	if k := p.find(large); k.program != nil || !k.isStored(now) {
		t.Errorf("%+v", k)
	}
}
