package worker

import (
	"context"

	"ql/internal/job"
)

// Cancel stops a job. It returns the state that the job has then: a finished
// one stays as it is, and one that runs stops soon.
func (w *Worker) Cancel(ctx context.Context, id job.ID) (job.State, error) {
	state, did, err := w.o.Queue.Cancel(ctx, id, w.o.Clock(), nil, job.DeliveryID(id))
	if err != nil {
		return "", err
	}
	if did {
		w.mu.Lock()
		w.scheduler.remove(id)
		w.mu.Unlock()
		w.notify(id)
		w.nudge() // another may have waited for its key
		w.o.OnEnded(job.Cancelled, 0)
		w.o.OnDelivery()
		w.stopAsked(ctx)
	}
	if state == job.Running {
		w.mu.Lock()
		l := w.live[id]
		w.mu.Unlock()
		if l != nil {
			l.cancel(errStopped)
		}
		w.stopAsked(ctx)
	}
	return state, nil
}
