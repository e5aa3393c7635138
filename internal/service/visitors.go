package service

import (
	"context"
	"slices"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/principal"
)

// addressEntries is how many entries of !REQUEST, at its beginning, say at which address a
// program was called, and how.
const addressEntries = 4

// ErrNoProgram is the answer to whoever calls an address at which there is no program for them.
func ErrNoProgram() error { return errNoProgram() }

// openCalled finds the published script that a query calls.
func (s *Service) openCalled(ctx context.Context, who *caller, q *Query, l account.Limits) error {
	p, err := s.openProgram(ctx, &who.Principal, *q.Program, l)
	if err == nil {
		q.Script, q.published = p.Text, &p
	}
	return err
}

// countProgramMiss counts a call at an address where there is no program for the caller.
// Whether there is one for others, or such an account, makes no difference to it.
func (s *Service) countProgramMiss(c Caller, who *caller, a Answer, err error) (Answer, error) {
	if !fault.Is(err, fault.ScriptNotFound) || who.ActsForOwner() {
		return a, err
	}
	_, missed, err := s.countMiss(c, err)
	missed.Origin = a.Origin
	return missed, err
}

// withHead returns methods with HEAD, which comes with GET.
func withHead(methods []string) []string {
	if i := slices.Index(methods, "GET"); i >= 0 {
		return slices.Insert(slices.Clone(methods), i+1, "HEAD")
	}
	return methods
}

// asVisitor makes a visitor of a named key that is let in as everybody is. So it is one in all: its
// rate, its idempotency keys, what it may use at once, and what its job is recorded with, by which
// a repetition knows what rights it had.
func (s *Service) asVisitor(ctx context.Context, who *caller, c Caller, program string) error {
	if who.By != principal.ByNamedKey || who.MayRun(program) {
		return nil
	}
	visitor, err := s.o.Auth.Visitor(ctx, who.Account, c.Source)
	if err != nil {
		return err
	}
	visitor.Session = who.Session
	who.Principal = visitor
	return nil
}

// ProgramPreflight tells whether a page may call the programs of an account, whatever they
// are: whether the account lists its domain. One that is not there lists none. Who is refused is
// counted: it may be asking which accounts list a domain.
func (s *Service) ProgramPreflight(ctx context.Context, c Caller, username string) (Meta, error) {
	err := s.checkPreflight(ctx, c, username)
	if !fault.Is(err, fault.OriginNotAllowed) {
		return Meta{}, err
	}
	_, missed, err := s.countMiss(c, err)
	return missed.Meta, err
}

func (s *Service) checkPreflight(ctx context.Context, c Caller, username string) error {
	refused := fault.New(fault.OriginNotAllowed, "pages of this origin may not call here: its domain is not on the account's list")
	owner, err := s.programOwner(ctx, Program{Owner: username})
	if fault.Is(err, fault.ScriptNotFound) {
		return refused
	}
	if err != nil {
		return err
	}
	visitor, err := s.o.Auth.Visitor(ctx, owner, c.Source)
	if err == nil && visitor.By != principal.ByOrigin {
		return refused
	}
	return err
}
