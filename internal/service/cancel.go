package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/job"
)

// stopWait is how long a cancel waits for a job to stop.
const stopWait = 2 * time.Second

// Cancel stops a job. One that is finished stays as it is.
func (s *Service) Cancel(ctx context.Context, c Caller, text string, p *Credentials) (Answer, error) {
	o, a, err := s.findJob(ctx, c, text, p, 0)
	if err != nil {
		return a, err
	}
	if !o.State.Finished() {
		if _, err := s.o.Jobs.Cancel(context.WithoutCancel(ctx), o.ID); err != nil && !errors.Is(err, job.ErrNotFound) {
			return a, err
		}
		if o.View, err = s.jobHead(ctx, o.ID); err == nil {
			err = s.awaitJob(ctx, o.View, stopWait, func(v *job.View) bool { return v.State.Finished() })
		}
		if err != nil {
			return a, err
		}
	}
	if o.View, a, err = s.poll(ctx, c, &o, a); err == nil && !o.State.Finished() {
		a.Status = 202
	}
	return a, err
}
