package service

import (
	"context"

	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// QuestionQuery is what a listing of an account's questions asks for.
type QuestionQuery struct {
	To     string // whom they are for, "" for anybody
	State  string // "" for those that are open, "all" for all
	Limit  int
	Before string // the id of the last question of the page before, "" for the first page
}

// QuestionListing is a page of an account's questions, those asked last first.
type QuestionListing struct {
	Meta
	Questions []wire.QuestionEntry
	Next      string // "" for the last page
}

// allQuestions is what a listing asks for that is not for one state.
const allQuestions = "all"

// questionEntries is about how many entries of a listing of jobs a question takes: its schema is
// the most of it.
const questionEntries = 40

// Questions lists the questions of the account that the credentials prove.
func (s *Service) Questions(ctx context.Context, c Caller, p *Credentials, l QuestionQuery) (QuestionListing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{what: "questions", accepts: anyCredential})
	listing := QuestionListing{Meta: Meta{Origin: owner.origin}}
	if err != nil {
		return listing, err
	}
	q := job.QuestionQuery{State: job.QuestionState(l.State), Audience: l.To, Limit: l.Limit + 1, Before: l.Before}
	switch {
	case l.State == "":
		q.State = job.QuestionOpen
	case l.State == allQuestions:
		q.State = ""
	case !q.State.IsListed():
		return listing, fault.Invalid("state", "is no state of a question: open, answered, expired, withdrawn or all fits")
	}
	if err := limitQuestions(&q, &owner.Principal); err != nil {
		return listing, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	listing.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return listing, err
	}
	return s.listQuestions(ctx, c, &owner, q, listing)
}

// listQuestions lists what a query finds of an account.
func (s *Service) listQuestions(ctx context.Context, c Caller, owner *caller, q job.QuestionQuery, listing QuestionListing) (QuestionListing, error) {
	if err := c.Memory.reservePage(ctx, questionEntries*q.Limit); err != nil {
		return listing, err
	}
	list, err := s.o.Jobs.Questions(ctx, owner.Account.ID, q)
	if err != nil {
		return listing, err
	}
	list, listing.Next = cutPage(list, q.Limit-1, func(q *job.Question) string { return q.Prompt })
	for i := range list {
		entry, err := s.questionEntry(&list[i], mayAnswer(&owner.Principal))
		if err != nil {
			return listing, err
		}
		listing.Questions = append(listing.Questions, entry)
	}
	return listing, nil
}

// questionEntry is a question as a listing shows it, to who may answer it or may not.
func (s *Service) questionEntry(q *job.Question, answers bool) (wire.QuestionEntry, error) {
	e := wire.QuestionEntry{
		ID: q.Prompt, State: string(q.State), Kind: q.Kind, To: q.Audience, Title: q.Title, Schema: q.Schema, SchemaOmitted: q.Large,
		JobID: q.Job.ID.String(), Ref: q.Seq, Program: q.Job.ProgramName,
		AskedAt: q.Asked, ExpiresAt: q.Expires, EndedAt: q.Ended,
	}
	switch q.State {
	case job.QuestionOpen:
		if q.Sealed == nil || !answers { // where there is none, it was answered this moment
			return e, nil
		}
		token, err := s.o.Jobs.QuestionToken(q)
		if err != nil {
			return e, err
		}
		e.ConfirmURL, e.FormURL = s.o.URLs.Confirm()+e.JobID, s.o.URLs.Form()+token
	case job.QuestionAnswered:
		e.Decision, e.Note, e.By, e.Receipt = q.Decision, q.Note, job.AnsweredBy(q.By, q.ByName), job.ReceiptNumber(q.Prompt)
	}
	return e, nil
}

// limitQuestions limits a listing to the questions that its caller may see: those of the jobs that
// it may see, and, with the scope answer alone, those that it may answer, which are open.
func limitQuestions(q *job.QuestionQuery, who *principal.Principal) error {
	switch {
	case who.By == principal.ByKey:
		q.Credential = principal.ByKey
		return nil
	case who.By != principal.ByNamedKey:
		return nil
	case who.Scopes.Has(scope.Jobs):
	case who.Scopes.Has(scope.Answer):
		if q.State != job.QuestionOpen {
			return scopeMissing(who, scope.Jobs.String())
		}
	case who.Scopes.Has(scope.Run) || who.Scopes.IsOfPrograms():
		q.KeyID = who.Key.ID
		return nil
	default:
		return scopeMissing(who, scope.Answer.String()+" or "+scope.Jobs.String())
	}
	if who.Scopes.IsOfPrograms() {
		q.Programs = who.Scopes.Programs
	}
	return nil
}

// JobAnswers is a page of the answers to a job's questions, those that came last first.
type JobAnswers struct {
	Meta
	Ref     int64
	Answers []wire.JobAnswered
	Next    string // "" for the last page
}

// answerEntries is about how many entries of a listing of jobs an answer takes.
const answerEntries = 6

// JobAnswers lists the answers to the questions of a job.
func (s *Service) JobAnswers(ctx context.Context, c Caller, p *Credentials, ref string, limit int, before string) (JobAnswers, error) {
	_, j, meta, err := s.findRef(ctx, c, p, ref)
	a := JobAnswers{Meta: meta, Ref: j.Ref}
	if err == nil {
		err = c.Memory.reservePage(ctx, answerEntries*limit)
	}
	if err != nil {
		return a, err
	}
	list, err := s.o.Jobs.Questions(ctx, j.Account, job.QuestionQuery{Job: j.Ref, State: job.QuestionAnswered, Limit: limit + 1, Before: before})
	list, a.Next = cutPage(list, limit, func(q *job.Question) string { return q.Prompt })
	for i := range list {
		a.Answers = append(a.Answers, jobAnswered(&list[i]))
	}
	return a, err
}

// jobAnswered is an answer as the owner of its job sees it.
func jobAnswered(q *job.Question) wire.JobAnswered {
	return wire.JobAnswered{
		PromptID: q.Prompt, Title: q.Title, To: q.Audience, By: job.AnsweredBy(q.By, q.ByName), At: q.Ended, Decision: q.Decision, Note: q.Note,
		Receipt: job.ReceiptNumber(q.Prompt),
	}
}
