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
	"ql/internal/wire"
	"ql/lang/vm"
)

// liveJob is a job under way here, as others see it.
type liveJob struct {
	lease  job.Lease
	cancel context.CancelCauseFunc

	done          chan struct{} // closed when the attempt is over
	lastPublished time.Time     // or when it began; its own goroutine's
	requested     atomic.Bool   // somebody wants to see what it has done so far
	watched       atomic.Int32  // how many are notified when it has done more
	notify        func()        // notifies them
	memory        admit.Reservation
	mu            sync.Mutex
	published     job.Progress
	changed       chan struct{} // closed, and replaced, when published is
}

// publish lets others see what the job has done so far, where anybody wants to: now
// and then also before anybody does, since nobody can look while an effect is
// under way. What it set on its response can be seen only where it is at an
// effect.
func (l *liveJob) publish(t wire.TraceMode, m *vm.Machine, atEffect bool) {
	watched := l.watched.Load() > 0
	if !l.requested.Load() && !(watched && time.Since(l.lastPublished) >= notifyEvery) && (!atEffect || !l.isStale(m)) {
		return
	}
	l.requested.Store(false)
	l.lastPublished = time.Now()
	p := job.Progress{Steps: m.Steps(), JSON: m.OutputIsJSON()}
	p.Trace, p.TraceDropped = execution.TraceSoFar(t, m)
	if atEffect {
		p.Response = execution.Response(m)
	}
	if !l.copyOutput(&p, m.Output()) {
		return // others see what they saw before
	}
	l.mu.Lock()
	if !atEffect {
		p.Response = l.published.Response
	}
	l.published = p
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	if watched {
		l.notify()
	}
}

// notifyEvery is how often those who watch a job are notified of what it does.
const notifyEvery = 250 * time.Millisecond

// copyOutput puts a copy of the output into what is shown, and reserves memory for that, if
// there is some. Who looks at a job sees the output up to its end of then: what comes
// behind it can go into the same memory.
func (l *liveJob) copyOutput(p *job.Progress, output []byte) bool {
	had := l.published.Output // which nobody else changes
	p.Output = had
	if len(output) > cap(had) || !extends(had, output) {
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

// extends reports whether an output is another one and what came after it.
func extends(had, output []byte) bool {
	const end = 64 // is enough to tell: what was given is not taken back
	from := max(len(had)-end, 0)
	return len(output) >= len(had) && bytes.Equal(had[from:], output[from:len(had)])
}

func (l *liveJob) isRequested() bool { return l.requested.Load() }

// publishEvery is how old what can be seen of a job is at most when it begins an
// effect.
const publishEvery = 50 * time.Millisecond

// isStale reports whether it is time to publish the job unasked: always before an
// effect that may take long.
func (l *liveJob) isStale(m *vm.Machine) bool {
	return m.Effect().Kind.Info().Outside || time.Since(l.lastPublished) >= publishEvery
}

// pace is that of a job under way: where it has its turn it can be looked at.
type pace struct {
	*admit.Ticket
	attempt *attempt
}

// Turn implements engine.Pace.
func (p *pace) Turn(ctx context.Context) error {
	if j := p.attempt.journal; j != nil {
		j.publish(ctx)
	}
	return p.Ticket.Turn(ctx)
}

// refreshWait is how long a poll waits for a job to come by a place where it can
// be looked at.
const refreshWait = 20 * time.Millisecond

// progress returns what the job has done so far, as of a moment ago, or as it was last
// shown.
func (l *liveJob) progress(ctx context.Context, fresh bool) job.Progress {
	l.mu.Lock()
	changed, shown := l.changed, l.published
	l.mu.Unlock()
	if !fresh {
		return shown
	}
	l.requested.Store(true)
	timer := time.NewTimer(refreshWait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-l.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.published
}

func (w *Worker) isLive(id job.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live[id] != nil
}
