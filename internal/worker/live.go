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
	"ql/lang/bytecode"
	"ql/lang/vm"
)

// live is a job under way here, as others see it.
type live struct {
	lease  job.Lease
	cancel context.CancelCauseFunc

	done    chan struct{} // closed when the attempt is over
	last    time.Time     // when it was last shown, or began; its own goroutine\'s
	wanted  atomic.Bool   // somebody wants to see what it has done so far
	mu      sync.Mutex
	shown   job.Progress
	changed chan struct{} // closed, and replaced, when shown is
}

// show lets others see what the job has done so far, where anybody wants to: now
// and then also before anybody does, since nobody can look while an effect is
// under way. What it set on its response can be seen only where it stands at an
// effect.
func (l *live) show(m *vm.Machine, stands bool) {
	if !l.wanted.Load() && (!stands || !l.isStale(m)) {
		return
	}
	l.wanted.Store(false)
	l.last = time.Now()
	p := job.Progress{Output: bytes.Clone(m.Output()), Steps: m.Steps()}
	p.Trace, p.TraceDropped = execution.TraceSoFar(m)
	if stands {
		p.Response = execution.Response(m)
	}
	l.mu.Lock()
	if !stands {
		p.Response = l.shown.Response
	}
	l.shown = p
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
}

// showEvery is how old what can be seen of a job is at most when it begins an
// effect.
const showEvery = 50 * time.Millisecond

// isStale tells whether it is time to show the job unasked: always before an
// effect that may take long.
func (l *live) isStale(m *vm.Machine) bool {
	switch m.Effect().Kind.Info().Class {
	case bytecode.Net, bytecode.Mach:
		return true
	}
	return time.Since(l.last) >= showEvery
}

// pace is that of a job under way: where it has its turn it can be looked at.
type pace struct {
	*admit.Ticket
	attempt *attempt
}

// Turn implements engine.Pace.
func (p *pace) Turn(ctx context.Context) error {
	p.attempt.live.show(p.attempt.machine, false)
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

// look returns what the job has done so far, as of a moment ago.
func (l *live) look(ctx context.Context) job.Progress {
	l.mu.Lock()
	changed := l.changed
	l.mu.Unlock()
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
