package service

import (
	"context"
	"time"

	"ql/internal/job"
)

// Job shows a job. Where it is not finished and asks nobody, it is waited for
// so long.
func (s *Service) Job(ctx context.Context, c Caller, text string, p *Proof, wait time.Duration) (Answer, error) {
	o, a, err := s.open(ctx, c, text, p)
	if err != nil {
		return a, err
	}
	settled := func(v *job.View) bool { return v.State.Finished() || v.State == job.Paused }
	if wait > 0 && !settled(o.View) {
		leave, err := s.listen(ctx, c, o.owner)
		if err != nil {
			return a, err
		}
		err = s.await(ctx, o.View, wait, settled)
		leave()
		if err != nil {
			return a, err
		}
	}
	_, a, err = s.poll(ctx, c, o.ID, a)
	return a, err
}

// poll answers with a job as it is now.
func (s *Service) poll(ctx context.Context, c Caller, id job.ID, a Answer) (*job.View, Answer, error) {
	v, err := s.view(ctx, c.Memory, id)
	if err != nil {
		return v, a, err
	}
	a, err = s.polled(v, a)
	return v, a, err
}

// polled answers a poll.
func (s *Service) polled(v *job.View, a Answer) (_ Answer, err error) {
	a.Job, err = s.shown(v)
	a.Status, a.RetryAfter = 200, s.pollAgain(v)
	return a, err
}

// pollAgain says when a job is worth another look.
func (s *Service) pollAgain(v *job.View) time.Duration {
	const soon, late = time.Second, time.Minute
	switch v.State {
	case job.Accepted, job.Running:
		return soon
	case job.Waiting:
		return min(max(v.Until.Sub(s.o.Clock()), soon), late)
	}
	return 0
}

// otherNodes is how often a job is looked at that may have changed elsewhere.
const otherNodes = 10 * time.Second

// await returns when a job is as it should be, or after some time. It holds nothing of
// the job meanwhile.
func (s *Service) await(ctx context.Context, v *job.View, wait time.Duration, done func(*job.View) bool) error {
	if wait <= 0 || done(v) {
		return nil
	}
	changed, stop := s.o.Jobs.Watch(v.ID)
	defer stop()
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(otherNodes)
	defer look.Stop()
	for {
		// After the watch began: what changed before it is seen here.
		again, err := s.look(ctx, v.ID)
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
