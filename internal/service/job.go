package service

import (
	"context"
	"time"

	"ql/internal/job"
)

// Job shows a job. Where it is neither finished nor paused, it is waited for
// so long.
func (s *Service) Job(ctx context.Context, c Caller, text string, p *Credentials, wait time.Duration) (Answer, error) {
	o, a, err := s.findJob(ctx, c, text, p, 0)
	if err != nil {
		return a, err
	}
	settled := func(v *job.View) bool { return v.State.Finished() || v.State == job.Paused }
	if wait > 0 && !settled(o.View) {
		leave, err := s.enterListeners(ctx, c, o.owner)
		if err != nil {
			return a, err
		}
		err = s.awaitJob(ctx, o.View, wait, settled)
		leave()
		if err != nil {
			return a, err
		}
	}
	_, a, err = s.poll(ctx, c, &o, a)
	return a, err
}

// poll answers with a job that was found as it is now.
func (s *Service) poll(ctx context.Context, c Caller, o *foundJob, a Answer) (*job.View, Answer, error) {
	v, err := s.jobView(ctx, c.Memory, o.ID)
	if err != nil {
		return v, a, err
	}
	a, err = s.pollAnswer(v, o.answers, a)
	return v, a, err
}

// pollAnswer answers a poll.
func (s *Service) pollAnswer(v *job.View, answers bool, a Answer) (_ Answer, err error) {
	a.Job, err = s.jobAnswer(v, answers)
	a.Status, a.RetryAfter = 200, s.pollInterval(v)
	return a, err
}

// pollInterval says when a job is worth another look.
func (s *Service) pollInterval(v *job.View) time.Duration {
	const soon, late = time.Second, time.Minute
	switch v.State {
	case job.Accepted, job.Running:
		return soon
	case job.Waiting:
		return min(max(v.Until.Sub(s.o.Clock()), soon), late)
	}
	return 0
}

// recheckInterval is how often a job is looked at that may have changed elsewhere.
const recheckInterval = 10 * time.Second

// awaitJob returns when a job is as it should be, or after some time. It holds nothing of
// the job meanwhile.
func (s *Service) awaitJob(ctx context.Context, v *job.View, wait time.Duration, done func(*job.View) bool) error {
	if wait <= 0 || done(v) {
		return nil
	}
	changed, stop := s.o.Jobs.Watch(v.ID)
	defer stop()
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(recheckInterval)
	defer look.Stop()
	for {
		// After the watch began: what changed before it is seen here.
		again, err := s.jobHead(ctx, v.ID)
		if err != nil || done(again) {
			return err
		}
		select {
		case <-changed:
		case <-look.C:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
