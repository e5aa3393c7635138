package service

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/principal"
)

// Program is a published script that a query calls.
type Program struct {
	// Owner is the username of whose it is, where the address that was called has it; ""
	// for the account that the credentials or the page prove.
	Owner string
	Name  string // such as cart, or cart@3 for a version of it
	// Method is that of HTTP by which it is called; "" where it is called by no address of
	// its own, and its methods do not matter.
	Method string
}

// identify tells as whom a query runs. Whoever calls a program by its owner's name, and has
// no credentials of that account, is a visitor.
func (s *Service) identify(ctx context.Context, c Caller, q *Query) (caller, error) {
	if q.Page != nil {
		return q.Page.Site.visitor(), nil
	}
	if q.Program == nil || q.Program.Owner == "" {
		return s.authenticate(ctx, c, q.Credentials)
	}
	// Before the owner: wrong ones do not tell whether there is such an account.
	var who caller
	if q.Credentials != nil {
		var err error
		if who, err = s.authenticate(ctx, c, q.Credentials); err != nil || who.Account.Username == q.Program.Owner {
			return who, err
		}
	}
	owner, err := s.programOwner(ctx, *q.Program)
	if err != nil {
		return caller{}, err
	}
	visitor, err := s.o.Auth.Visitor(ctx, owner, c.Source)
	if err != nil {
		return caller{}, err
	}
	visitor.Session = c.Session
	who = caller{Principal: visitor}
	if visitor.By == principal.ByOrigin {
		who.origin = c.Page
	}
	return who, nil
}

// programOwner returns the account whose program is called. One that is not there, or is
// disabled, is as one that has published nothing.
func (s *Service) programOwner(ctx context.Context, p Program) (account.Account, error) {
	username, err := names.ParseUsername(p.Owner)
	if err != nil || username != p.Owner {
		return account.Account{}, errNoProgram()
	}
	a, err := s.o.Accounts.ByAlias(ctx, names.Alias{Kind: names.Username, Name: username})
	if errors.Is(err, account.ErrNotFound) || err == nil && a.Disabled {
		return account.Account{}, errNoProgram()
	}
	return a, err
}

// openProgram returns the published script that a caller calls, where it may. Strangers
// are not told whether there is one that they may not call.
func (s *Service) openProgram(ctx context.Context, who *principal.Principal, p Program, l account.Limits) (account.Published, error) {
	name, _, _ := account.ParseScriptName(p.Name)
	found, err := s.o.Scripts.CalledScript(ctx, who.Account.ID, p.Name)
	missing := errors.Is(err, account.ErrNotFound)
	if err != nil && !missing {
		return found, err
	}
	mayRun := name != "" && who.MayRun(name)
	switch {
	case missing && (mayRun || who.IsOwner()):
		return found, account.NoScript(p.Name)
	case mayRun:
	case missing || !isFor(found.Callers, who), who.By == principal.ByNamedKey && p.Owner == "":
		// By its name a caller gets the job whole, so what a key may call as everybody may, it
		// calls by the program's address.
		return found, refuseProgram(who, p)
	}
	if found.Text == "" {
		if !mayRun {
			return found, refuseProgram(who, p)
		}
		return found, fault.New(fault.ScriptNotFound, "of the script %q there is only the hash, by which pages of published-only domains may send it: publish it again to call it by its name", found.Name)
	}
	if len(found.Text)-1 > l.ScriptBytes { // a line break was added to it
		f := fault.New(fault.TooLarge, "the published script has %d bytes: the account's plan allows %d", len(found.Text), l.ScriptBytes)
		f.Limit, f.Value = "script_bytes", int64(l.ScriptBytes)
		return found, f
	}
	if p.Method != "" && !found.Takes(p.Method) {
		return found, fault.MethodError(p.Method, withHead(found.AllMethods())...)
	}
	return found, nil
}

// isFor tells whether a caller that is not let in by its scopes is among the callers of a
// script.
func isFor(callers account.Callers, who *principal.Principal) bool {
	return callers == account.CallersAnyone || callers.Pages() && who.By == principal.ByOrigin
}

// refuseProgram is the answer to somebody who may not call a script, be it there or not.
func refuseProgram(who *principal.Principal, p Program) error {
	name, _, named := account.ParseScriptName(p.Name)
	switch {
	case who.By == principal.ByNamedKey && named:
		return checkMayRun(who, name)
	case p.Owner != "":
		return errNoProgram()
	case who.By == principal.ByOrigin:
		return fault.New(fault.ScriptNotPublished, "there is no script of this name that pages of %s may call", who.Domain.Pattern)
	}
	return fault.New(fault.ScriptNotPublished, "there is no script of this name that you may call")
}

// errNoProgram is the answer to whoever calls a program by an address at which there is
// none for them.
func errNoProgram() error {
	return fault.New(fault.ScriptNotFound, "there is no script at this address that you may call")
}
