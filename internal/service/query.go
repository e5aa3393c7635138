package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// Query asks for a script to be run.
type Query struct {
	Convention job.Convention
	Proof      *Proof // nil where the caller brought no credentials
	Script     string
	Async      bool
	Request    wire.Request
	Webhook    string  // where to tell the end of an async one, "" for nowhere
	Key        *string // makes a repeat of the call find its job; nil for none
	// Within checks the call's sizes against those of the account.
	Within func(wire.Limits) error
}

// Answer is what an operation gives. Origin and Rate hold beside an error too.
type Answer struct {
	Job    wire.Job
	Status int         // of HTTP
	Err    *wire.Error // why the job failed, nil where it did not
	// Origin is the page's, where the account that the call runs as lists it.
	Origin string
	// Session is the id of a session that the caller does not have yet, or "".
	Session string
	// RetryAfter says when to try again what we could not do; 0 says nothing.
	RetryAfter time.Duration
	// Rate says how many calls remain; nil where none were counted.
	Rate *admit.Verdict
}

// Query runs a script. A script that fails is an answer, not an error.
func (s *Service) Query(ctx context.Context, c Caller, q Query) (Answer, error) {
	who, err := s.authenticate(ctx, c, q.Proof)
	a := Answer{Origin: who.origin}
	if err != nil {
		return a, err
	}
	// What a page sends stays with its visitor's network: anybody can write an Origin
	// header, and could use up the account's share.
	if who.By != principal.ByOrigin {
		if err := c.Memory.Assign(int64(who.Account.ID)); err != nil {
			return a, err
		}
	}
	limits := s.o.Limits(who.Account.LimitPlan())
	if err := q.Within(wireLimits(limits)); err != nil {
		return a, err
	}
	if err := s.o.Auth.MaySend(ctx, who.Principal, q.Script); err != nil {
		return a, err
	}
	verdict := s.count(who, c, limits)
	a.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return a, err
	}
	if err := checkKey(q.Key); err != nil {
		return a, err
	}
	spent, err := s.o.Usage.Begin(ctx, who.Account.ID, limits)
	if err != nil {
		return a, s.usedUp(err)
	}
	defer spent.Done()
	if q.Async {
		return s.submit(ctx, who, c, q, limits, spent, a)
	}
	ticket, err := s.o.Gate.Enter(ctx, admit.Ask{Account: int64(who.Account.ID), Most: limits.Concurrent, Memory: limits.Memory})
	if err != nil {
		return a, err
	}
	defer ticket.Leave()
	limits.Memory = min(limits.Memory, ticket.Memory())
	return s.run(ctx, who, c, q, limits, ticket, spent, a)
}

// longestKey is the longest Idempotency-Key.
const longestKey = 255

// checkKey says what is wrong with an Idempotency-Key. One that is sent empty is
// a mistake: its caller thinks that a repeat does no harm.
func checkKey(key *string) error {
	wrong := func(found string) error {
		return fault.Invalid("Idempotency-Key", "%s: 1 to %d printable ASCII characters fit, or leave the header out", found, longestKey)
	}
	switch {
	case key == nil:
		return nil
	case *key == "":
		return wrong("is empty")
	case strings.ContainsFunc(*key, func(r rune) bool { return r < ' ' || r > '~' }):
		return wrong("has characters that are not printable ASCII")
	case len(*key) > longestKey:
		return wrong(fmt.Sprintf("has %d characters", len(*key)))
	}
	return nil
}

// LongestCall returns how long the longest call may take: waiting for its turn,
// running, and being recorded.
func (s *Service) LongestCall() time.Duration {
	const before = 10 * time.Second
	var longest time.Duration
	for _, p := range account.Plans() {
		longest = max(longest, s.o.Limits(p).SyncTime)
	}
	return before + longest + recordTime
}

// LargestRequest returns the limits under which a request is read before it is
// known whose it is: of each, that of the plan which has most. Settings may make
// any plan that one.
func (s *Service) LargestRequest() wire.Limits { return s.largest }

func largestRequest(limits func(account.Plan) account.Limits) (most wire.Limits) {
	for _, p := range account.Plans() {
		l := wireLimits(limits(p))
		most = wire.Limits{
			Body: max(most.Body, l.Body), Script: max(most.Script, l.Script),
			Depth: max(most.Depth, l.Depth), Nodes: max(most.Nodes, l.Nodes), Keys: max(most.Keys, l.Keys),
			Fields: max(most.Fields, l.Fields), FieldKeys: max(most.FieldKeys, l.FieldKeys),
		}
	}
	return most
}

func wireLimits(l account.Limits) wire.Limits {
	return wire.Limits{
		Body: l.BodyBytes, Script: l.ScriptBytes,
		Depth: l.JSONDepth, Nodes: l.JSONNodes, Keys: l.JSONKeys,
		Fields: l.FieldBytes, FieldKeys: l.FieldKeys,
	}
}

// The names of rates, as answers show them.
const (
	rateCalls  = "calls"
	ratePages  = "pages"
	rateMisses = "misses"
	ratePolls  = "polls"
)

// count counts a call against the account's rate, or against that of the page
// that made it.
func (s *Service) count(who caller, c Caller, l account.Limits) admit.Verdict {
	id := int64(who.Account.ID)
	switch {
	case who.By == principal.ByOrigin:
		return s.o.Limiter.Take(admit.ByOrigin(ratePages, id, who.Domain.Pattern.String(), c.Addr),
			admit.Rate{Name: ratePages, Count: l.OriginRate, Per: time.Minute})
	case l.RatePerAddress:
		return s.o.Limiter.Take(admit.BySourceOf(rateCalls, id, c.Addr),
			admit.Rate{Name: rateCalls, Count: l.Rate, Per: time.Minute, Burst: l.RateBurst})
	}
	return s.o.Limiter.Take(admit.ByAccount(rateCalls, id),
		admit.Rate{Name: rateCalls, Count: l.Rate, Per: time.Minute, Burst: l.RateBurst})
}
