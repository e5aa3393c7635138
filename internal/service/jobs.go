package service

import (
	"context"
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// JobQuery is what a listing of an account's jobs asks for.
type JobQuery struct {
	Status     string    // "" for all
	Text       string    // in their names; "" for all
	Error      string    // the code of their errors; "" for all
	Convention string    // "" for all
	Schedule   string    // that started them; "" for all
	Since      time.Time // created then or later; zero for all
	Until      time.Time // created earlier; zero for all
	Limit      int
	Before     string // the id of the last job of the page before, "" for the first page
}

// JobListing is a page of an account's jobs, the newest first.
type JobListing struct {
	Meta
	Jobs []wire.JobEntry
	Next string // "" for the last page
}

// Jobs lists the jobs of the account that the credentials prove.
func (s *Service) Jobs(ctx context.Context, c Caller, p *Credentials, l JobQuery) (JobListing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{what: "jobs", accepts: anyCredential})
	listing := JobListing{Meta: Meta{Origin: owner.origin}}
	if err != nil {
		return listing, err
	}
	q := job.Query{
		State: job.State(l.Status), Text: l.Text, ErrorCode: l.Error, Convention: job.Convention(l.Convention), Schedule: l.Schedule, Since: l.Since, Until: l.Until, Limit: l.Limit + 1,
	}
	if err := checkJobQuery(&q); err != nil {
		return listing, err
	}
	if err := limitQuery(&q, &owner.Principal); err != nil {
		return listing, err
	}
	// These look at all jobs of the account, so they count as a call does.
	if q.Text != "" || q.Convention != "" || !q.Since.IsZero() || !q.Until.IsZero() {
		verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
		listing.Rate = &verdict
		if err := verdict.Err(); err != nil {
			return listing, err
		}
	}
	if l.Before != "" {
		var ok bool
		if q.Before, ok = job.ParseID(l.Before); !ok {
			return listing, fault.Invalid("before", "is no id of a job: next of the page before fits")
		}
	}
	if err := c.Memory.reservePage(ctx, l.Limit); err != nil {
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
	keys, err := s.keyNames(ctx, c, &owner, list)
	if err != nil {
		return listing, err
	}
	for _, j := range list {
		listing.Jobs = append(listing.Jobs, jobEntry(&j, keys[j.KeyID]))
	}
	return listing, nil
}

// mostFilterBytes is how long a text may be that a listing asks for.
const mostFilterBytes = 200

// checkJobQuery says what is wrong with what a listing asks for.
func checkJobQuery(q *job.Query) error {
	switch {
	case q.State != "" && !q.State.Valid():
		return fault.Invalid("status", "is no state of a job: %s fits", job.StatesText)
	case q.Convention != "" && !q.Convention.Valid():
		return fault.Invalid("convention", "is no convention: %s fit", job.ConventionsText)
	case len(q.Text) > mostFilterBytes:
		return fault.Invalid("q", "is too long: %d bytes at most", mostFilterBytes)
	case q.Schedule != "" && !names.IsName(q.Schedule):
		return fault.Invalid("schedule", "is no name of a schedule: %v", names.ErrName)
	case len(q.ErrorCode) > mostFilterBytes:
		return fault.Invalid("error", "is too long: %d bytes at most", mostFilterBytes)
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return fault.Invalid("until", "is not after since: no job is between")
	}
	return nil
}

// jobEntry is a job as listings show it, with the name of the key that started it.
func jobEntry(j *job.Listed, key string) wire.JobEntry {
	return wire.JobEntry{
		ID: j.ID.String(), Ref: j.Ref, Name: j.Name, Status: string(j.State), Error: j.ErrorCode, Mode: string(j.Mode), Convention: string(j.Convention),
		By: string(j.Credential), Key: key, Program: j.ProgramName, Schedule: j.Schedule,
		CreatedAt: j.Created, FinishedAt: j.Finished, Ran: j.Ran, Steps: j.Steps,
	}
}

// limitQuery limits a listing to the jobs that its caller may see.
func limitQuery(q *job.Query, who *principal.Principal) error {
	switch {
	case who.By == principal.ByKey:
		q.Credential = principal.ByKey
	case who.By != principal.ByNamedKey:
	case who.Scopes.Has(scope.Jobs) && who.Scopes.IsOfPrograms():
		q.Programs = who.Scopes.Programs
	case who.Scopes.Has(scope.Jobs):
	case who.Scopes.Has(scope.Run) || who.Scopes.IsOfPrograms():
		q.KeyID = who.Key.ID
	default: // what it starts, it starts as everybody may, who see no jobs
		return scopeMissing(who, scope.Jobs.String())
	}
	return nil
}

// mayReach tells whether a caller of the job's account may see and stop a job: the owner any, a key
// those that it started. A named key with the scope jobs, or with another that does instead, reaches
// those of others too, of its programs alone where it is for some.
func mayReach(who *principal.Principal, j *job.Summary, instead scope.Kind) bool {
	switch who.By {
	case principal.ByKey:
		return j.Credential == principal.ByKey
	case principal.ByNamedKey:
		others := who.Scopes.Has(scope.Jobs) || instead != 0 && who.Scopes.Has(instead)
		return j.KeyID == who.Key.ID || others && (!who.Scopes.IsOfPrograms() || who.Scopes.MayRun(j.ProgramName))
	}
	return true
}

// keyNames returns the names of the keys that started jobs. One that was revoked has none any more.
func (s *Service) keyNames(ctx context.Context, c Caller, owner *caller, jobs []job.Listed) (map[account.NamedKeyID]string, error) {
	if !slices.ContainsFunc(jobs, func(j job.Listed) bool { return j.KeyID != 0 }) {
		return nil, nil
	}
	if err := s.reserveKeys(ctx, c, owner); err != nil {
		return nil, err
	}
	keys, err := s.o.Keys.NamedKeys(ctx, owner.Account.ID)
	named := make(map[account.NamedKeyID]string, len(keys))
	for _, k := range keys {
		named[k.ID] = k.Name
	}
	return named, err
}
