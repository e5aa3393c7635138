package service

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// keyTTL is how long an idempotency key leads to its first call.
const keyTTL = 24 * time.Hour

// idempotencyKey makes the idempotency key of a query, which belongs to its principal; nil
// where it has none.
func (s *Service) idempotencyKey(who caller, c Caller, q Query) *job.Key {
	if q.Key == nil {
		return nil
	}
	// A program is known by the name that was called: that it was published again
	// meanwhile makes no other request.
	script, program := q.Script, Program{}
	if q.Program != nil {
		script, program = "", *q.Program
	}
	request, space := q.Request, who.KeySpace()
	if q.Convention == job.Run {
		// Headers and cookies come from whatever is on the way, and make no other request.
		request.Entries, request.Cookie = request.Entries[:min(len(request.Entries), addressEntries)], nil
	}
	request.Files = slices.Clone(request.Files)
	for i := range request.Files {
		request.Files[i].Path = "" // which is another each time
	}
	if who.By == principal.ByNobody {
		space += admit.NetworkOf(c.Addr).String() + "\x00" // nobody finds what came of a stranger's call elsewhere
	}
	// Credentials are left out: a changed password makes no other request.
	body, _ := json.Marshal(struct { // of texts and checked JSON, which never fails
		Convention job.Convention
		Async      bool
		Script     string
		Request    wire.Request
		Webhook    string
		// What was added since: without it, a request is what it was before to the byte.
		Program      string            `json:",omitempty"`
		Method       string            `json:",omitempty"`
		Input        json.RawMessage   `json:",omitempty"`
		Trace        wire.TraceMode    `json:",omitempty"`
		WebhookTrace bool              `json:",omitempty"`
		Origin       int64             `json:",omitempty"`
		Events       job.WebhookEvents `json:",omitempty"`
		Concurrency  job.Concurrency   `json:",omitzero"`
	}{q.Convention, q.Async, script, request, q.Webhook, program.Name, program.Method, q.Input, q.Trace, q.WebhookTrace, q.origin, q.WebhookEvents, q.Concurrency})
	k := &job.Key{Hash: sha256.Sum256([]byte(space + *q.Key)), Body: sha256.Sum256(body), Until: s.o.Clock().Add(keyTTL)}
	if who.By == principal.ByOrigin {
		k.Legacy = sha256.Sum256([]byte(*q.Key))
	}
	return k
}

// reserveKey makes a key lead to a call whose script compiled. That of one which did
// not stays free: nothing ran that a repeat could run again. It returns the job
// of an earlier call with the key.
func (s *Service) reserveKey(ctx context.Context, a account.ID, k job.Key, id job.ID, compiled bool) (earlier job.ID, err error) {
	if compiled {
		return s.o.Jobs.ReserveKey(ctx, a, k, id)
	}
	return s.o.Jobs.FindKey(ctx, a, k)
}

// inFlight are the synchronous calls with a key that run at the moment: nothing
// else tells of them.
type inFlight struct{ calls sync.Map }

// begin notes a call, until the function that it returns is called.
func (u *inFlight) begin(id job.ID) (end func()) {
	u.calls.Store(id, nil)
	return func() { u.calls.Delete(id) }
}

func (u *inFlight) has(id job.ID) bool {
	_, ok := u.calls.Load(id)
	return ok
}

// repeatAnswer answers a call again whose key was used before. A script that was ended
// before its own end has failed for whoever called it; a no is an end of its own. RunsElsewhere tells of
// a call that is recorded when it is over whether another node may still run it; nil of others.
func (s *Service) repeatAnswer(ctx context.Context, c Caller, id job.ID, q Query, runsElsewhere func() (bool, error), a Answer) (Answer, error) {
	running := s.inFlight.has(id) // before the look for its record: it may end in between
	if !running && runsElsewhere != nil {
		var err error
		if running, err = runsElsewhere(); err != nil {
			return a, err
		}
	}
	v, err := s.jobView(ctx, c.Memory, id)
	if errors.Is(err, job.ErrNotFound) {
		return a, unrecordedError(running, q.Async)
	}
	if err != nil {
		return a, err
	}
	a.Session = "" // that of the first call is its job's
	if v.Mode == job.Async {
		a.Job, a.Status = s.acceptedAnswer(id), 202
		return a, nil
	}
	if a.Job, err = s.jobAnswer(v, a.answers); err != nil {
		return a, err
	}
	a.Status = a.Job.HTTPStatus()
	switch v.State {
	case job.Complete:
		a.Job.Status = wire.StatusOK
	case job.Failed, job.Expired:
		if a.Err, err = wire.ReadError(v.Error); err != nil {
			return a, err
		}
		a.Status = failedStatus(a.Err)
	case job.Cancelled:
		a.Err = &wire.Error{Code: string(job.Cancelled), Message: "somebody stopped the job: what it did stays done"}
		a.Job.Error = a.Err.AppendJSON(nil)
		a.Status = failedStatus(a.Err)
	}
	return a, nil
}

// unrecordedError is the error of a key whose call there is no record of.
func unrecordedError(running, async bool) error {
	became := "was cut off, or is kept no more: what it did stays done"
	switch {
	case running:
		became = "is still running"
	case async: // a job is recorded before its call is answered
		became = "is over, and its job is kept no more: what it did stays done"
	}
	return fault.New(fault.IdempotencyInProgress, "the first call with this Idempotency-Key %s", became)
}

// failedStatus is the status of the answer to a call whose script failed.
func failedStatus(e *wire.Error) int {
	switch {
	case e.ID != "", e.Code == string(fault.SessionBusy):
		return fault.New(fault.Code(e.Code), "").Status()
	}
	return (&wire.Job{Status: wire.StatusFailed}).HTTPStatus()
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
