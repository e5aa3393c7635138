package worker

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/lang/vm"
)

// live is a job under way here, as others see it.
type live struct {
	lease  job.Lease
	cancel context.CancelCauseFunc

	done    chan struct{} // closed when the attempt is over
	last    time.Time     // when it was last shown, or began; its own goroutine's
	wanted  atomic.Bool   // somebody wants to see what it has done so far
	watched atomic.Int32  // how many are told when it has done more
	tell    func()        // tells them
	memory  admit.Reservation
	mu      sync.Mutex
	shown   job.Progress
	changed chan struct{} // closed, and replaced, when shown is
}

// show lets others see what the job has done so far, where anybody wants to: now
// and then also before anybody does, since nobody can look while an effect is
// under way. What it set on its response can be seen only where it stands at an
// effect.
func (l *live) show(m *vm.Machine, stands bool) {
	watched := l.watched.Load() > 0
	if !l.wanted.Load() && !(watched && time.Since(l.last) >= tellEvery) && (!stands || !l.isStale(m)) {
		return
	}
	l.wanted.Store(false)
	l.last = time.Now()
	p := job.Progress{Steps: m.Steps()}
	p.Trace, p.TraceDropped = execution.TraceSoFar(m)
	if stands {
		p.Response = execution.Response(m)
	}
	if !l.hold(&p, m.Output()) {
		return // others see what they saw before
	}
	l.mu.Lock()
	if !stands {
		p.Response = l.shown.Response
	}
	l.shown = p
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	if watched {
		l.tell()
	}
}

// tellEvery is how often those who watch a job are told of what it does.
const tellEvery = 250 * time.Millisecond

// hold puts a copy of the output into what is shown, and reserves memory for that, if
// there is some. Who looks at a job sees the output up to its end of then: what comes
// behind it can go into the same memory.
func (l *live) hold(p *job.Progress, output []byte) bool {
	had := l.shown.Output // which nobody else changes
	p.Output = had
	if len(output) > cap(had) || !goesOn(had, output) {
		p.Output = nil
	}
	size := int64(len(p.Trace) + len(p.Response) + cap(p.Output))
	if p.Output == nil {
		size += int64(len(output) + len(output)/4)
	}
	if size < uncounted {
		size = 0
	}
	if !l.memory.TryGrow(size - l.memory.Bytes()) {
		return false
	}
	if p.Output == nil {
		p.Output = append(make([]byte, 0, len(output)+len(output)/4), output...)
	} else {
		p.Output = append(p.Output, output[len(had):]...)
	}
	l.memory.Shrink(l.memory.Bytes() - size)
	return true
}

// goesOn tells whether an output is another one and what came after it.
func goesOn(had, output []byte) bool {
	const end = 64 // is enough to tell: what was given is not taken back
	from := max(len(had)-end, 0)
	return len(output) >= len(had) && bytes.Equal(had[from:], output[from:len(had)])
}

func (l *live) isWanted() bool { return l.wanted.Load() }

// showEvery is how old what can be seen of a job is at most when it begins an
// effect.
const showEvery = 50 * time.Millisecond

// isStale tells whether it is time to show the job unasked: always before an
// effect that may take long.
func (l *live) isStale(m *vm.Machine) bool {
	return m.Effect().Kind.Info().Outside || time.Since(l.last) >= showEvery
}

// pace is that of a job under way: where it has its turn it can be looked at.
type pace struct {
	*admit.Ticket
	attempt *attempt
}

// Turn implements engine.Pace.
func (p *pace) Turn(ctx context.Context) error {
	if j := p.attempt.journal; j != nil {
		j.show(ctx)
	}
	return p.Ticket.Turn(ctx)
}

// progress is what a machine that stands has to show, its output from a place on.
func progress(m *vm.Machine, from int64) job.Progress {
	p := job.Progress{From: from, Output: bytes.Clone(m.Output()[from:]), Steps: m.Steps(), Response: execution.Response(m)}
	p.Trace, p.TraceDropped = execution.Trace(m)
	return p
}

// lookWait is how long a poll waits for a job to come by a place where it can
// be looked at.
const lookWait = 20 * time.Millisecond

// look returns what the job has done so far, as of a moment ago, or as it was last
// shown.
func (l *live) look(ctx context.Context, fresh bool) job.Progress {
	l.mu.Lock()
	changed, shown := l.changed, l.shown
	l.mu.Unlock()
	if !fresh {
		return shown
	}
	l.wanted.Store(true)
	timer := time.NewTimer(lookWait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-l.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

func (w *Worker) isLive(id job.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lives[id] != nil
}
