package operator

import (
	"context"
	"errors"
	"path/filepath"

	"ql/internal/account/seal"
	"ql/internal/audit"
	"ql/internal/config"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/resource"
	"ql/internal/store"
	"ql/internal/store/backend"
	"ql/internal/store/relational"
	"ql/internal/store/sqlite"
)

// KeyRotation is what became of a rotation of the master key.
type KeyRotation struct {
	Resumed    bool // it had begun earlier
	Resealed   int  // records that were sealed under the new key, this time
	Unreadable int  // records that no key opens: they were so before, and stay
	// Waiting is how many jobs that are not finished have receipts under the key before in
	// databases. While there are any, that key stays in the file, and does nothing but open.
	Waiting int
	// Unread says which databases could not be searched for receipts, and why. The key before stays
	// for them as well.
	Unread []string
	Done   bool // the key before is gone
}

var errNotFirst = fault.New(fault.NotAvailable, "the master key is rotated where the first node has its data folder: name that by --data")

// RotateMasterKey gives a data folder a new master key, and seals all anew under it. No server may run.
// Where it is interrupted, a server starts all the same, and doing it again does the rest.
func RotateMasterKey(ctx context.Context, s config.Settings) (r KeyRotation, err error) {
	if err := prepareFolder(s.Data, false); err != nil {
		if s.Database != "" && fault.Is(err, fault.NotFound) {
			err = errNotFirst
		}
		return r, err
	}
	// Owned: a server would go on to seal under the key that it has read. It also stores what
	// stands in the intake, where requests are sealed too.
	opened, err := backend.Open(ctx, backend.Options{Data: s.Data, Database: s.Database, Direct: s.DatabaseDirect, Own: true, Actor: audit.Actor{By: audit.ByOperator}})
	if err != nil {
		return r, err
	}
	all := opened.Aggregate()
	defer func() { err = errors.Join(err, opened.Close()) }()
	if !opened.IsFirst() {
		return r, errNotFirst
	}
	if lease, several := backend.Lease(s.Database); several {
		list, err := member.Look(ctx, all.Members, lease)
		if err != nil {
			return r, err
		}
		for _, one := range list {
			if one.Lives {
				return r, fault.New(fault.InvalidRequest, "node %d serves with this database: stop all nodes, rotate the master key here, and give each a copy of it", one.ID)
			}
		}
	}
	rotation, err := seal.BeginRotation(ctx, all.Accounts, s.MasterKeyPath())
	if err != nil {
		return r, err
	}
	r.Resumed = rotation.Resumed
	unreadable := map[string]bool{}
	r.Resealed, err = opened.Reseal(ctx, func(one relational.Sealed) ([]byte, error) {
		sealed, err := rotation.Reseal(int64(one.Account), seal.Kind(one.Kind), one.Name, one.Bytes)
		if errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrWrongKey) {
			unreadable[one.Kind+" "+one.Name+" "+string(one.Bytes)] = true
			return nil, nil
		}
		return sealed, err
	})
	r.Unreadable = len(unreadable)
	if err != nil {
		return r, err
	}
	if s.Database != "" {
		// Which of them have receipts only who has the databases could tell.
		r.Waiting, err = all.Databases.CountUsers(ctx)
	} else {
		r.Waiting, r.Unread, err = countReceipts(ctx, all, s.Data)
	}
	if err != nil || r.Waiting > 0 || len(r.Unread) > 0 {
		return r, err
	}
	if err := rotation.Finish(ctx); err != nil {
		return r, err
	}
	r.Done = true
	return r, all.Audit.Append(ctx, audit.Event{Account: audit.Operator, Act: audit.MasterKeyRotated})
}

// countReceipts removes the receipts of ended jobs from all databases, and counts the jobs that have
// some left. A database that cannot be read, which its owner may have made so, stops nothing.
func countReceipts(ctx context.Context, all store.Store, data string) (left int, unread []string, err error) {
	pool := resource.New(resource.Options{Folder: filepath.Join(data, sqlite.AccountFolder), Usage: all.Files})
	defer func() { err = errors.Join(err, pool.Close()) }()
	jobs := map[[16]byte]bool{}
	var failed error // of the store, not of a database
	ended := func(ctx context.Context, id [16]byte) (bool, error) {
		j, err := all.Jobs.Summary(ctx, id)
		if errors.Is(err, job.ErrNotFound) || err == nil && j.State.Finished() {
			return true, nil
		}
		jobs[id] = true
		failed = errors.Join(failed, err)
		return false, err
	}
	const page = 500
	for after := ""; ; {
		list, err := all.Accounts.List(ctx, after, page)
		if err != nil {
			return len(jobs), unread, err
		}
		for _, a := range list {
			after = a.Username
			err := pool.DeleteReceipts(ctx, a.ID, ended)
			if failed != nil || ctx.Err() != nil {
				return len(jobs), unread, errors.Join(failed, ctx.Err())
			}
			if err != nil {
				unread = append(unread, "account "+a.Username+": "+err.Error())
			}
		}
		if len(list) < page {
			return len(jobs), unread, nil
		}
	}
}
