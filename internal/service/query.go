package service

import (
	"context"
	"encoding/json"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// Query asks for a script to be run.
type Query struct {
	Convention  job.Convention
	Credentials *Credentials // nil where the caller brought no credentials
	Script      string
	Program     *Program // a published script to call instead; nil for none
	Page        *Page    // a script of a site to run instead; nil for none
	Async       bool
	Request     wire.Request
	// Input is what the script's INPUT FIELDS are given: JSON of a map, nil for nothing.
	Input json.RawMessage
	// NoInput says of a call that brought something else than fields what that is; "" for others.
	NoInput string
	Trace   wire.TraceMode
	Webhook string // what to call at the end of an async one, "" for nowhere
	// WebhookTrace has the trace sent there too.
	WebhookTrace bool
	// WebhookEvents is what is told there. A synchronous call tells it where it is suspended.
	WebhookEvents job.WebhookEvents
	// Concurrency bounds how many jobs with the same key are under way, of an async one; the zero one
	// does not.
	Concurrency job.Concurrency
	// History has the results of a synchronous run kept with its job, to replay it: they are kept
	// of any other, and of one that fails.
	History bool
	Key     *string // makes a repeat of the call find its job; nil for none
	// Receive, where it is not nil, reads a form in parts into the query, once it is known which script
	// it is for and that it may be run.
	Receive func(ctx context.Context, files *RequestFiles, q *Query) error
	// Within checks the call's sizes against those of the account.
	Within func(wire.Limits) error

	// fewerRights says that the script has not the rights of the owner, though its caller acts for
	// that.
	fewerRights bool

	origin    int64              // the number of the job that is repeated, 0 for none
	published *account.Published // that Program names, whose text Script then is
	uploads   []*engine.RequestFile
}

// programName is the name of the published script that is called, "" for none.
func (q *Query) programName() string {
	if q.published == nil {
		return ""
	}
	return q.published.Name
}

// calledName names what is run where its caller did not send it: the published script, or the file
// of the site; "" for none.
func (q *Query) calledName() string {
	if q.Page != nil {
		return q.Page.Target.Path
	}
	return q.programName()
}

// concurrency is that of the query's job: the one that it names, or else the one that its script is
// published with.
func (q *Query) concurrency() job.Concurrency {
	if q.Concurrency.Key == "" && q.published != nil {
		return q.published.Concurrency
	}
	return q.Concurrency
}

// checkConcurrency checks that the caller may have jobs wait for the query's, and that the query's may
// wait for others. All jobs of an account share keys, so who does not act for its owner names none:
// the owner's could wait for theirs.
func (q *Query) checkConcurrency(trusted bool) error {
	if q.Concurrency.Key != "" && !trusted {
		return fault.Invalid("options.concurrency", "is for the account's owner and its keys: leave the field out")
	}
	if !q.Async && q.concurrency().Key != "" {
		return fault.Invalid("mode", `is sync, and the script is published with a concurrency: its jobs may have to wait for each other. Call it by POST /v1/query with "mode": "async"`)
	}
	return nil
}

// Query runs a script. A script that fails is an answer, not an error.
func (s *Service) Query(ctx context.Context, c Caller, q Query) (Answer, error) {
	who, err := s.identify(ctx, c, &q)
	a := Answer{Meta: Meta{Origin: who.origin}}
	if err != nil {
		if q.Program != nil && q.Program.Owner != "" {
			return s.countProgramMiss(c, &who, a, err)
		}
		return a, err
	}
	// What a page or a stranger sends stays with its visitor's network: anybody can write an
	// Origin header, and could use up the account's share.
	if who.By != principal.ByOrigin && who.By != principal.ByNobody {
		if err := c.Memory.Assign(int64(who.Account.ID)); err != nil {
			return a, err
		}
	}
	return s.answer(ctx, who, c, q, a)
}

// answer runs a script for a caller that is known.
func (s *Service) answer(ctx context.Context, who caller, c Caller, q Query, a Answer) (Answer, error) {
	if q.Program == nil {
		if err := checkMayRun(&who.Principal, ""); err != nil {
			return a, err
		}
	}
	var limits account.Limits
	if q.Page != nil {
		limits = q.Page.Site.limits
	} else {
		limits = who.Account.Limits(s.o.Limits)
	}
	// A stranger who is refused learns nothing: not what is left of a rate, and not, by what
	// does not fit into its plan, that there is such an account.
	byAddress := q.Program != nil && q.Program.Owner != ""
	if byAddress {
		if err := s.openCalled(ctx, &who, &q, limits); err != nil {
			return s.countProgramMiss(c, &who, a, err)
		}
		if err := s.asVisitor(ctx, &who, c, q.programName()); err != nil {
			return a, err
		}
	}
	if err := q.Within(wireLimits(limits)); err != nil {
		return a, err
	}
	if q.Program == nil && q.Page == nil {
		if err := s.o.Auth.MaySend(ctx, who.Principal, q.Script); err != nil {
			return a, err
		}
	}
	verdict := s.countQuery(who, c, &q, limits)
	a.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return a, err
	}
	if q.Page != nil {
		if err := s.openPage(ctx, c, &q, limits); err != nil {
			return a, err
		}
	}
	// Counted before, so that nobody can ask for any number of names.
	if q.Program != nil && !byAddress {
		if err := s.openCalled(ctx, &who, &q, limits); err != nil {
			return a, err
		}
	}
	if q.Receive != nil {
		// Before its body is read, which can be sent on then.
		if program := s.o.Host.Programs.Lookup(q.Script); program != nil {
			if err := s.o.Host.CheckDatabases(ctx, who.Account.ID, program); err != nil {
				return a, err
			}
		}
		files := s.requestFiles(c, who.Account, limits, q.Script)
		defer files.Close()
		if err := s.receive(ctx, files, &q, limits); err != nil {
			return a, err
		}
	}
	a.By, a.Trusted = who.By, who.ActsForOwner() && who.MayRun(q.programName())
	a.answers = mayAnswer(&who.Principal)
	if q.published != nil {
		a.Callers = q.published.Callers
	}
	if err := checkKey(q.Key); err != nil {
		return a, err
	}
	if err := q.checkConcurrency(a.Trusted); err != nil {
		return a, err
	}
	spent, err := s.o.Usage.Begin(ctx, who.Account.ID, limits)
	if err != nil {
		return a, s.quotaError(err)
	}
	defer spent.Done()
	if q.Async {
		return s.submit(ctx, who, c, q, limits, spent, a)
	}
	ticket, err := s.o.Gate.Acquire(ctx, admit.Request{Account: int64(who.Account.ID), Max: limits.Concurrent, Memory: limits.Memory, Visitor: !a.Trusted})
	if err != nil {
		return a, err
	}
	defer ticket.Release()
	limits.Memory = min(limits.Memory, ticket.Memory())
	return s.run(ctx, who, c, &q, limits, ticket, spent, a)
}
