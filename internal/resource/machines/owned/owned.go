// Package owned has the machines of accounts as their owners reach them past scripts, in the words
// of requests and answers. What a machine does is the business of package machines, and who may ask
// that of the service.
package owned

import (
	"context"
	"errors"
	"fmt"

	"ql/internal/account"
	"ql/internal/resource/machines"
	"ql/internal/wire"
	"ql/lang/value"
)

// Machines are those of accounts.
type Machines struct {
	Registry *machines.Registry
	// Reach reaches a machine without running anything on it.
	Reach func(ctx context.Context, a account.Account, l account.Limits, name string) error
}

// Put defines a machine, and reports whether the account had none of the name.
func (m Machines) Put(ctx context.Context, a account.Account, l account.Limits, name string, n wire.NewMachine) (wire.Machine, bool, error) {
	put, created, err := m.Registry.Put(ctx, a, l, name, machines.Definition{
		Kind: machines.Kind(n.Kind), Address: n.Address, Key: n.Key, HostKey: n.HostKey, Allow: n.Allow, Module: n.Module, Folder: n.Folder, Write: n.Write,
	})
	return entry(&put), created, err
}

// Show returns a machine.
func (m Machines) Show(ctx context.Context, id account.ID, name string) (wire.Machine, error) {
	one, err := m.Registry.Machine(ctx, id, name)
	return entry(&one), err
}

// List returns the machines of an account by their names.
func (m Machines) List(ctx context.Context, id account.ID) ([]wire.Machine, error) {
	all, err := m.Registry.Machines(ctx, id)
	list := make([]wire.Machine, len(all))
	for i := range all {
		list[i] = entry(&all[i])
	}
	return list, err
}

// Remove forgets a machine.
func (m Machines) Remove(ctx context.Context, id account.ID, name string) error {
	return m.Registry.Remove(ctx, id, name)
}

// Test reaches a machine. What is wrong with it is no error.
func (m Machines) Test(ctx context.Context, a account.Account, l account.Limits, name string) (wire.MachineTest, error) {
	t := wire.MachineTest{Name: name}
	if _, err := m.Registry.Machine(ctx, a.ID, name); err != nil {
		return t, err
	}
	err := m.Reach(ctx, a, l, name)
	var known *value.Error
	if errors.As(err, &known) {
		t.Code, t.Message = known.Code, known.Message
		return t, nil
	}
	return t, err
}

func entry(m *machines.Machine) wire.Machine {
	e := wire.Machine{
		Name: m.Name, Kind: string(m.Kind), PublicKey: m.SSH.PublicKey, HostKey: m.SSH.HostKey, Allow: m.SSH.Allow,
		Module: m.WASM.Module, Folder: m.WASM.Folder, Write: m.WASM.Write, SetAt: m.Set,
	}
	if m.Kind == machines.KindSSH {
		e.Address = fmt.Sprintf("%s@%s:%d", m.SSH.User, m.SSH.Host, m.SSH.Port)
	}
	return e
}
