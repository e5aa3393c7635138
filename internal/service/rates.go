package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/principal"
)

// The names of rates, as answers show them.
const (
	rateCalls  = "calls"
	ratePages  = "pages"
	rateMisses = "misses"
	ratePolls  = "polls"
	rateEdits  = "edits"
	rateViews  = "views"
	rateVisits = "visits"
	// rateSignIn is that of calls of a browser that is signed in about that.
	rateSignIn = "session"
	// rateContents is that of content sent for deploys.
	rateContents = "contents"
	rateDeploys  = "deploys"
)

// anyone stands for the entry of the list in the rate of those whom none admits.
const anyone = "\x00anyone"

// countQuery counts a call that runs a script.
func (s *Service) countQuery(who caller, c Caller, q *Query, l account.Limits) admit.Verdict {
	if q.Page != nil {
		return s.countView(c, who.Account.ID, l)
	}
	return s.countCall(who, c, l)
}

// countCall counts a call against the account's rate, or against that of the page or the
// stranger that made it.
func (s *Service) countCall(who caller, c Caller, l account.Limits) admit.Verdict {
	if c.Counted {
		return admit.Verdict{OK: true}
	}
	id := int64(who.Account.ID)
	switch {
	case who.By == principal.ByOrigin:
		return s.o.Limiter.Allow(admit.ByOrigin(ratePages, id, who.Domain.Pattern.String(), c.Addr),
			admit.Rate{Name: ratePages, Count: l.OriginRate, Per: time.Minute})
	case who.By == principal.ByNobody:
		return s.o.Limiter.Allow(admit.ByOrigin(ratePages, id, anyone, c.Addr),
			admit.Rate{Name: ratePages, Count: l.OriginRate, Per: time.Minute})
	case l.RatePerAddress:
		return s.o.Limiter.Allow(admit.BySourceOf(rateCalls, id, c.Addr),
			admit.Rate{Name: rateCalls, Count: l.Rate, Per: time.Minute, Burst: l.RateBurst})
	}
	return s.o.Limiter.Allow(admit.ByAccount(rateCalls, id),
		admit.Rate{Name: rateCalls, Count: l.Rate, Per: time.Minute, Burst: l.RateBurst})
}

// visitsPerView is how many requests a visitor may make of a site for each page that runs a script:
// a page has images, styles and scripts of its own.
const visitsPerView = 10

// countVisit counts a request of a site's visitor, whatever it is for, and countView one that runs a
// script.
func (s *Service) countVisit(c Caller, a account.ID, l account.Limits) admit.Verdict {
	if c.Counted {
		return admit.Verdict{OK: true}
	}
	return s.o.Limiter.Allow(admit.BySourceOf(rateVisits, int64(a), c.Addr), admit.Rate{Name: rateVisits, Count: visitsPerView * l.SiteRate, Per: time.Minute})
}

func (s *Service) countView(c Caller, a account.ID, l account.Limits) admit.Verdict {
	if c.Counted {
		return admit.Verdict{OK: true}
	}
	return s.o.Limiter.Allow(admit.BySourceOf(rateViews, int64(a), c.Addr), admit.Rate{Name: rateViews, Count: l.SiteRate, Per: time.Minute})
}

// missesPerMinute is how many jobs or programs that are not there for it an address may ask for
// in a minute. Ids are too many to be guessed; this limits the noise.
const missesPerMinute = 30

// pollsPerMinute is how often an address may ask for the jobs of an account in a minute,
// and pollsAtOnce after a quiet time; where the account may start more jobs than that,
// twice as often as it may start one.
const (
	pollsPerMinute = 1200
	pollsBurst     = 200
)

// countPoll counts a call about a job.
func (s *Service) countPoll(c Caller, owner account.Account) admit.Verdict {
	return s.countOften(ratePolls, c, owner)
}

// countEdit counts a call about a script that somebody writes: an editor makes one with each letter, and
// none of them is to keep the account's scripts from running.
func (s *Service) countEdit(c Caller, owner account.Account) admit.Verdict {
	return s.countOften(rateEdits, c, owner)
}

// countOften counts a call of a kind that comes often. A plan without a rate has none for these.
func (s *Service) countOften(name string, c Caller, owner account.Account) admit.Verdict {
	if c.Counted {
		return admit.Verdict{OK: true}
	}
	rate := admit.Rate{Name: name, Per: time.Minute}
	if most := owner.Limits(s.o.Limits).Rate; most > 0 {
		rate.Count, rate.Burst = max(pollsPerMinute, 2*most), max(pollsBurst, 2*most/6)
	}
	return s.o.Limiter.Allow(admit.BySourceOf(name, int64(owner.ID), c.Addr), rate)
}

// deploysPerMinute is how often an account may deploy or restore its site in a minute: each is one large
// change of the store, for which others wait.
const deploysPerMinute = 12

// countDeploy counts a deploy. A plan without a rate has none for these.
func (s *Service) countDeploy(owner caller, l account.Limits) Meta {
	rate := admit.Rate{Name: rateDeploys, Per: time.Minute}
	if l.Rate > 0 {
		rate.Count = deploysPerMinute
	}
	verdict := s.o.Limiter.Allow(admit.ByAccount(rateDeploys, int64(owner.Account.ID)), rate)
	return Meta{Origin: owner.origin, Rate: &verdict}
}

// listenersPerNetwork is how many calls of one network may wait for changes of jobs at once.
const listenersPerNetwork = 512

// enterListeners admits a call to those that wait for changes of an account's jobs. The
// error is one to answer; leave is called once.
func (s *Service) enterListeners(ctx context.Context, c Caller, owner account.Account) (leave func(), err error) {
	if s.o.Listeners == nil {
		return func() {}, nil
	}
	network, err := s.o.Listeners.AcquireFor(ctx, admit.NetworkHolder(c.Addr), listenersPerNetwork)
	if err != nil {
		var refused *admit.Refused
		if errors.As(err, &refused) {
			refused.Limit = 0 // it is no limit of the account's
		}
		return nil, err
	}
	own, err := s.o.Listeners.Acquire(ctx, int64(owner.ID), owner.Limits(s.o.Limits).Listeners)
	if err != nil {
		network()
		return nil, err
	}
	return func() {
		own()
		network()
	}, nil
}
