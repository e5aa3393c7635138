package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/config"
	"ql/internal/member"
	"ql/internal/move"
	"ql/internal/resource/databases/ship"
	"ql/internal/store"
)

// shippedDatabases are the databases of accounts where all nodes reach them. Nobody else is a member meanwhile.
type shippedDatabases struct {
	store store.Store
	// shipper is made when it is first needed: the master key of a target is known once its rows are there.
	shipper func() (*ship.Shipper, error)
}

const accountsAtOnce = 500

func newShippedDatabases(s store.Store, blobs ship.Blobs, settings config.Settings) *shippedDatabases {
	d := &shippedDatabases{store: s}
	d.shipper = sync.OnceValues(func() (*ship.Shipper, error) {
		vault, err := seal.OpenVault(context.Background(), s.Accounts, settings.MasterKeyPath(), true)
		if err != nil {
			return nil, err
		}
		accounts := account.NewService(s.Accounts, vault, account.Options{Limits: settings.Limits, Plans: settings.PlanNames()})
		shipper := ship.New(ship.Options{Changes: s.Shipped, Blobs: blobs, Sealer: accounts.Sealer()})
		// A store that is being filled has no members.
		shipper.SetMember(func() (member.Member, error) { return member.Member{}, nil })
		return shipper, nil
	})
	return d
}

// each calls f with every account that has databases, and their sizes.
func (d *shippedDatabases) each(ctx context.Context, f func(account.ID, []ship.Database) error) error {
	for after := ""; ; {
		page, err := d.store.Accounts.List(ctx, after, accountsAtOnce)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			after = a.Username
			list, err := d.store.Shipped.Databases(ctx, a.ID)
			if err == nil && len(list) > 0 {
				err = f(a.ID, list)
			}
			if err != nil {
				return err
			}
		}
	}
}

// List implements move.Databases.
func (d *shippedDatabases) List(ctx context.Context, f func(move.Database) error) error {
	return d.each(ctx, func(id account.ID, list []ship.Database) error {
		for _, one := range list {
			if err := f(move.Database{Account: id, Name: one.Name}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Size implements move.Databases.
func (d *shippedDatabases) Size(ctx context.Context) (bytes int64, err error) {
	err = d.each(ctx, func(_ account.ID, list []ship.Database) error {
		for _, one := range list {
			bytes += one.Bytes()
		}
		return nil
	})
	return bytes, err
}

// Snapshot implements move.Databases. The file is written by SQLite, as that of a database which is a file is, so
// that both are equal.
func (d *shippedDatabases) Snapshot(ctx context.Context, one move.Database, path string) (err error) {
	shipper, err := d.shipper()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), "shipped-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	fetched := filepath.Join(folder, one.Name)
	if err := shipper.Of(one.Account).Copy(ctx, one.Name, fetched); err != nil {
		return err
	}
	return move.WriteSnapshot(ctx, fetched, path)
}

// Put implements move.Databases.
func (d *shippedDatabases) Put(ctx context.Context, one move.Database, path string) (err error) {
	shipper, err := d.shipper()
	if err != nil {
		return err
	}
	origin := shipper.Of(one.Account)
	defer func() { err = errors.Join(err, origin.Leave(ctx)) }()
	sizes, err := origin.Sizes(ctx)
	if err != nil {
		return err
	}
	if _, there := sizes[one.Name]; there {
		if err := origin.Drop(ctx, one.Name); err != nil {
			return err
		}
	}
	return origin.Publish(ctx, one.Name, path)
}

// Clear implements move.Databases.
func (d *shippedDatabases) Clear(ctx context.Context) error {
	return d.each(ctx, func(id account.ID, list []ship.Database) (err error) {
		shipper, err := d.shipper()
		if err != nil {
			return err
		}
		origin := shipper.Of(id)
		defer func() { err = errors.Join(err, origin.Leave(ctx)) }()
		for _, one := range list {
			if err := origin.Drop(ctx, one.Name); err != nil {
				return err
			}
		}
		return nil
	})
}
