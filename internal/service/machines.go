package service

import (
	"context"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/wire"
)

// OwnedMachines are the machines of accounts, as their owners reach them. Errors are coded.
type OwnedMachines interface {
	Put(ctx context.Context, a account.Account, l account.Limits, name string, n wire.NewMachine) (m wire.Machine, created bool, err error)
	Show(ctx context.Context, id account.ID, name string) (wire.Machine, error)
	List(ctx context.Context, id account.ID) ([]wire.Machine, error)
	Remove(ctx context.Context, id account.ID, name string) error
	Test(ctx context.Context, a account.Account, l account.Limits, name string) (wire.MachineTest, error)
}

// MachineAnswer is a machine of an account.
type MachineAnswer struct {
	Meta
	Machine wire.Machine
}

// MachineListing are the machines of an account.
type MachineListing struct {
	Meta
	Machines []wire.Machine
}

// Machines lists the machines of an account.
func (s *Service) Machines(ctx context.Context, c Caller, p *Credentials) (MachineListing, error) {
	_, owner, meta, err := s.openAccount(ctx, c, p, access{"machines", passwordOrName, scope.Manage})
	l := MachineListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, owner.Account.Limits(s.o.Limits).Machines); err != nil {
		return l, err
	}
	l.Machines, err = s.o.Machines.List(ctx, owner.Account.ID)
	return l, err
}

// ShowMachine shows a machine, without its private key, which nobody is shown.
func (s *Service) ShowMachine(ctx context.Context, c Caller, p *Credentials, name string) (MachineAnswer, error) {
	_, owner, meta, err := s.openAccount(ctx, c, p, access{"machines", passwordOrName, scope.Manage})
	a := MachineAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	a.Machine, err = s.o.Machines.Show(ctx, owner.Account.ID, name)
	return a, err
}

// SetMachine defines a machine, and reports whether the account had none of the name. No key does: it
// is where scripts that keys start may run commands.
func (s *Service) SetMachine(ctx context.Context, c Caller, p *Credentials, name string, n wire.NewMachine) (a MachineAnswer, created bool, err error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "machines")
	a.Meta = meta
	if err != nil {
		return a, false, err
	}
	a.Machine, created, err = s.o.Machines.Put(ctx, owner.Account, owner.Account.Limits(s.o.Limits), name, n)
	return a, created, err
}

// RemoveMachine removes a machine, with its key.
func (s *Service) RemoveMachine(ctx context.Context, c Caller, p *Credentials, name string) (Meta, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "machines")
	if err != nil {
		return meta, err
	}
	return meta, s.o.Machines.Remove(ctx, owner.Account.ID, name)
}

// MachineTestAnswer is what a test of a machine found.
type MachineTestAnswer struct {
	Meta
	Test wire.MachineTest
}

// TestMachine reaches a machine without running anything on it. A host that is reached first has its
// key pinned.
func (s *Service) TestMachine(ctx context.Context, c Caller, p *Credentials, name string) (MachineTestAnswer, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "machines")
	a := MachineTestAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	a.Test, err = s.o.Machines.Test(ctx, owner.Account, owner.Account.Limits(s.o.Limits), name)
	return a, err
}
