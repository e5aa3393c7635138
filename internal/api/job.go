package api

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/fault"
	"ql/internal/job"
)

// mostMisses is how many jobs that are not there an address may ask for in a
// minute. Ids are too many to be guessed; this keeps the noise down.
const mostMisses = 30

// Job shows a job to whoever knows its id, unless its account asks for more. A
// text that is no id is like one that nobody knows.
func (s *Service) Job(ctx context.Context, c Caller, text string, p *Proof) (Answer, error) {
	record, owner, err := s.find(ctx, text)
	if err != nil {
		if fault.Is(err, fault.JobNotFound) {
			return s.miss(c, err)
		}
		return Answer{}, err
	}
	if p != nil {
		// Somebody else's credentials do not tell that there is such a job.
		who, err := s.prove(ctx, c, *p)
		if err != nil {
			return Answer{}, err
		}
		if who.Account.ID != owner.ID || p.By == job.ByKey && record.Credential != job.ByKey {
			return s.miss(c, notFound())
		}
	}
	origin, err := s.admitPage(ctx, c, owner.ID, auth.JobAuth)
	if err != nil {
		return Answer{}, err
	}
	// A page that started a job has nothing but its origin to show for it.
	itsPage := origin != "" && record.Credential == job.ByOrigin
	if owner.RequireAuthOnJobs && p == nil && !itsPage {
		return Answer{Origin: origin}, fault.New(fault.BadCredentials, "the account asks for credentials: send its username and password by HTTP Basic")
	}
	return Answer{Job: shown(&record), Status: 200, Origin: origin}, nil
}

// find returns a job and the account that it belongs to.
func (s *Service) find(ctx context.Context, text string) (job.Record, account.Account, error) {
	id, ok := job.ParseID(text)
	if !ok {
		return job.Record{}, account.Account{}, notFound()
	}
	record, err := s.o.Jobs.Get(ctx, id)
	if errors.Is(err, job.ErrNotFound) {
		err = notFound()
	}
	if err != nil {
		return job.Record{}, account.Account{}, err
	}
	owner, err := s.o.Accounts.ByID(ctx, record.Account)
	if errors.Is(err, account.ErrNotFound) {
		err = notFound()
	}
	return record, owner, err
}

func notFound() error { return fault.New(fault.JobNotFound, "there is no such job") }

// miss counts a question for a job that is not there.
func (s *Service) miss(c Caller, err error) (Answer, error) {
	v := s.o.Limiter.Take(admit.BySource(rateMisses, c.Addr), admit.Rate{Name: rateMisses, Count: mostMisses, Per: time.Minute})
	if v.OK {
		return Answer{}, err
	}
	return Answer{Rate: &v}, v.Err()
}
