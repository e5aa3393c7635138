package service

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/wire"
	"ql/lang/form"
)

// ScriptAnswer is a published script of an account.
type ScriptAnswer struct {
	Meta
	Script  wire.Script
	Created bool // the account had none of this name
}

// ScriptListing is a page of an account's published scripts, by name.
type ScriptListing struct {
	Meta
	Scripts []wire.ScriptEntry
	Next    string // "" for the last page
}

func scriptEntry(p *account.Published) wire.ScriptEntry {
	return wire.ScriptEntry{
		Name: p.Name, Version: p.Version, Callers: string(p.Callers), Methods: p.AllMethods(), Secrets: p.Secrets, Concurrency: wire.Concurrency(p.Concurrency),
		Hash: hex.EncodeToString(p.Hash[:]), PublishedAt: p.Added, Until: p.Until,
	}
}

func scriptOf(p *account.Published) wire.Script {
	s := wire.Script{ScriptEntry: scriptEntry(p), Text: p.Text}
	if p.Schema != "" {
		s.Schema = wire.Raw(p.Schema)
	}
	return s
}

// manageScripts is what opens an account's published scripts. The API key does not: what
// it publishes would outlive its rotation.
var manageScripts = access{"scripts", passwordOrName, scope.Manage}

// publishScripts is what lets publish. Who writes the text of a script has it run with the rights
// of whoever may call it, the owner's secrets among them, so a named key must have those anyway.
var publishScripts = access{"scripts", passwordOrName, scope.Run | scope.Manage}

// PublishScript publishes a script, which must compile as it would when it is called.
func (s *Service) PublishScript(ctx context.Context, c Caller, p *Credentials, name string, n wire.NewScript) (ScriptAnswer, error) {
	owner, meta, err := s.openScripts(ctx, c, p, publishScripts)
	a := ScriptAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	if n.Secrets && owner.By == principal.ByNamedKey {
		return a, fault.New(fault.ConfirmRequired, "no key publishes a script that reads secrets for others, whatever its scopes: send the account's username and password by HTTP Basic")
	}
	limits := owner.Account.Limits(s.o.Limits)
	if err := n.Within(wireLimits(limits)); err != nil {
		return a, err
	}
	schema, err := s.checkScript(ctx, owner, c, n.Text, limits)
	if err != nil {
		return a, err
	}
	keep := account.DefaultKeep
	if n.Keep >= 0 {
		keep = time.Duration(n.Keep) * time.Second
	}
	published, created, err := s.o.Scripts.PublishScript(s.acting(ctx, c, &owner.Principal), owner.Account, account.Publication{
		Name: name, Text: n.Text, Schema: schema, Keep: keep,
		Switches: account.Switches{Callers: cmp.Or(account.Callers(n.Callers), account.CallersKeys), Methods: n.Methods, Secrets: n.Secrets, Concurrency: account.Concurrency(n.Concurrency)},
	})
	if err != nil {
		return a, err
	}
	a.Script, a.Created = scriptOf(&published), created
	return a, nil
}

// checkScript compiles a script that is to be published, in the turns of its account, and
// returns the schema of its input, "" for none.
func (s *Service) checkScript(ctx context.Context, owner caller, c Caller, text string, l account.Limits) (schema string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.SyncTime)
	defer cancel()
	ticket := s.o.Gate.Auxiliary(int64(owner.Account.ID))
	defer ticket.Release()
	x, err := s.o.Host.Open(ctx, s.o.NewID(), owner.Account, l, execution.Spec{Client: c.Addr, Started: s.o.Clock(), Limits: l.SyncMachine()}, ticket)
	if err != nil {
		return "", err
	}
	defer x.Close()
	program, failure, err := x.Compile(ctx, text)
	switch {
	case err != nil:
		return "", err
	case failure != nil && x.Fault() != nil:
		return "", x.Fault()
	case failure != nil:
		return "", &scriptFailure{failure}
	}
	return form.SchemaText(program.Input)
}

// scriptFailure is a script that is not accepted, with all of its errors.
type scriptFailure struct{ failure *wire.Error }

// Error is what is wrong first.
func (f *scriptFailure) Error() string { return f.failure.Code + ": " + f.failure.Message }

// Script shows a published script to its owner, and to a key that may run it. Name may
// be that of a version.
func (s *Service) Script(ctx context.Context, c Caller, p *Credentials, name string) (ScriptAnswer, error) {
	owner, meta, err := s.openScripts(ctx, c, p, access{what: "scripts", accepts: passwordOrName})
	a := ScriptAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	plain, _, named := account.ParseScriptName(name)
	if owner.By == principal.ByNamedKey && !owner.Scopes.Has(scope.Manage) && !(named && owner.MayRun(plain)) {
		needed := scope.Manage.String()
		if named {
			needed += ", " + scope.Run.String() + " or " + scope.OfProgram(plain)
		}
		return a, scopeMissing(&owner.Principal, needed)
	}
	found, err := s.o.Scripts.CalledScript(ctx, owner.Account.ID, name)
	if errors.Is(err, account.ErrNotFound) {
		err = account.NoScript(name)
	}
	if err != nil {
		return a, err
	}
	versions, err := s.o.Scripts.ScriptVersions(ctx, owner.Account.ID, found.Name)
	if err != nil {
		return a, err
	}
	a.Script = scriptOf(&found)
	for i := range versions {
		a.Script.Versions = append(a.Script.Versions, scriptEntry(&versions[i]))
	}
	if size := a.Script.Size(); size > UnreservedBytes {
		err = c.Memory.Grow(ctx, size+found.Weight())
	}
	return a, err
}

// Scripts lists an account's published scripts by name, those after one.
func (s *Service) Scripts(ctx context.Context, c Caller, p *Credentials, after string, limit int) (ScriptListing, error) {
	owner, meta, err := s.openScripts(ctx, c, p, manageScripts)
	l := ScriptListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, limit); err != nil {
		return l, err
	}
	scripts, err := s.o.Scripts.Scripts(ctx, owner.Account.ID, after, limit+1)
	scripts, l.Next = cutPage(scripts, limit, func(p *account.Published) string { return p.Name })
	for i := range scripts {
		l.Scripts = append(l.Scripts, scriptEntry(&scripts[i]))
	}
	return l, err
}

// RemoveScript takes a published script back with all of its versions: no call that begins
// after the answer finds it. Jobs that run it go on.
func (s *Service) RemoveScript(ctx context.Context, c Caller, p *Credentials, name string) (Meta, error) {
	owner, meta, err := s.openScripts(ctx, c, p, manageScripts)
	if err != nil {
		return meta, err
	}
	return meta, s.o.Scripts.RemoveScript(s.acting(ctx, c, &owner.Principal), owner.Account.ID, name)
}

// openScripts lets a caller to an account's published scripts.
func (s *Service) openScripts(ctx context.Context, c Caller, p *Credentials, a access) (caller, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, a)
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return owner, meta, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	meta.Rate = &verdict
	return owner, meta, verdict.Err()
}
