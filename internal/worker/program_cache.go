package worker

import (
	"context"
	"sync"
	"time"

	"ql/internal/engine"
	"ql/lang/bytecode"
)

// programCache holds the programs of jobs, and which of them the store has.
type programCache struct {
	mu    sync.Mutex
	of    map[[32]byte]cachedProgram
	bytes int // of the programs in it
}

type cachedProgram struct {
	program *bytecode.Program
	stored  time.Time // when it was last stored, as far as is known here
}

const (
	// maxPrograms bounds the programs that are held, and maxProgramBytes the
	// memory that they take.
	maxPrograms     = 256
	maxProgramBytes = 32 << 20
	// storedFor is how long a program is believed to be in the store: less than
	// the store keeps one that is not used.
	storedFor = 6 * time.Hour
)

func (p *programCache) find(hash [32]byte) cachedProgram {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[hash]
}

func (p *programCache) put(hash [32]byte, k cachedProgram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := 0
	if k.program != nil {
		size = k.program.Bytes
	}
	if size > maxProgramBytes/4 {
		k.program, size = nil, 0 // it would leave little room for others
	}
	if old := p.of[hash].program; old != nil {
		p.bytes -= old.Bytes
	}
	if p.of == nil || len(p.of) >= maxPrograms || p.bytes+size > maxProgramBytes {
		p.of, p.bytes = map[[32]byte]cachedProgram{}, 0
	}
	p.of[hash] = k
	p.bytes += size
}

// isStored reports whether the store surely has it.
func (k cachedProgram) isStored(now time.Time) bool {
	return now.Sub(k.stored).Abs() < storedFor
}

// program returns a program that a job was accepted with.
func (w *Worker) program(ctx context.Context, hash [32]byte) (*bytecode.Program, error) {
	if k := w.programs.find(hash); k.program != nil {
		return k.program, nil
	}
	code, err := w.o.Queue.Program(ctx, hash)
	if err != nil {
		return nil, err
	}
	p, err := bytecode.DecodeYielding(code, func() error { return engine.Turn(ctx) })
	if err != nil {
		return nil, err
	}
	w.programs.put(hash, cachedProgram{program: p})
	return p, nil
}
