package service

import (
	"bytes"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/wire"
)

// machineBytes is how much of what commands put out waits for one who listens. No command waits for
// that: what is more is skipped, and who listens is told how much.
const machineBytes = 64 << 10

// machinesEvery is how often who listens is told, so that a command that puts out byte by byte costs no
// more than others.
const machinesEvery = 100 * time.Millisecond

// machinePieces are what commands of a job have put out and who listens was not told. A nil one has none.
type machinePieces struct {
	unwatch func()
	timer   *time.Timer // fires when there is something to tell

	mu      sync.Mutex
	armed   bool              // the timer runs
	memory  admit.Reservation // for pieces, and for what is sent of them
	sent    int64             // of memory, for what was told last
	pieces  []engine.MachineOutput
	bytes   int
	skipped int64 // behind the last of them
	stopped bool
}

func (s *Service) listenMachines(id job.ID, a account.ID) *machinePieces {
	p := &machinePieces{timer: time.NewTimer(0), memory: s.o.Ledger.Open(admit.AccountHolder(int64(a)))}
	p.timer.Stop()
	p.unwatch = s.o.Jobs.WatchMachines(id, p.take)
	return p
}

// pieceBytes is what a piece takes besides its own bytes, and escaped is how many times longer those
// are in their written form at most.
const (
	pieceBytes = 256
	escaped    = 6
)

// take notes what a command puts out.
func (p *machinePieces) take(o engine.MachineOutput) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if !p.armed {
		p.armed = true
		p.timer.Reset(machinesEvery)
	}
	last := len(p.pieces) - 1
	joins := last >= 0 && p.skipped == 0 && p.pieces[last].Machine == o.Machine && p.pieces[last].Line == o.Line && p.pieces[last].Stderr == o.Stderr
	size := len(o.Piece)
	if !joins {
		size += pieceBytes + len(o.Machine)
	}
	switch {
	case p.skipped > 0 || p.bytes+size > machineBytes || !p.memory.TryGrow(int64(size)*(1+escaped)):
		p.skipped += int64(len(o.Piece))
		if last < 0 {
			o.Piece = nil
			p.pieces = append(p.pieces, o)
		}
	case joins:
		p.bytes += size
		p.pieces[last].Piece = append(p.pieces[last].Piece, o.Piece...)
	default:
		p.bytes += size
		o.Piece = bytes.Clone(o.Piece)
		p.pieces = append(p.pieces, o)
	}
}

// due gets a value when there is something to tell.
func (p *machinePieces) due() <-chan time.Time {
	if p == nil {
		return nil
	}
	return p.timer.C
}

// next returns what was not told. What it returned before is not used any more.
func (p *machinePieces) next(position int64) (list []Event) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory.Shrink(p.sent)
	p.sent, p.armed = p.memory.Bytes(), false
	for i, o := range p.pieces {
		skipped := int64(0)
		if i == len(p.pieces)-1 {
			skipped = p.skipped
		}
		list = append(list, Event{Kind: EventMachine, Data: wire.AppendMachineOutput(nil, o.Machine, o.Line, o.Stderr, o.Piece, skipped), Position: position})
	}
	p.pieces, p.bytes, p.skipped = nil, 0, 0
	return list
}

// stop ends it.
func (p *machinePieces) stop() {
	if p == nil {
		return
	}
	p.unwatch()
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true // a command may be about to tell
	p.pieces = nil
	p.memory.Release()
}
