package service

import (
	"context"
	"slices"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// JobQuery is what a listing of an account's jobs asks for.
type JobQuery struct {
	Status string // "" for all
	Limit  int
	Before string // the id of the last job of the page before, "" for the first page
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
	q := job.Query{State: job.State(l.Status), Limit: l.Limit + 1}
	if q.State != "" && !q.State.Valid() {
		return listing, fault.Invalid("status", "is no state of a job: %s fits", job.StatesText)
	}
	if err := limitQuery(&q, &owner.Principal); err != nil {
		return listing, err
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
	names, err := s.keyNames(ctx, c, &owner, list)
	if err != nil {
		return listing, err
	}
	for _, j := range list {
		listing.Jobs = append(listing.Jobs, jobEntry(&j, names[j.KeyID]))
	}
	return listing, nil
}

// jobEntry is a job as listings show it, with the name of the key that started it.
func jobEntry(j *job.Listed, key string) wire.JobEntry {
	return wire.JobEntry{
		ID: j.ID.String(), Ref: j.Ref, Name: j.Name, Status: string(j.State), Error: j.ErrorCode, Mode: string(j.Mode), Convention: string(j.Convention),
		By: string(j.Credential), Key: key, Program: j.ProgramName,
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
	names := make(map[account.NamedKeyID]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}
