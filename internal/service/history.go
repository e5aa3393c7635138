package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
	"ql/internal/worker"
)

// History is what jobs were called with, for their owners; see job.Store.
type History interface {
	ByRef(ctx context.Context, a account.ID, ref int64) (job.Listed, error)
	Called(ctx context.Context, a account.ID, ref int64) (job.Call, job.Cost, error)
	CalledBytes(ctx context.Context, a account.ID, ref int64) (int64, error)
}

// JobHistory is a job with all that its owner may see of it.
type JobHistory struct {
	Meta
	Job wire.JobHistory
}

// JobSource is the text of the script that a job runs.
type JobSource struct {
	Meta
	Ref    int64
	Source wire.SourceText
}

// seeHistory is what opens the history of jobs.
var seeHistory = access{what: "jobs", accepts: anyCredential, scope: scope.Jobs}

// findRef finds a job of the account that the credentials prove, by its number.
func (s *Service) findRef(ctx context.Context, c Caller, p *Credentials, text string) (caller, job.Listed, Meta, error) {
	return s.findRefBy(ctx, c, p, seeHistory, text)
}

func (s *Service) findRefBy(ctx context.Context, c Caller, p *Credentials, by access, text string) (caller, job.Listed, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, by)
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return owner, job.Listed{}, meta, err
	}
	if polls := s.countPoll(c, owner.Account); !polls.OK {
		meta.Rate = &polls
		return owner, job.Listed{}, meta, polls.Err()
	}
	ref, err := s.parseRef(ctx, owner.Account.ID, text)
	if err != nil {
		return owner, job.Listed{}, Meta{}, err
	}
	j, err := s.o.History.ByRef(ctx, owner.Account.ID, ref)
	if errors.Is(err, job.ErrNotFound) || err == nil && !mayReach(&owner.Principal, &j.Summary, 0) {
		return owner, job.Listed{}, Meta{}, errJobNotFound()
	}
	return owner, j, meta, err
}

// parseRef reads the number of a job, or its id, for who has that and not the number.
func (s *Service) parseRef(ctx context.Context, owner account.ID, text string) (int64, error) {
	if id, ok := job.ParseID(text); ok {
		// One that has just ended has its number when it is stored.
		if r, pending := s.o.Records.Pending(id); pending && r.Account == owner {
			if err := s.o.Records.Flush(ctx); err != nil {
				return 0, err
			}
		}
		var v *job.View
		err := s.awaitRecord(ctx, id, func() (err error) {
			v, err = s.o.Jobs.ViewWithin(ctx, id, 0)
			return err
		})
		switch {
		case errors.Is(err, job.ErrNotFound), err == nil && v.Account != owner:
			return 0, errJobNotFound()
		case err != nil:
			return 0, err
		}
		return v.Seq, nil
	}
	ref, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(ref, 10) != text {
		return 0, errJobNotFound()
	}
	return ref, nil
}

// called reads what a job was called with, for which memory is reserved: as it is stored, as it is
// read and as it is written.
func (s *Service) called(ctx context.Context, c Caller, j *job.Listed) (job.Call, job.Cost, execution.Called, error) {
	const copies = 4
	bytes, err := s.o.History.CalledBytes(ctx, j.Account, j.Ref)
	if err == nil && copies*bytes > UnreservedBytes {
		err = c.Memory.Grow(ctx, copies*bytes)
	}
	if err != nil {
		return job.Call{}, job.Cost{}, execution.Called{}, s.gone(err)
	}
	call, cost, err := s.o.History.Called(ctx, j.Account, j.Ref)
	if err != nil || call.Request == nil {
		return call, cost, execution.Called{}, s.gone(err)
	}
	plain, err := s.o.Jobs.OpenRequest(j.Account, j.ID, call.Request)
	if err != nil {
		return call, cost, execution.Called{}, err
	}
	request, err := execution.DecodeCalled(plain)
	return call, cost, request, err
}

// gone is the error of a job that was there a moment ago.
func (s *Service) gone(err error) error {
	if errors.Is(err, job.ErrNotFound) {
		return errJobNotFound()
	}
	return err
}

// mostAnswers is how many answers of a job are shown: those that came last.
const mostAnswers = 500

// mostChildren is how many of the jobs are shown that a job has started: the first.
const mostChildren = 1000

// JobHistory shows a job with what it was called with.
func (s *Service) JobHistory(ctx context.Context, c Caller, p *Credentials, ref string) (JobHistory, error) {
	owner, j, meta, err := s.findRef(ctx, c, p, ref)
	a := JobHistory{Meta: meta}
	if err != nil {
		return a, err
	}
	call, cost, request, err := s.called(ctx, c, &j)
	if err != nil {
		return a, err
	}
	answers, err := s.o.Jobs.Questions(ctx, j.Account, job.QuestionQuery{Job: j.Ref, State: job.QuestionAnswered, Limit: mostAnswers})
	if err != nil {
		return a, err
	}
	names, err := s.keyNames(ctx, c, &owner, []job.Listed{j})
	if err != nil {
		return a, err
	}
	v, err := s.jobView(ctx, c.Memory, j.ID)
	if err != nil {
		return a, s.gone(err)
	}
	h := &a.Job
	if h.Job, err = s.jobAnswer(v, mayAnswer(&owner.Principal)); err != nil {
		return a, err
	}
	h.Entry, h.Origin, h.Omitted = jobEntry(&j, names[j.KeyID]), call.Origin, request.Omitted
	h.Source = sourceText(call.Source)
	if call.Request != nil && request.Omitted == 0 {
		h.Request, h.Input = &request.Request, wire.Raw(request.Input)
	}
	if v.State.Finished() && cost != (job.Cost{}) {
		h.Cost = &wire.JobCost{Fuel: cost.Fuel, Memory: cost.Memory, Output: int64(len(v.Result)), Fetches: cost.Fetches}
	}
	if h.Parent, err = s.parent(ctx, &owner, &j); err != nil {
		return a, err
	}
	children, err := s.o.Jobs.Children(ctx, j.Account, j.ID, 0, mostChildren+1)
	if err != nil {
		return a, err
	}
	h.MoreChildren = len(children) > mostChildren
	for _, one := range children[:min(len(children), mostChildren)] {
		h.Children = append(h.Children, wire.JobChild{Ref: one.Ref, Status: string(one.State), Program: one.ProgramName})
	}
	for _, one := range slices.Backward(answers) {
		h.Answers = append(h.Answers, jobAnswered(&one))
	}
	if size := int64(h.Size()); size > UnreservedBytes {
		err = c.Memory.Grow(ctx, size)
	}
	return a, err
}

// parent returns the job that has started one; nil where none did, it was removed, or the caller may not see it.
func (s *Service) parent(ctx context.Context, who *caller, j *job.Listed) (*wire.JobParent, error) {
	ref, err := s.o.Jobs.Parent(ctx, j.Account, j.ID)
	if err != nil || ref == 0 {
		return nil, err
	}
	p, err := s.o.History.ByRef(ctx, j.Account, ref)
	if errors.Is(err, job.ErrNotFound) || err == nil && !mayReach(&who.Principal, &p.Summary, 0) {
		return nil, nil
	}
	return &wire.JobParent{Ref: p.Ref, Status: string(p.State), Name: p.Name}, err
}

func sourceText(s *job.Source) *wire.SourceText {
	if s == nil {
		return nil
	}
	t := &wire.SourceText{Text: s.Text}
	for _, f := range s.Files {
		t.Files = append(t.Files, wire.Pair{Name: f.Path, Value: f.Text})
	}
	return t
}

// JobSource shows the script that a job runs.
func (s *Service) JobSource(ctx context.Context, c Caller, p *Credentials, ref string) (JobSource, error) {
	_, j, meta, err := s.findRef(ctx, c, p, ref)
	a := JobSource{Meta: meta, Ref: j.Ref}
	if err != nil {
		return a, err
	}
	call, _, _, err := s.called(ctx, c, &j)
	if err != nil {
		return a, err
	}
	if call.Source == nil {
		return a, errNoSource()
	}
	a.Source = *sourceText(call.Source)
	return a, nil
}

// errNoSource is the answer where the script of a job is not kept.
func errNoSource() error {
	return fault.New(fault.JobNotFound, "the script of this job is not kept: it is older than that scripts are")
}

// seeVariables opens what a script has in its hands: the owner alone sees it, whom no key stands for.
var seeVariables = access{what: "the variables of jobs", accepts: principal.Set{principal.ByPassword, principal.ByToken}}

// JobStack is where a job stands that is suspended.
type JobStack struct {
	Meta
	Ref    int64
	Frames []engine.StackFrame
	More   bool // than is shown
}

// JobStack shows where a job stands that waits for somebody or something, with its variables. Secrets that it has read
// are hidden.
func (s *Service) JobStack(ctx context.Context, c Caller, p *Credentials, ref string) (JobStack, error) {
	_, j, meta, err := s.findRefBy(ctx, c, p, seeVariables, ref)
	a := JobStack{Meta: meta, Ref: j.Ref}
	if err != nil {
		return a, err
	}
	if err := c.Memory.Grow(ctx, engine.MaxStackBytes); err != nil {
		return a, err
	}
	a.Frames, a.More, err = s.o.Jobs.Stack(ctx, j.ID)
	switch {
	case errors.Is(err, job.ErrNotPaused), errors.Is(err, job.ErrNotFound):
		return a, fault.New(fault.NotPaused, "the job is %s: only one that is paused or waiting stands somewhere", j.State)
	case errors.Is(err, worker.ErrStopping):
		return a, errStopping()
	}
	return a, err
}

// Repeat runs a job again, as another job: with the same request or an edited one. A published
// script is called by its name, as it is now, and any other has the text that the job had.
//
// It never has more rights than the job had: one that a page or a stranger started reads no
// secrets when its owner repeats it, nor does a repetition of that. Nor is it in anybody's session.
func (s *Service) Repeat(ctx context.Context, c Caller, p *Credentials, ref string, r *wire.Repeat, key *string) (Answer, error) {
	owner, j, meta, err := s.findRef(ctx, c, p, ref)
	a := Answer{Meta: meta}
	if err != nil {
		return a, err
	}
	if err := checkMayRun(&owner.Principal, j.ProgramName); err != nil {
		return a, err
	}
	call, _, request, err := s.called(ctx, c, &j)
	if err != nil {
		return a, err
	}
	q := Query{
		Convention: job.JSON, Async: j.Mode == job.Async, Request: request.Request, Input: request.Input, Within: r.Within, Key: key,
		origin: j.Ref,
	}
	switch {
	case j.ProgramName != "":
		q.Program = &Program{Name: j.ProgramName}
	case call.Source == nil:
		return a, errNoSource()
	default:
		q.Script = call.Source.Text
	}
	if request.Omitted > 0 && (r.Request == nil || r.Input == nil) {
		return a, fault.Invalid("request", "was larger than is kept with a job: send request and input to repeat this one")
	}
	if len(request.Request.Files) > 0 && r.Request == nil {
		return a, fault.Invalid("request", "came with files, which are not kept with a job: send request to repeat this one without them")
	}
	if r.Request != nil {
		q.Request = *r.Request
	}
	if r.Input != nil {
		q.Input = json.RawMessage(*r.Input)
	}
	if r.Async != nil {
		q.Async = *r.Async
	}
	if r.Trace != nil {
		q.Trace = *r.Trace
	}
	forOwner, err := s.actedForOwner(ctx, &j, call.Origin)
	if err != nil {
		return a, err
	}
	q.fewerRights = !forOwner
	owner.Session = ""
	return s.answer(ctx, owner, c, q, a)
}

// mostOrigins is how far the origins of a job are followed.
const mostOrigins = 100

// actedForOwner tells whether a job had the owner's rights: where it repeats others, whether all of
// them had. One whose origin is gone is taken for one that had not.
func (s *Service) actedForOwner(ctx context.Context, j *job.Listed, origin int64) (bool, error) {
	by := j.Credential
	for range mostOrigins {
		who := principal.Principal{By: by}
		if !who.ActsForOwner() || origin == 0 {
			return who.ActsForOwner(), nil
		}
		before, err := s.o.History.ByRef(ctx, j.Account, origin)
		if errors.Is(err, job.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		by, origin = before.Credential, before.Origin
	}
	return false, nil
}
