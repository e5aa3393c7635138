package service

import (
	"context"
	"strconv"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/audit"
	"ql/internal/principal"
	"ql/internal/wire"
)

// Audit keeps the logs of who did what.
type Audit interface {
	audit.Log
	// Entries returns up to limit entries of an account's log, the newest first: those before a
	// number, 0 for the newest.
	Entries(ctx context.Context, id account.ID, before int64, limit int) ([]audit.Entry, error)
}

// acting is a context in which a caller acts, for the log of its account.
func (s *Service) acting(ctx context.Context, c Caller, p *principal.Principal) context.Context {
	return audit.By(ctx, audit.ActorOf(p, c.Addr, p.Account.Limits(s.o.Limits).LogBytes))
}

// audit logs an act that changes nothing of the store.
func (s *Service) audit(ctx context.Context, e audit.Event) error {
	if s.o.Audit == nil {
		return nil
	}
	return s.o.Audit.Append(ctx, e)
}

// LogListing is a page of an account's log, the newest entries first.
type LogListing struct {
	Meta
	Entries []wire.LogEntry
	Next    string // "" for the last page
}

// Log lists who did what to the account, before the entry with a number, "" for the newest.
func (s *Service) Log(ctx context.Context, c Caller, p *Credentials, before string, limit int) (LogListing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{"the account's log", passwordOrName, scope.Manage})
	l := LogListing{Meta: Meta{Origin: owner.origin}}
	if err != nil {
		return l, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	l.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return l, err
	}
	from, err := beforeNumber(before, "an entry")
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, logEntries*limit); err != nil || s.o.Audit == nil {
		return l, err
	}
	entries, err := s.o.Audit.Entries(ctx, owner.Account.ID, from, limit+1)
	entries, l.Next = cutPage(entries, limit, func(e *audit.Entry) string { return strconv.FormatInt(e.Number, 10) })
	for i := range entries {
		e := &entries[i]
		l.Entries = append(l.Entries, wire.LogEntry{
			Number: e.Number, At: e.At, Act: string(e.Act), On: e.On, By: string(e.By), Key: e.Key, From: e.From,
			Result: string(e.Result), Count: e.Count, Hash: e.Hash.String(),
		})
	}
	return l, err
}

// logEntries is how many entries of a listing one of a log takes.
const logEntries = 3
