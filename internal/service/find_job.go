package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
)

// foundJob is a job that a caller may see, without the bytes that it holds.
type foundJob struct {
	*job.View
	owner  account.Account
	origin string               // the page's, where it may read the answer
	by     principal.Credential // that the caller brought
	key    principal.Key        // the named key, where it is one
	byName string               // of the named key, or the origin of the page that started the job
	// answers says that the caller may answer the job's questions.
	answers bool
	// who is whom the credentials prove, nil where none were brought; itsPage says that none were
	// needed, since the page started the job.
	who     *principal.Principal
	itsPage bool
}

// findJob finds a job for whoever knows its id, unless its account asks for more. A named key that
// is sent all the same needs a scope, 0 for none, and reaches what mayReach says. A text that is no
// id is like one that nobody knows. The answer holds what counts beside an error.
func (s *Service) findJob(ctx context.Context, c Caller, text string, p *Credentials, needs scope.Kind) (foundJob, Answer, error) {
	o, err := s.loadJob(ctx, text)
	if err != nil {
		if fault.Is(err, fault.JobNotFound) {
			return s.countMiss(c, err)
		}
		return o, Answer{}, err
	}
	if polls := s.countPoll(c, o.owner); !polls.OK {
		return o, Answer{Meta: Meta{Rate: &polls}}, polls.Err()
	}
	o.by, o.answers = principal.ByNobody, true
	if p != nil {
		// Somebody else's credentials do not reveal that there is such a job.
		who, err := s.checkCredentials(ctx, c, *p)
		if err != nil {
			return o, Answer{}, err
		}
		if who.Account.ID != o.owner.ID {
			return s.countMiss(c, errJobNotFound())
		}
		if who.By == principal.ByNamedKey && !who.Scopes.Has(needs) {
			return o, Answer{}, scopeMissing(&who, needs.String())
		}
		if !mayReach(&who, &o.Summary, needs) {
			return s.countMiss(c, errJobNotFound())
		}
		o.who = &who
		o.by, o.key, o.byName, o.answers = p.By, who.Key, who.Key.Name, mayAnswer(&who)
		if o.origin, err = s.admitPage(ctx, c, o.owner.ID, p.By, isAmbient(c, &who)); err != nil {
			return o, Answer{}, err
		}
	}
	if o.by != principal.ByToken { // which comes from the dashboard, whatever the account lists
		if o.origin, err = s.admitPage(ctx, c, o.owner.ID, principal.ByNobody, false); err != nil {
			return o, Answer{}, err
		}
	}
	// A page that started a job has nothing but its origin to show for it.
	o.itsPage = o.origin != "" && o.Credential == principal.ByOrigin
	if o.itsPage && p == nil {
		o.by, o.byName = principal.ByOrigin, o.origin
	}
	a := Answer{Meta: Meta{Origin: o.origin}}
	if o.owner.RequireAuthOnJobs && p == nil && !o.itsPage {
		return o, a, fault.New(fault.BadCredentials, "the account asks for credentials: send its username and password by HTTP Basic, its API key for a job that was started with it, or a named key as Authorization: Bearer")
	}
	return o, a, c.Memory.Assign(int64(o.owner.ID))
}

// loadJob returns a job and the account that it belongs to.
func (s *Service) loadJob(ctx context.Context, text string) (foundJob, error) {
	id, ok := job.ParseID(text)
	if !ok {
		return foundJob{}, errJobNotFound()
	}
	var v *job.View
	err := s.awaitRecord(ctx, id, func() (err error) {
		v, err = s.jobHead(ctx, id)
		return err
	})
	if errors.Is(err, job.ErrNotFound) {
		err = errJobNotFound()
	}
	if err != nil {
		return foundJob{}, err
	}
	owner, err := s.o.Accounts.ByID(ctx, v.Account)
	if errors.Is(err, account.ErrNotFound) {
		err = errJobNotFound()
	}
	return foundJob{View: v, owner: owner}, err
}

func errJobNotFound() error { return fault.New(fault.JobNotFound, "there is no such job") }

// countMiss counts a request for what is not there for its caller.
func (s *Service) countMiss(c Caller, err error) (foundJob, Answer, error) {
	v := s.o.Limiter.Allow(admit.BySource(rateMisses, c.Addr), admit.Rate{Name: rateMisses, Count: missesPerMinute, Per: time.Minute})
	if v.OK {
		return foundJob{}, Answer{}, err
	}
	return foundJob{}, Answer{Meta: Meta{Rate: &v}}, v.Err()
}
