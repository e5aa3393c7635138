package operator

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/network"
	"ql/internal/resource"
	"ql/internal/resource/files"
	"ql/internal/resource/machines/owned"
	"ql/internal/wire"
)

// withMachines does something with the machines of an account. Hosts of the operator's own network
// are within reach: whether scripts reach them is decided where they run.
func (o *Operator) withMachines(ctx context.Context, name string, do func(account.Account, account.Limits, owned.Machines) error) (err error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return err
	}
	registry, err := resource.NewMachines(ctx, resource.MachineOptions{Store: o.store.Machines, Sealer: o.Accounts.Sealer(), Policy: network.Policy{Private: true, AnyPort: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, registry.Close()) }()
	l := a.Limits(o.settings.Limits)
	return do(a, l, owned.Machines{Registry: registry, Reach: func(ctx context.Context, a account.Account, l account.Limits, machine string) error {
		return o.Files(ctx, name, func(tree *files.Tree) error { return registry.Reach(ctx, a, l, tree, machine) })
	}})
}

// AddMachine defines a machine of an account, and reports whether it had none of the name.
func (o *Operator) AddMachine(ctx context.Context, name, machine string, n wire.NewMachine) (m wire.Machine, created bool, err error) {
	err = o.withMachines(ctx, name, func(a account.Account, l account.Limits, all owned.Machines) (err error) {
		m, created, err = all.Put(ctx, a, l, machine, n)
		return err
	})
	return m, created, err
}

// Machines returns the machines of an account by their names.
func (o *Operator) Machines(ctx context.Context, name string) (list []wire.Machine, err error) {
	err = o.withMachines(ctx, name, func(a account.Account, _ account.Limits, all owned.Machines) (err error) {
		list, err = all.List(ctx, a.ID)
		return err
	})
	return list, err
}

// Machine returns a machine of an account.
func (o *Operator) Machine(ctx context.Context, name, machine string) (m wire.Machine, err error) {
	err = o.withMachines(ctx, name, func(a account.Account, _ account.Limits, all owned.Machines) (err error) {
		m, err = all.Show(ctx, a.ID, machine)
		return err
	})
	return m, err
}

// TestMachine reaches a machine of an account.
func (o *Operator) TestMachine(ctx context.Context, name, machine string) (t wire.MachineTest, err error) {
	err = o.withMachines(ctx, name, func(a account.Account, l account.Limits, all owned.Machines) (err error) {
		t, err = all.Test(ctx, a, l, machine)
		return err
	})
	return t, err
}

// RemoveMachine forgets a machine of an account.
func (o *Operator) RemoveMachine(ctx context.Context, name, machine string) error {
	return o.withMachines(ctx, name, func(a account.Account, _ account.Limits, all owned.Machines) error {
		return all.Remove(ctx, a.ID, machine)
	})
}
