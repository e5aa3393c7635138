// Package operator opens a data folder, or a database, for its operator: short commands that manage
// accounts, jobs, files and backups, beside a running server or without one. How
// they are called and what they print is the command line's.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/audit"
	"ql/internal/config"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/store"
	"ql/internal/store/backend"
	"ql/internal/store/sqlite"
	"ql/internal/webhook"
)

// Operator is a data folder in the hands of its operator, for short commands
// beside a running server or without one.
type Operator struct {
	Accounts *account.Service
	Jobs     job.Store
	Views    job.Views
	Webhooks webhook.History
	Mails    mail.History

	store    store.Store
	settings config.Settings
	data     string
	key      string // the file of the master key
	opened   backend.Opened
}

// Open opens the store of the settings: that of the data folder, or a database. Where there is none yet
// it is made, if create says so, and so is the master key, as the first start of a server does.
func Open(ctx context.Context, s config.Settings, create bool) (*Operator, error) {
	opened, err := openStore(ctx, s, create)
	if err != nil {
		return nil, err
	}
	all := opened.Aggregate()
	vault, err := seal.OpenVault(ctx, all.Accounts, s.MasterKeyPath(), s.MasterKeyFile != "" && !create)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	accounts := account.NewService(all.Accounts, vault, account.Options{Dev: s.Dev, KeysOnce: s.KeysOnce, Limits: s.Limits, Plans: s.PlanNames()})
	return &Operator{Accounts: accounts, Jobs: all.Jobs, Views: all.Queue, Webhooks: all.Deliveries, Mails: all.Mails, store: all, settings: s, data: s.Data, key: s.MasterKeyPath(), opened: opened}, nil
}

// openStore opens the store for a command. One in a database needs no data folder of this machine; it is bound to
// one by who begins with it, unless the master key is elsewhere.
func openStore(ctx context.Context, s config.Settings, create bool) (backend.Opened, error) {
	o := backend.Options{Data: s.Data, Database: s.Database, Direct: s.DatabaseDirect, Create: create, Actor: audit.Actor{By: audit.ByOperator}}
	if s.Database != "" {
		anywhere := o
		anywhere.Anywhere, anywhere.Create = true, create && s.MasterKeyFile != ""
		opened, err := backend.Open(ctx, anywhere)
		if !create || anywhere.Create || !fault.Is(err, fault.NotFound) {
			return opened, err
		}
	}
	if err := prepareFolder(s.Data, create); err != nil {
		return backend.Opened{}, err
	}
	return backend.Open(ctx, o)
}

// hasFolder tells whether the data folder is that of a node of the store.
func (o *Operator) hasFolder() bool { return o.opened.Node != 0 }

// prepareFolder makes the data folder as a server does, or refuses one that is
// none yet.
func prepareFolder(data string, create bool) error {
	if create {
		_, _, err := sqlite.MakeFolder(data)
		return err
	}
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "there is no data folder %s yet: ql account create and ql serve make one", data)
	}
	has, err := sqlite.HasStore(data)
	if err == nil && !has {
		err = fault.New(fault.NotFound, "the folder %s is no data folder yet: ql account create and ql serve make it one", data)
	}
	return err
}

// DeleteAccount removes an account with its files and databases. It is dead at
// once, also to a running server. Where this is interrupted, doing it again does
// the rest, and so does the upkeep of a server.
func (o *Operator) DeleteAccount(ctx context.Context, name string) error {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return err
	}
	if err := o.Accounts.MarkDeleted(ctx, a.Username); err != nil {
		return err
	}
	if o.settings.Database != "" {
		return nil // a server does the rest: databases are removed by who has them
	}
	if err := o.pool(nil).RemoveFolder(a.ID); err != nil {
		return fmt.Errorf("the account is disabled, and its folder is not removed: %w", err)
	}
	return o.Accounts.Delete(ctx, a.Username)
}

// CancelJob stops a job, and returns the state that it has then: a server that
// runs it stops it soon.
func (o *Operator) CancelJob(ctx context.Context, id job.ID) (job.State, error) {
	state, _, err := o.Views.Cancel(ctx, id, time.Now(), nil, job.DeliveryID(id))
	return state, err
}

// Close lets go of the data folder.
func (o *Operator) Close() error { return o.store.Close() }

// IsForDevelopers tells whether a name is that of the development account, and the settings are those
// of a service for others: one with --dev has other limits for it, and lets it have keys.
func (o *Operator) IsForDevelopers(name string) bool {
	return name == account.Development && !o.settings.Dev
}

// Limits returns the limits of an account.
func (o *Operator) Limits(ctx context.Context, name string) (account.Limits, error) {
	a, err := o.Accounts.Find(ctx, name)
	return a.Limits(o.settings.Limits), err
}
