package app

import (
	"context"
	"errors"
	"time"

	"ql/internal/backup"
	"ql/internal/resource/databases"
	"ql/internal/store/sqlite"
)

// Backup writes a backup of the data folder to dest, while a server runs or not.
// Program is the version of this program. The master key is left out unless
// withKey says otherwise.
func (o *Operator) Backup(ctx context.Context, dest, program string, withKey bool) (backup.Counts, error) {
	return o.backup(ctx, dest, program, withKey, false)
}

// BackupRest is Backup also of a data folder in which something is missing or damaged:
// then it returns a *backup.Incomplete beside what the backup holds.
func (o *Operator) BackupRest(ctx context.Context, dest, program string, withKey bool) (backup.Counts, error) {
	return o.backup(ctx, dest, program, withKey, true)
}

func (o *Operator) backup(ctx context.Context, dest, program string, withKey, keepGoing bool) (_ backup.Counts, err error) {
	// What the copied store refers to stays until it is copied too.
	lock, err := sqlite.ShareBlobs(o.data)
	if err != nil {
		return backup.Counts{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	b := backup.Options{Data: o.data, Program: program, KeepGoing: keepGoing, Clock: time.Now}
	if withKey {
		b.Key = o.key
	}
	return backup.Make(ctx, b, dest)
}

// Databases opens those of an account, within its limits. They are closed by
// the caller.
func (o *Operator) Databases(ctx context.Context, name string) (*databases.Databases, error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	l := o.settings.Limits(a.LimitPlan())
	h := (&resources{data: o.data, usage: o.store.Files}).hold(a.ID)
	h.storage.hold(l.StorageBytes, l.Databases)
	return h.databases, nil
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
	found, err := findDatabases(o.data)
	if err != nil {
		return true, err
	}
	return true, o.store.Databases.NoteDatabases(ctx, found) // or it would be missed
}
