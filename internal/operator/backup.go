package operator

import (
	"context"
	"errors"
	"time"

	"ql/internal/audit"
	"ql/internal/backup"
	"ql/internal/fault"
	"ql/internal/store/sqlite"
)

// Backup writes a backup of the data folder to dest, while a server runs or not.
// Program is the version of this program. The master key is left out unless
// withKey says otherwise.
func (o *Operator) Backup(ctx context.Context, dest, program string, withKey bool) (backup.Counts, error) {
	return o.backup(ctx, dest, program, withKey, false)
}

// BackupPartial is Backup also of a data folder in which something is missing or damaged:
// then it returns a *backup.Incomplete beside what the backup holds.
func (o *Operator) BackupPartial(ctx context.Context, dest, program string, withKey bool) (backup.Counts, error) {
	return o.backup(ctx, dest, program, withKey, true)
}

func (o *Operator) backup(ctx context.Context, dest, program string, withKey, keepGoing bool) (_ backup.Counts, err error) {
	if o.settings.Database != "" {
		return backup.Counts{}, fault.New(fault.InvalidRequest, "the store is in a database elsewhere, which ql backup cannot copy yet: stop the server, copy the database by pg_dump and the data folder as it is, and keep both together")
	}
	if o.settings.Blobs != nil {
		return backup.Counts{}, fault.New(fault.InvalidRequest, "the contents of files are in a bucket, which ql backup cannot copy yet: stop the server, and keep copies of the bucket and of the data folder together")
	}
	// What the copied store refers to stays until it is copied too.
	lock, err := sqlite.LockBlobsShared(o.data)
	if err != nil {
		return backup.Counts{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	b := backup.Options{Data: o.data, Program: program, KeepGoing: keepGoing, Clock: time.Now}
	if withKey {
		b.Key = o.key
	}
	counts, err := backup.Create(ctx, b, dest)
	if err != nil {
		return counts, err
	}
	what := "backup"
	if withKey {
		what += " with the master key"
	}
	return counts, o.store.Audit.Append(ctx, audit.Event{Account: audit.Operator, Act: audit.Exported, On: what})
}
