package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang/value"
)

// mostMisses is how many jobs that are not there an address may ask for in a
// minute. Ids are too many to be guessed; this keeps the noise down.
const mostMisses = 30

// mostPolls is how often an address may ask for the jobs of an account in a minute,
// and pollsAtOnce after a quiet time; where the account may start more jobs than that,
// twice as often as it may start one.
const (
	mostPolls   = 1200
	pollsAtOnce = 200
)

// countPoll counts a call about a job. A plan without a rate has none for these.
func (s *Service) countPoll(c Caller, owner account.Account) admit.Verdict {
	rate := admit.Rate{Name: ratePolls, Per: time.Minute}
	if most := s.o.Limits(owner.Plan).Rate; most > 0 {
		rate.Count, rate.Burst = max(mostPolls, 2*most), max(pollsAtOnce, 2*most/6)
	}
	return s.o.Limiter.Take(admit.BySourceOf(ratePolls, int64(owner.ID), c.Addr), rate)
}

// listenersEach is how many calls of one network may wait for changes of jobs at once.
const listenersEach = 512

// listen takes a place among those who wait for changes of an account's jobs. The error
// is one to answer; leave is called once.
func (s *Service) listen(ctx context.Context, c Caller, owner account.Account) (leave func(), err error) {
	if s.o.Listeners == nil {
		return func() {}, nil
	}
	network, err := s.o.Listeners.EnterAs(ctx, admit.NetworkHolder(c.Addr), listenersEach)
	if err != nil {
		var refused *admit.Refused
		if errors.As(err, &refused) {
			refused.Most = 0 // it is no limit of the account's
		}
		return nil, err
	}
	own, err := s.o.Listeners.Enter(ctx, int64(owner.ID), s.o.Limits(owner.Plan).Listeners)
	if err != nil {
		network()
		return nil, err
	}
	return func() {
		own()
		network()
	}, nil
}

// opened is a job that a caller may see, without the bytes that it holds.
type opened struct {
	*job.View
	owner  account.Account
	origin string         // the page's, where it may read the answer
	by     principal.Credential // that the caller brought
}

// open finds a job for whoever knows its id, unless its account asks for more.
// A text that is no id is like one that nobody knows. The answer holds what
// counts beside an error.
func (s *Service) open(ctx context.Context, c Caller, text string, p *Proof) (opened, Answer, error) {
	o, err := s.find(ctx, text)
	if err != nil {
		if fault.Is(err, fault.JobNotFound) {
			return s.miss(c, err)
		}
		return o, Answer{}, err
	}
	if polls := s.countPoll(c, o.owner); !polls.OK {
		return o, Answer{Rate: &polls}, polls.Err()
	}
	o.by = principal.ByNobody
	if p != nil {
		// Somebody else's credentials do not tell that there is such a job.
		who, err := s.prove(ctx, c, *p)
		if err != nil {
			return o, Answer{}, err
		}
		if who.Account.ID != o.owner.ID || p.By == principal.ByKey && o.Credential != principal.ByKey {
			return s.miss(c, notFound())
		}
		o.by = p.By
		if _, err := s.admitPage(ctx, c, o.owner.ID, p.By, isAmbient(c, &who)); err != nil {
			return o, Answer{}, err
		}
	}
	if o.origin, err = s.admitPage(ctx, c, o.owner.ID, principal.ByNobody, false); err != nil {
		return o, Answer{}, err
	}
	// A page that started a job has nothing but its origin to show for it.
	itsPage := o.origin != "" && o.Credential == principal.ByOrigin
	if itsPage && p == nil {
		o.by = principal.ByOrigin
	}
	a := Answer{Origin: o.origin}
	if o.owner.RequireAuthOnJobs && p == nil && !itsPage {
		return o, a, fault.New(fault.BadCredentials, "the account asks for credentials: send its username and password by HTTP Basic, or its API key for a job that was started with it")
	}
	return o, a, c.Memory.Assign(int64(o.owner.ID))
}

// find returns a job and the account that it belongs to.
func (s *Service) find(ctx context.Context, text string) (opened, error) {
	id, ok := job.ParseID(text)
	if !ok {
		return opened{}, notFound()
	}
	v, err := s.look(ctx, id)
	if errors.Is(err, job.ErrNotFound) {
		err = notFound()
	}
	if err != nil {
		return opened{}, err
	}
	owner, err := s.o.Accounts.ByID(ctx, v.Account)
	if errors.Is(err, account.ErrNotFound) {
		err = notFound()
	}
	return opened{View: v, owner: owner}, err
}

func notFound() error { return fault.New(fault.JobNotFound, "there is no such job") }

// miss counts a question for a job that is not there.
func (s *Service) miss(c Caller, err error) (opened, Answer, error) {
	v := s.o.Limiter.Take(admit.BySource(rateMisses, c.Addr), admit.Rate{Name: rateMisses, Count: mostMisses, Per: time.Minute})
	if v.OK {
		return opened{}, Answer{}, err
	}
	return opened{}, Answer{Rate: &v}, v.Err()
}

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

// shown is a job as a poll shows it. A finished one has the same bytes each
// time.
func (s *Service) shown(v *job.View) (wire.Job, error) {
	switch v.State {
	case job.Accepted:
		return s.accepted(v.ID), nil
	case job.Running:
		j := execution.Shown(&v.Record)
		j.PollURL = s.pollURL(v.ID)
		return j, nil
	case job.Waiting:
		return wire.Job{Status: string(v.State), ID: v.ID.String(), ResumeAt: v.Until, PollURL: s.pollURL(v.ID)}, nil
	case job.Paused:
		return s.standing(v)
	}
	return execution.Shown(&v.Record), nil
}

// standing is a job that stands, with what it has given so far.
func (s *Service) standing(v *job.View) (wire.Job, error) {
	j := execution.Shown(&v.Record)
	j.PollURL = s.pollURL(v.ID)
	if v.State == job.Waiting {
		j.ResumeAt = v.Until
		return j, nil
	}
	if v.Prompt == nil {
		return j, nil // it was answered this moment
	}
	token, err := s.o.Jobs.FormToken(v)
	if err != nil {
		return j, err
	}
	j.Prompt = &wire.Prompt{ID: v.Prompt.ID, Kind: v.Prompt.Kind, Message: v.Prompt.Message, Schema: v.Prompt.Schema, ExpiresAt: v.Prompt.Expires}
	j.ConfirmURL = s.o.URLs.Confirm() + v.ID.String()
	j.FormURL = s.o.URLs.Form() + token
	return j, nil
}

func (s *Service) pollURL(id job.ID) string { return s.o.URLs.API + "/v1/job/" + id.String() }

// Reply is an answer to the question at which a job stands.
type Reply struct {
	Approved *bool
	Fields   string // a JSON object; "" where Approved is there
	Nodes    int    // values in Fields, at most
	Prompt   string // the question that is meant, "" for the one that is open
	Within   func(wire.Limits) error
}

// valueBytes is what a value of JSON takes at most besides its text, while it is read.
const valueBytes = 160

// weight is how much memory the fields take when they are values; 0 for what need
// not be counted.
func (r *Reply) weight() int64 {
	if len(r.Fields) < Uncounted {
		return 0
	}
	return int64(len(r.Fields)) + valueBytes*int64(r.Nodes)
}

// Confirm answers the question at which a job stands, and waits for what comes
// of it so long.
func (s *Service) Confirm(ctx context.Context, c Caller, text string, p *Proof, r Reply, wait time.Duration) (Answer, error) {
	o, a, err := s.open(ctx, c, text, p)
	if err != nil {
		return a, err
	}
	return s.confirm(ctx, c, o, r, wait, a)
}

func (s *Service) confirm(ctx context.Context, c Caller, o opened, r Reply, wait time.Duration, a Answer) (Answer, error) {
	if err := r.Within(wireLimits(s.o.Limits(o.owner.LimitPlan()))); err != nil {
		return a, err
	}
	reply := worker.Reply{Prompt: r.Prompt, Approved: r.Approved, By: o.by, Address: c.Addr.String()}
	if r.Approved == nil {
		if err := c.Memory.Grow(ctx, r.weight()); err != nil {
			return a, err
		}
		fields, bad := value.ParseJSON(nil, r.Fields)
		if bad != nil {
			return a, fault.Invalid("fields", "%s", bad.Message)
		}
		reply.Fields = fields
	}
	// Whoever answered and hung up has answered.
	err := s.o.Jobs.Reply(context.WithoutCancel(ctx), o.ID, reply)
	var unfit *value.Error // of a file that the account cannot take
	switch {
	case errors.Is(err, job.ErrNotPaused), errors.Is(err, job.ErrNotFound): // of a call that is not stored yet, nothing is open
		return a, fault.New(fault.NotPaused, "%s", notPaused(o.View, r.Prompt))
	case errors.Is(err, worker.ErrResting):
		return a, fault.New(fault.NotPaused, "the job rests and takes no answer for now: try again later, or ask whoever it belongs to")
	case errors.Is(err, worker.ErrStopping):
		return a, stopping()
	case errors.Is(err, engine.ErrWrongReply) && r.Approved != nil:
		return a, fault.New(fault.WrongReply, `the job asks for a form: "fields" with an object fits, not "approved"`)
	case errors.Is(err, engine.ErrWrongReply):
		return a, fault.New(fault.WrongReply, `the job asks for a decision: "approved" with true or false fits, not "fields"`)
	case errors.As(err, &unfit):
		return a, fileFault(unfit)
	case err != nil:
		return a, err
	}
	v, err := s.look(ctx, o.ID)
	if err == nil {
		// Its answer was taken: where too many wait, it is merely not waited for.
		leave, full := s.listen(ctx, c, o.owner)
		if full == nil {
			err = s.await(ctx, v, wait, func(v *job.View) bool { return v.State != job.Running && v.State != job.Accepted })
			leave()
		}
	}
	if err != nil {
		return a, err
	}
	if v, a, err = s.poll(ctx, c, o.ID, a); err == nil && v.State == job.Running {
		a.Status = 202
	}
	return a, err
}

func notPaused(v *job.View, prompt string) string {
	switch {
	case v.State.Finished():
		return "the job is finished: its state is " + string(v.State)
	case v.State == job.Paused && prompt != "" && v.Prompt != nil && v.Prompt.ID != prompt:
		return "the job has moved on and asks something else: poll it for its prompt"
	}
	return "the job asks nothing at the moment, or was answered already: poll it for its state"
}

// stopWait is how long a cancel waits for a job to stop.
const stopWait = 2 * time.Second

// Cancel stops a job. One that is finished stays as it is.
func (s *Service) Cancel(ctx context.Context, c Caller, text string, p *Proof) (Answer, error) {
	o, a, err := s.open(ctx, c, text, p)
	if err != nil {
		return a, err
	}
	if !o.State.Finished() {
		if _, err := s.o.Jobs.Cancel(context.WithoutCancel(ctx), o.ID); err != nil && !errors.Is(err, job.ErrNotFound) {
			return a, err
		}
		if o.View, err = s.look(ctx, o.ID); err == nil {
			err = s.await(ctx, o.View, stopWait, func(v *job.View) bool { return v.State.Finished() })
		}
		if err != nil {
			return a, err
		}
	}
	if o.View, a, err = s.poll(ctx, c, o.ID, a); err == nil && !o.State.Finished() {
		a.Status = 202
	}
	return a, err
}

// Told is what a server is told of the end of a job: what a poll shows, without
// its output where that is too long.
func (s *Service) Told(ctx context.Context, id job.ID, most int) ([]byte, error) {
	v, err := s.o.Jobs.Look(ctx, id, 0)
	if err == nil && v.Left && v.Bytes <= int64(most) {
		// Few are told at once, and none of them is in a hurry.
		memory := s.o.Ledger.Open(admit.AccountHolder(int64(v.Account)))
		if err := memory.GrowPatiently(ctx, 3*v.Bytes); err != nil {
			return nil, err
		}
		defer memory.Release()
		v, err = s.o.Jobs.Look(ctx, id, v.Bytes)
	}
	if err != nil {
		return nil, err
	}
	j := execution.Shown(&v.Record)
	if !v.Left {
		if pieces := j.Pieces(); pieces.Len() <= int64(most) {
			return j.AppendJSON(make([]byte, 0, pieces.Len())), nil
		}
	}
	j.Output, j.Truncated = nil, true
	return j.AppendJSON(nil), nil
}

// List is what a listing of an account's jobs asks for.
type List struct {
	Status string // "" for all
	Limit  int
	Before string // the id of the last job of the page before, "" for the first page
}

// Listing is a page of an account's jobs, the newest first.
type Listing struct {
	Jobs   []wire.JobEntry
	Next   string // "" for the last page
	Origin string
}

// Jobs lists the jobs of the account that the credentials prove.
func (s *Service) Jobs(ctx context.Context, c Caller, p *Proof, l List) (Listing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, "jobs", anyCredential)
	listing := Listing{Origin: owner.origin}
	if err != nil {
		return listing, err
	}
	q := job.Query{State: job.State(l.Status), Limit: l.Limit + 1}
	if q.State != "" && !q.State.Valid() {
		return listing, fault.Invalid("status", "is no state of a job: %s fits", job.StatesText)
	}
	if p.By == principal.ByKey {
		q.Credential = principal.ByKey
	}
	if l.Before != "" {
		var ok bool
		if q.Before, ok = job.ParseID(l.Before); !ok {
			return listing, fault.Invalid("before", "is no id of a job: next of the page before fits")
		}
	}
	if err := c.Memory.holdPage(ctx, l.Limit); err != nil {
		return listing, err
	}
	list, err := s.o.Records.List(ctx, owner.Account.ID, q)
	if err != nil {
		return listing, err
	}
	if len(list) > l.Limit {
		list = list[:l.Limit]
		listing.Next = list[len(list)-1].ID.String()
	}
	for _, j := range list {
		listing.Jobs = append(listing.Jobs, wire.JobEntry{
			ID: j.ID.String(), Status: string(j.State), Mode: string(j.Mode), Convention: string(j.Convention),
			CreatedAt: j.Created, FinishedAt: j.Finished, Steps: j.Steps,
		})
	}
	return listing, nil
}
