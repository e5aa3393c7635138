package relational

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/resource/machines"
)

// Machines keeps the machines of accounts.
type Machines struct{ store *Store }

var _ machines.Store = Machines{}

// Machines returns the store's machines.
func (s *Store) Machines() Machines { return Machines{s} }

// machineSettings are what a machine's kind needs, as JSON of a column.
type machineSettings struct {
	User      string   `json:"user,omitempty"`
	Host      string   `json:"host,omitempty"`
	Port      int      `json:"port,omitempty"`
	PublicKey string   `json:"public_key,omitempty"`
	Allow     []string `json:"allow,omitempty"`
	Module    string   `json:"module,omitempty"`
	Folder    string   `json:"folder,omitempty"`
	Write     bool     `json:"write,omitempty"`
}

func settingsOf(m *machines.Machine) machineSettings {
	return machineSettings{
		User: m.SSH.User, Host: m.SSH.Host, Port: m.SSH.Port, PublicKey: m.SSH.PublicKey, Allow: m.SSH.Allow,
		Module: m.WASM.Module, Folder: m.WASM.Folder, Write: m.WASM.Write,
	}
}

const machineColumns = "name, kind, changed, host_key, settings"

// readMachine reads a row. An error is that of its settings.
func readMachine(id account.ID, r row) (machines.Machine, error) {
	m := machines.Machine{Account: id, Name: r.text(0), Kind: machines.Kind(r.text(1)), Set: r.time(2)}
	var s machineSettings
	if err := json.Unmarshal([]byte(r.text(4)), &s); err != nil {
		return m, fmt.Errorf("the settings of a machine: %w", err)
	}
	switch m.Kind {
	case machines.KindSSH:
		m.SSH = machines.SSH{User: s.User, Host: s.Host, Port: s.Port, PublicKey: s.PublicKey, Allow: s.Allow, HostKey: r.text(3)}
	case machines.KindWASM:
		m.WASM = machines.WASM{Module: s.Module, Folder: s.Folder, Write: s.Write}
	}
	return m, nil
}

// Put implements machines.Store.
func (s Machines) Put(ctx context.Context, m machines.Machine, sealed []byte, most int) (created bool, err error) {
	settings, err := json.Marshal(settingsOf(&m))
	if err != nil {
		return false, err
	}
	err = s.store.write(ctx, func(t tx) error {
		if err := t.requireAccount(m.Account); err != nil {
			return err
		}
		there, err := t.has("SELECT 1 FROM machines WHERE account = ? AND name = ?", int64(m.Account), m.Name)
		if err != nil {
			return err
		}
		created = !there
		others := 0
		if _, err := t.one("SELECT count(*) FROM machines WHERE account = ?", func(r row) { others = int(r.int(0)) }, int64(m.Account)); err != nil {
			return err
		}
		if created && most > 0 && others >= most {
			return machines.ErrTooMany
		}
		var key any
		if sealed != nil {
			key = append([]byte{}, sealed...)
		}
		if _, err := t.exec(`INSERT INTO machines (account, name, kind, changed, host_key, settings, sealed) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, name) DO UPDATE
			SET kind = excluded.kind, changed = excluded.changed, host_key = excluded.host_key, settings = excluded.settings, sealed = excluded.sealed`,
			int64(m.Account), m.Name, string(m.Kind), m.Set.UnixMicro(), m.SSH.HostKey, string(settings), key); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: m.Account, Act: audit.MachineSet, On: m.Name})
	})
	return created && err == nil, err
}

// Machine implements machines.Store.
func (s Machines) Machine(ctx context.Context, id account.ID, name string) (m machines.Machine, sealed []byte, err error) {
	err = s.store.read(ctx, func(t tx) error {
		var broken error
		found, err := t.one("SELECT "+machineColumns+", sealed FROM machines WHERE account = ? AND name = ?", func(r row) {
			m, broken = readMachine(id, r)
			sealed = r.bytes(5)
		}, int64(id), name)
		switch {
		case err != nil:
			return err
		case !found:
			return account.ErrNotFound
		}
		return broken
	})
	return m, sealed, err
}

// Machines implements machines.Store.
func (s Machines) Machines(ctx context.Context, id account.ID) (list []machines.Machine, err error) {
	err = s.store.read(ctx, func(t tx) error {
		var broken error
		err := t.each("SELECT "+machineColumns+" FROM machines WHERE account = ? ORDER BY name", func(r row) {
			m, err := readMachine(id, r)
			if err != nil {
				broken = err
			}
			list = append(list, m)
		}, int64(id))
		if err == nil {
			err = broken
		}
		return err
	})
	return list, err
}

// Pin implements machines.Store.
func (s Machines) Pin(ctx context.Context, id account.ID, name string, set time.Time, hostKey string) error {
	return s.store.write(ctx, func(t tx) error {
		there, err := t.has("SELECT 1 FROM machines WHERE account = ? AND name = ?", int64(id), name)
		switch {
		case err != nil:
			return err
		case !there:
			return account.ErrNotFound
		}
		n, err := t.exec("UPDATE machines SET host_key = ? WHERE account = ? AND name = ? AND changed = ? AND host_key = ''", hostKey, int64(id), name, set.UnixMicro())
		switch {
		case err != nil:
			return err
		case n > 0:
			return t.audit(ctx, audit.Event{Account: id, Act: audit.MachinePinned, On: name})
		}
		same, err := t.has("SELECT 1 FROM machines WHERE account = ? AND name = ? AND changed = ? AND host_key = ?", int64(id), name, set.UnixMicro(), hostKey)
		if err == nil && !same {
			err = account.ErrConflict
		}
		return err
	})
}

// Remove implements machines.Store.
func (s Machines) Remove(ctx context.Context, id account.ID, name string) error {
	return s.store.Accounts().auditChange(ctx, audit.Event{Account: id, Act: audit.MachineRemoved, On: name},
		"DELETE FROM machines WHERE account = ? AND name = ?", int64(id), name)
}
