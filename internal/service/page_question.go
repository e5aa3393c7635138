package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/principal"
	"ql/internal/site"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang/form"
	"ql/lang/value"
	"ql/lang/vm"
)

// PageQuestion is what the script of a page asks whoever looks at it.
type PageQuestion struct {
	PromptPage
	// Token names the question, in the address that it is answered at.
	Token string
	// Carried is the state of the page, sealed, which comes back with the answer; "" where that is
	// stored.
	Carried string
}

// isVisitors tells whether a question is for the person at the page: no other has got its address,
// and the script does not say that it is for somebody else. A CONFIRM may be a decision about that
// person.
func isVisitors(kind, to string, sent bool) bool {
	return kind == engine.KindGather && to == "" && !sent
}

// openPrompt is a question that is open, as pages show it.
func (v *Site) openPrompt(p job.Prompt) PromptPage {
	return PromptPage{Account: v.account.Username, State: job.QuestionOpen, Prompt: p, MaxBytes: v.limits.BodyBytes, FileBytes: v.limits.FileBytes, owner: v.account}
}

// countFiles is how many files may come with the answer to a form.
func countFiles(f *form.Form) (n uint8) {
	for _, field := range f.Fields {
		if field.Kind == form.File && n < math.MaxUint8 {
			n++
		}
	}
	return n
}

// mostCarriedMemory is how much memory a script holds at most whose state is tried to be carried: to
// look costs as much as it is large.
const mostCarriedMemory = 16 * mostCarried

// carry hands the state of a page that stands at a question to its visitor; nil where it is to be
// stored: where something was changed before, where the question is for others, and where the state
// is too large.
func (k *syncRun) carry(ctx context.Context, run *engine.Run, out engine.Outcome) (*PageQuestion, error) {
	p := out.Prompt
	if out.Status != engine.Paused || k.changed || !isVisitors(p.Kind, p.To, p.Sent) ||
		k.machine.Memory() > mostCarriedMemory || len(k.machine.Output()) > mostCarried || len(run.HeldFiles()) > 0 || len(k.Spec.Uploads) > 0 {
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx)
	_ = k.Pace.Turn(ctx) // where its time is over, it is carried all the same
	snapshot, err := k.machine.Snapshot(ctx, k.Pace)
	if err != nil {
		return nil, err
	}
	now := k.o.Clock()
	page := &carriedPage{
		Job: k.ID, Program: k.program.Hash, Visitor: k.query.Page.Visitor, Expires: now.Add(carriedFor(k.Limits)), Path: k.query.Page.Target.Path,
		Ran: now.Sub(k.Spec.Started), Spec: k.Spec, Message: p.Message, Schema: value.AppendJSON(nil, p.Form.Schema()), output: k.machine.Output(),
	}
	page.Spec.Session = k.SessionID()
	if !p.Expires.IsZero() && p.Expires.Before(page.Expires) {
		page.Expires = p.Expires
	}
	page.Step, page.history = k.history.Part(nil)
	if page.state, err = engine.EncodeState(run.State(), snapshot); err != nil {
		return nil, err
	}
	q := &PageQuestion{
		PromptPage: k.query.Page.Site.openPrompt(job.Prompt{ID: p.ID, Kind: p.Kind, Message: p.Message, Expires: page.Expires, Schema: page.Schema}),
		Token:      k.sealToken(k.Account.ID, pageToken{k.ID, page.Visitor, countFiles(p.Form), p.ID}),
	}
	if q.Carried, err = k.sealCarried(k.Account.ID, page); err != nil || q.Carried == "" {
		return nil, err
	}
	return q, nil
}

// carriedFor is how long a page is carried.
func carriedFor(l account.Limits) time.Duration {
	if l.JobRetention > 0 {
		return min(carriedTime, l.JobRetention)
	}
	return carriedTime
}

// asked is the result of a page that its visitor carries.
func (k *syncRun) asked(q *PageQuestion) result {
	k.reserveOutput()
	now := k.o.Clock()
	r := result{question: q}
	r.Record = execution.NewRecord(k.Spec.Trace, k.summary(), job.Paused, now, max(now.Sub(k.Spec.Started), 0), k.machine, nil)
	return r
}

// AskedPage is a question of a page that its visitor answers.
type AskedPage struct {
	// Asked is the question where it is stored and open; nil for others.
	Asked *PromptPage
	// IsCarried says that nothing is stored of the page: its visitor carries it, see Resume.
	IsCarried bool
	// View names the run of the page for its visitor, see Site.Run.
	View string

	site    *Site
	token   pageToken
	found   foundJob
	carried *carriedPage
}

// Question finds a question of a page by its token, for the visitor that it was asked.
func (v *Site) Question(ctx context.Context, visitor Visitor, token string) (*AskedPage, error) {
	s := v.service
	t, err := s.openToken(v.account.ID, sealedAsked, visitor, token)
	if err != nil {
		return nil, s.countSiteMiss(v, ErrNoPage())
	}
	p := &AskedPage{site: v, token: t, View: s.sealToken(v.account.ID, pageToken{Job: t.Job, Visitor: t.Visitor})}
	return p, p.find(ctx)
}

// find finds the job of the question.
func (p *AskedPage) find(ctx context.Context) error {
	s := p.site.service
	view, err := s.jobHead(ctx, p.token.Job)
	switch {
	case errors.Is(err, job.ErrNotFound):
		p.IsCarried = true
		return nil
	case err != nil:
		return err
	}
	p.IsCarried = false
	if view.Prompt != nil && view.Prompt.ID == p.token.Prompt && view.Prompt.Sealed == nil { // its words are many
		if view, err = s.jobView(ctx, p.site.caller.Memory, p.token.Job); err != nil {
			return s.gone(err)
		}
	}
	p.found = foundJob{View: view, owner: p.site.account, by: principal.ByNobody, answers: true}
	if view.State == job.Paused && view.Prompt != nil && view.Prompt.ID == p.token.Prompt {
		asked := p.site.openPrompt(*view.Prompt)
		p.Asked = &asked
	}
	return nil
}

// MaxBytes is how many bytes an answer has at most, without files, and each of those.
func (p *AskedPage) MaxBytes() (values int, files int64) {
	each := cmp.Or(p.site.limits.FileBytes, math.MaxInt64>>16)
	return p.site.limits.BodyBytes, int64(p.token.Files) * each
}

// Reply answers a question that is stored. ErrQuestionOver says that it is not open; the same reply
// again is no error.
func (p *AskedPage) Reply(ctx context.Context, r Reply) error {
	r.Prompt = p.token.Prompt
	_, _, err := p.site.service.reply(ctx, p.site.caller, &p.found, r)
	if fault.Is(err, fault.NotPaused) {
		return ErrQuestionOver
	}
	return err
}

// Show returns what the page has put out so far, with its question, to be shown again.
func (p *AskedPage) Show(ctx context.Context) (Answer, error) {
	s := p.site.service
	if p.IsCarried {
		return p.answer(&job.Record{Result: p.carried.output}, &PageQuestion{}), nil
	}
	view, err := s.jobView(ctx, p.site.caller.Memory, p.token.Job)
	if err != nil {
		return Answer{}, s.gone(err)
	}
	return p.answer(&view.Record, &PageQuestion{}), nil
}

// answer is the page with a question.
func (p *AskedPage) answer(r *job.Record, q *PageQuestion) Answer {
	s := p.site.service
	a := Answer{Meta: p.site.Meta, Job: execution.WireJob(r), Status: 200, Question: q}
	id := p.site.account.ID
	a.OnSent = func(bytes int64) { s.countEgress(context.Background(), id, bytes) }
	return a
}

// StalePage is the error of an answer to a page that cannot go on: it was changed since, or its time
// is over. Query asks for it anew.
type StalePage struct {
	Query Query
	// IsSafe says that the page was looked at, and nothing was sent to it: it may be run again
	// without being asked for.
	IsSafe bool
}

func (e *StalePage) Error() string { return "the page begins anew" }

// Open opens a page that its visitor carries, and returns what it asks. A *StalePage says that it
// begins anew.
func (p *AskedPage) Open(carried string) (q PromptPage, err error) {
	s, v := p.site.service, p.site
	page, err := s.openCarried(v.account.ID, p.token, carried)
	if err != nil {
		return q, s.countSiteMiss(v, ErrNoPage())
	}
	p.carried = page
	if !s.o.Clock().Before(page.Expires) {
		return q, p.stale()
	}
	return v.openPrompt(job.Prompt{ID: p.token.Prompt, Kind: engine.KindGather, Message: page.Message, Schema: page.Schema, Expires: page.Expires}), nil
}

// query asks for the page anew.
func (p *AskedPage) query() Query {
	spec := &p.carried.Spec
	return Query{
		Convention: job.Site, Request: spec.Request, Input: spec.Input, Trace: spec.Trace, Within: func(wire.Limits) error { return nil },
		Page: &Page{Site: p.site, Target: site.Target{Kind: site.Script, Path: p.carried.Path}, Visitor: p.token.Visitor},
	}
}

func (p *AskedPage) stale() error {
	return &StalePage{Query: p.query(), IsSafe: isLook(&p.carried.Spec.Request)}
}

// Resume makes a job of a page that was opened, and answers its question. A *StalePage says that the
// page begins anew, and ErrQuestionOver that it was answered already. Answers that do not fit are
// form.FieldErrors, and come with the page to show again.
func (p *AskedPage) Resume(ctx context.Context, reply Reply) (Answer, error) {
	s, v := p.site.service, p.site
	a := Answer{Meta: v.Meta}
	verdict := s.countView(v.caller, v.account.ID, v.limits)
	a.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return a, err
	}
	q := p.query()
	err := s.openPage(ctx, v.caller, &q, v.limits)
	if fault.Is(err, fault.NotFound) {
		return a, p.stale()
	}
	if err != nil {
		return a, err
	}
	spent, err := s.o.Usage.Begin(ctx, v.account.ID, v.limits)
	if err != nil {
		return a, s.quotaError(err)
	}
	defer spent.Done()
	r := &resumption{AskedPage: p, query: q, reply: reply}
	if err := r.adopt(ctx, &a); err != nil {
		return a, err
	}
	if err := p.find(ctx); err != nil {
		return a, err
	}
	return a, p.Reply(ctx, reply)
}

// isLook tells whether a request was one for a page, as browsers send it for an address.
func isLook(r *wire.Request) bool {
	for _, e := range r.Entries {
		if e.Name == "method" {
			return e.Value == "GET"
		}
	}
	return false
}

// resumption is a page that goes on.
type resumption struct {
	*AskedPage
	query Query
	reply Reply
}

// adopt makes a job of the page, once the answer fits. One that somebody else has made meanwhile,
// by the same answer sent twice, is as good.
func (r *resumption) adopt(ctx context.Context, a *Answer) error {
	s, v := r.site.service, r.site
	limits := v.limits
	if _, err := v.opened(ctx); err != nil {
		return err
	}
	ticket, err := s.o.Gate.Acquire(ctx, admit.Request{Account: int64(v.account.ID), Max: limits.Concurrent, Memory: limits.Memory, Visitor: true})
	if err != nil {
		return err
	}
	defer ticket.Release()
	ctx, cancel := withTimeout(ctx, limits.SyncTime)
	defer cancel()
	who := v.visitor()
	spec := r.carried.Spec
	spec.Files = v.files
	if spec.Session == "" {
		spec.Session = v.caller.Session
	}
	x, err := s.o.Host.Open(ctx, r.carried.Job, v.account, limits, spec, ticket)
	if err != nil {
		return err
	}
	defer x.Close()
	k := &syncRun{Service: s, Execution: x, who: who, query: &r.query, answer: answerMemory{CallMemory: v.caller.Memory}}
	defer k.release()
	run, out, err := r.restore(ctx, k)
	if err != nil {
		return err
	}
	if err := r.check(ctx, k, out.Prompt, a); err != nil {
		return err
	}
	_, failure, err := k.adopt(ctx, run, out, r.carried.Ran)
	if session := x.SessionID(); session != v.caller.Session {
		a.Session = session
	}
	switch {
	case failure != nil: // its owner's affair
		s.o.Log.Warn("a page that was answered could not be stored", "account", v.account.ID, "page", r.carried.Path, "error", failure.Message)
		return fault.New(fault.Overloaded, "there is no room for this at the moment")
	case err != nil:
		if _, found := s.jobHead(ctx, r.carried.Job); found == nil {
			return nil
		}
		return err
	}
	return nil
}

// restore restores the script of the page, at its question.
func (r *resumption) restore(ctx context.Context, k *syncRun) (*engine.Run, engine.Outcome, error) {
	var none engine.Outcome
	program, failure, err := k.Compile(ctx, r.query.Script)
	if err != nil {
		return nil, none, err
	}
	if failure != nil || program.Hash != r.carried.Program {
		return nil, none, r.stale()
	}
	state, snapshot, err := engine.DecodeState(r.carried.state)
	if err != nil {
		return nil, none, err
	}
	k.program = program
	if k.machine, err = vm.Restore(ctx, k.Pace, program, snapshot, r.carried.output); err != nil {
		if errors.Is(err, vm.ErrCorrupt) || errors.Is(err, vm.ErrProgramMismatch) { // of another version
			err = r.stale()
		}
		return nil, none, err
	}
	if most := k.Limits.HistoryBytes; most > 0 {
		k.history = new(journal.Collector)
		k.history.Init(k.o.Ledger.Open(admit.AccountHolder(int64(k.Account.ID))), most, 0)
		k.history.Restore(r.carried.Step, r.carried.history)
	}
	run := k.Run(k.machine, state, nil)
	out, err := run.Continue(ctx)
	if err == nil && (out.Status != engine.Paused || out.Prompt.ID != r.token.Prompt) {
		err = fmt.Errorf("a page stands at no question: %s", out.Status)
	}
	return run, out, err
}

// check tells whether the reply fits.
func (r *resumption) check(ctx context.Context, k *syncRun, p *engine.Prompt, a *Answer) error {
	fields, bad := value.ParseJSON(nil, r.reply.Fields)
	if bad != nil {
		return fault.Invalid("fields", "%s", bad.Message)
	}
	_, err := p.Form.Validate(ctx, fields, keepsNothing(r.reply.Files), func() error { return k.Pace.Turn(ctx) })
	var wrong form.FieldErrors
	if errors.As(err, &wrong) {
		record := k.asked(nil).Record
		*a = r.answer(&record, &PageQuestion{})
	}
	return err
}

// keepsNothing checks the files that come with an answer, and leaves them: they are stored with that.
type keepsNothing map[string]form.Attached

// Attached implements form.Sink.
func (n keepsNothing) Attached(field string) (form.Attached, bool) {
	a, ok := n[field]
	return a, ok
}

// Store implements form.Sink.
func (keepsNothing) Store(context.Context, form.Upload) (string, error) { return "", nil }

// PageRun is a run of a page that is stored, as its visitor sees it.
type PageRun struct {
	Answer
	State job.State
	// Working says that it goes on in a moment.
	Working bool
	// ResumesAt is when one goes on that waits for longer; zero for others.
	ResumesAt time.Time
}

// Run shows a run of a page to its visitor, after a moment for one that is at work.
func (v *Site) Run(ctx context.Context, visitor Visitor, token string) (PageRun, error) {
	s := v.service
	p := PageRun{Answer: Answer{Meta: v.Meta}}
	t, err := s.openToken(v.account.ID, sealedRun, visitor, token)
	if err != nil {
		err = s.countSiteMiss(v, ErrNoPage())
		p.Meta = v.Meta
		return p, err
	}
	if polls := s.countPoll(v.caller, v.account); !polls.OK {
		p.Rate = &polls
		return p, polls.Err()
	}
	head, err := s.jobHead(ctx, t.Job)
	if err == nil && s.isAtWork(head) {
		// Where too many wait, it is not waited for.
		if leave, full := s.enterListeners(ctx, v.caller, v.account); full == nil {
			err = s.awaitJob(ctx, head, answerWait, func(v *job.View) bool { return !s.isAtWork(v) })
			leave()
			if err == nil {
				head, err = s.jobHead(ctx, t.Job)
			}
		}
	}
	if err == nil && s.isAtWork(head) {
		p.State, p.Working = head.State, true
		return p, nil
	}
	var view *job.View
	if err == nil {
		view, err = s.jobView(ctx, v.caller.Memory, t.Job)
	}
	if errors.Is(err, job.ErrNotFound) {
		err = ErrNoPage()
	}
	if err != nil {
		return p, err
	}
	return p, s.showRun(v, t, view, &p)
}

// showRun shows a run that is not at work.
func (s *Service) showRun(v *Site, t pageToken, view *job.View, p *PageRun) (err error) {
	p.State, p.Working = view.State, s.isAtWork(view) // it may have gone on
	p.Job, p.Status = execution.WireJob(&view.Record), 200
	if asked := view.Prompt; view.State == job.Paused && asked != nil && isVisitors(asked.Kind, asked.To, asked.Sent) {
		t.Prompt = asked.ID
		p.Question = &PageQuestion{
			PromptPage: v.openPrompt(*asked), Token: s.sealToken(v.account.ID, t),
		}
	}
	if view.State == job.Waiting {
		p.ResumesAt = view.Until
	}
	if view.State == job.Failed {
		if p.Err, err = wire.ReadError(view.Error); err != nil {
			return err
		}
	}
	id := v.account.ID
	p.OnSent = func(bytes int64) { s.countEgress(context.Background(), id, bytes) }
	return nil
}

// adopt makes a durable job of a script that waits for a person, or longer than its caller.
func (k *syncRun) adopt(ctx context.Context, run *engine.Run, out engine.Outcome, ran time.Duration) (*job.View, *wire.Error, error) {
	k.Pace.Yield()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	k.Spec.Session = k.SessionID()
	k.Spec.Files = nil // closed with the call
	if k.program.UsesSession {
		// One that is started only later is to be the caller's.
		if err := k.EnsureSession(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := k.keepUploads(ctx, run); err != nil {
		return nil, nil, err
	}
	k.reserveOutput()
	view, err := k.o.Jobs.Adopt(ctx, worker.Submission{
		Summary: k.summary(), Account: k.Account, Limits: k.Limits, Spec: k.Spec, Program: k.program,
		Webhook: k.query.Webhook, WebhookTrace: k.query.WebhookTrace, WebhookEvents: k.query.WebhookEvents, Call: k.call(k.Execution, k.query), Collected: k.history,
	}, run, out, ran)
	if err == nil {
		return view, nil, nil
	}
	return nil, worker.SuspendRefused(err, k.Limits, k.machine), err
}
