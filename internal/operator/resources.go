package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/fault"
	"ql/internal/resource"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
	"ql/internal/store/blob"
	"ql/internal/store/sqlite"
)

// errShipped is the error of commands that would open databases which servers have, each those of some accounts.
var errShipped = fault.New(fault.NotAvailable, "where the store is in a database, a server has the databases of an account, and no command opens them: use its dashboard, or /v1/databases")

// pool opens files and databases of accounts; trees may be nil where no files are opened.
func (o *Operator) pool(trees *files.Trees) *resource.Pool {
	all := resource.Options{Folder: filepath.Join(o.data, sqlite.AccountFolder), Usage: o.store.Files, Trees: trees}
	if o.settings.Database != "" { // what databases hold is known, and no more
		all.Ship = &ship.Options{Changes: o.store.Shipped}
	}
	return resource.New(all)
}

// Files does something with the files of an account. A server may run beside
// it: the store keeps their changes apart.
func (o *Operator) Files(ctx context.Context, name string, do func(*files.Tree) error) (err error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return err
	}
	blobs, release, err := o.openBlobs(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	// A server removes what this leaves: it knows what else relies on it.
	blobs.SetRemovalLock(func() (func(), bool) { return nil, false })
	pool := o.pool(files.NewTrees(o.store.Files, blobs, time.Now))
	defer func() { err = errors.Join(err, pool.Close(), blobs.Close()) }()
	tree, leave := pool.Tree(a.ID, a.Limits(o.settings.Limits))
	defer leave()
	return do(tree)
}

// openBlobs opens the contents of files. What is on its way to a bucket is in the data folder, or, without one,
// among what is temporary on this machine. Release is called when they are closed.
func (o *Operator) openBlobs(ctx context.Context) (blobs *files.Blobs, release func() error, err error) {
	if o.hasFolder() {
		lock, err := sqlite.LockBlobsShared(o.data)
		if err != nil {
			return nil, nil, err
		}
		blobs, err := blob.OpenShared(ctx, o.data, o.settings.Blobs, o.opened.Bucket, o.opened.IsFirst())
		if err != nil {
			return nil, nil, errors.Join(err, lock.Close())
		}
		return blobs, lock.Close, nil
	}
	spool, err := os.MkdirTemp("", "ql-spool-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return os.RemoveAll(spool) }
	if blobs, err = blob.OpenAnywhere(ctx, spool, o.settings.Blobs, o.opened.Bucket); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return blobs, remove, nil
}

// Databases opens those of an account, within its limits. They are closed by
// the caller.
func (o *Operator) Databases(ctx context.Context, name string) (*databases.Databases, error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if o.settings.Database != "" {
		return nil, errShipped
	}
	return o.pool(nil).Databases(a.ID, a.Limits(o.settings.Limits)), nil
}

// DropDatabase removes a database of an account. A running server may have it
// open: then all that is in it is removed, and its file stays. It reports
// whether the file is gone.
func (o *Operator) DropDatabase(ctx context.Context, name, database string) (gone bool, err error) {
	all, err := o.Databases(ctx, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	held, err := sqlite.Own(o.data)
	var used *sqlite.InUse
	if errors.As(err, &used) {
		return false, all.Empty(ctx, database)
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if err := all.Drop(ctx, database); err != nil {
		return true, err
	}
	inventory := resource.Inventory{Data: o.data, Folder: sqlite.AccountFolder, Store: o.store.Databases}
	return true, inventory.Update(ctx, time.Now()) // or it would be missed
}

// Shares returns the links of accounts.
func (o *Operator) Shares(clock func() time.Time) shares.Admin {
	return shares.Admin{Store: o.store.Shares, Clock: clock}
}

// Quota is what an account has used, and may use: 0 is no limit.
type Quota struct {
	Plan        account.Plan
	Month       usage.Month
	Stored      int64 // bytes
	RecordBytes int64 // bytes of records
	Used        usage.Used
	Limits      account.Limits
}

// Quota returns what an account has used.
func (o *Operator) Quota(ctx context.Context, name string) (Quota, error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return Quota{}, err
	}
	limits := a.Limits(o.settings.Limits)
	q := Quota{Plan: a.Plan, Month: usage.MonthOf(time.Now()), Limits: limits}
	if q.Used, err = o.store.Usage.Used(ctx, a.ID, q.Month); err != nil {
		return q, err
	}
	if q.RecordBytes, err = o.store.Jobs.RecordBytes(ctx, a.ID); err != nil {
		return q, err
	}
	pool := o.pool(nil)
	q.Stored, err = pool.StoredBytes(ctx, a, limits)
	return q, errors.Join(err, pool.Close())
}
