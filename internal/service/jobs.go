package service

import (
	"context"

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
	owner, err := s.authenticateOwner(ctx, c, p, "jobs", anyCredential)
	listing := JobListing{Meta: Meta{Origin: owner.origin}}
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
	for _, j := range list {
		listing.Jobs = append(listing.Jobs, wire.JobEntry{
			ID: j.ID.String(), Status: string(j.State), Mode: string(j.Mode), Convention: string(j.Convention),
			CreatedAt: j.Created, FinishedAt: j.Finished, Steps: j.Steps,
		})
	}
	return listing, nil
}
