package worker

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
	"ql/lang/bytecode"
)

// Other processes may share the store. What they do is found by looking, each second at least, and sooner where
// they give a hint.

// lookElsewhere is how often those who watch a job that does not run here are told to look again.
const lookElsewhere = time.Second

// onHint is called with what other processes, and this one, tell.
func (w *Worker) onHint(h member.Hint) {
	switch {
	case h == member.HintChange:
		select {
		case w.renewSoon <- struct{}{}:
		default:
		}
	case h.IsDue(w.session.Member().Incarnation):
		w.nudge()
		w.onShareHint()
	}
}

// hint tells the other processes of something, where there are any.
func (w *Worker) hint(h member.Hint) {
	if w.o.Hints != nil {
		w.o.Hints.Send(h)
	}
}

// elsewhere is whether another process is to run a job, and what tells it so: only one has what the job needs, and every look
// of another at what is due is in vain.
type elsewhere struct {
	is   bool
	hint member.Hint
}

// runsElsewhere tells whether a program of an account needs what only another process has.
func (w *Worker) runsElsewhere(ctx context.Context, a account.ID, p *bytecode.Program) elsewhere {
	err := w.o.Host.CheckDatabases(ctx, a, p)
	if err == nil {
		return elsewhere{}
	}
	var at interface{ Incarnation() int64 }
	if errors.As(err, &at) {
		return elsewhere{true, member.HintDueFor(at.Incarnation())}
	}
	return elsewhere{true, member.HintDue}
}

// watchElsewhere tells those who watch jobs that do not run here to look at them again.
func (w *Worker) watchElsewhere(ctx context.Context) {
	ticker := time.NewTicker(lookElsewhere)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, id := range w.watchedElsewhere() {
			w.notify(id)
		}
	}
}

func (w *Worker) watchedElsewhere() (list []job.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.topics {
		if w.live[id] == nil {
			list = append(list, id)
		}
	}
	return list
}
