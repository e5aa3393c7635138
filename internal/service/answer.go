package service

import (
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// Meta is what goes with the answer of every operation, also where that is an error.
type Meta struct {
	// Origin is the page's, where the account that the call runs as lists it: it may
	// read the answer.
	Origin string
	// Rate says how many calls remain; nil where none were counted.
	Rate *admit.Verdict
}

// Answer is what an operation on a job gives.
type Answer struct {
	Meta
	Job    wire.Job
	Status int         // of HTTP
	Err    *wire.Error // why the job failed, nil where it did not
	// Session is the id of a session that the caller does not have yet, or "".
	Session string
	// RetryAfter says when to try again what we could not do; 0 says nothing.
	RetryAfter time.Duration

	// By is what the caller proved itself by, and Trusted says that it acts for the owner of
	// the script: it may know it from the inside.
	By      principal.Credential
	Trusted bool
	// OnSent is told of the page of a site how many bytes of it were sent; nil where nothing is to
	// be counted.
	OnSent func(bytes int64)
	// Question is what the page of a site asks its visitor; nil where it asks nothing.
	Question *PageQuestion
	// View names the run of a page that is stored, for its visitor; "" where there is none.
	View string
	// Callers are those of a published script.
	Callers account.Callers
	// answers says that the caller may answer the script's questions.
	answers bool
}

// ShowsJob tells whether the caller gets the id of its job. Whoever has that sees its trace and
// output, and answers its questions: a caller who is let in as everybody is gets none, whatever it
// has proved.
func (a *Answer) ShowsJob() bool { return a.Trusted || a.By == principal.ByOrigin }

// mayAnswer tells whether a caller may answer questions, and so may have their addresses: the page of
// one asks for no credentials, and would let a named key do what its scopes do not.
func mayAnswer(who *principal.Principal) bool {
	return who.By != principal.ByNamedKey || who.Scopes.Has(scope.Answer)
}

// jobAnswer is a job as a poll shows it, to who may answer its questions or may not. A finished one
// has the same bytes each time.
func (s *Service) jobAnswer(v *job.View, answers bool) (wire.Job, error) {
	switch v.State {
	case job.Accepted:
		return s.acceptedAnswer(v.ID), nil
	case job.Running:
		j := execution.WireJob(&v.Record)
		j.PollURL = s.pollURL(v.ID)
		return j, nil
	case job.Paused, job.Waiting:
		return s.suspendedAnswer(v, answers)
	}
	return execution.WireJob(&v.Record), nil
}

// suspendedAnswer is a suspended job, with what it has given so far, and for who may answer with
// where.
func (s *Service) suspendedAnswer(v *job.View, answers bool) (wire.Job, error) {
	j := execution.WireJob(&v.Record)
	j.PollURL = s.pollURL(v.ID)
	if v.State == job.Waiting {
		j.ResumeAt = v.Until
		return j, nil
	}
	if v.Prompt == nil {
		return j, nil // it was answered this moment
	}
	j.Prompt = wirePrompt(v.Prompt)
	if !answers {
		return j, nil
	}
	token, err := s.o.Jobs.FormToken(v)
	if err != nil {
		return j, err
	}
	j.ConfirmURL = s.o.URLs.Confirm() + v.ID.String()
	j.FormURL = s.o.URLs.Form() + token
	return j, nil
}

// wirePrompt is a prompt as callers see it.
func wirePrompt(p *job.Prompt) *wire.Prompt {
	return &wire.Prompt{ID: p.ID, Kind: p.Kind, Sent: p.Sent, To: p.To, Message: p.Message, Schema: p.Schema, ExpiresAt: p.Expires}
}

func (s *Service) pollURL(id job.ID) string { return s.o.URLs.API + "/v1/job/" + id.String() }

// acceptedAnswer is the answer to a submission, the same each time.
func (s *Service) acceptedAnswer(id job.ID) wire.Job {
	return wire.Job{Status: wire.StatusAccepted, ID: id.String(), PollURL: s.pollURL(id)}
}
