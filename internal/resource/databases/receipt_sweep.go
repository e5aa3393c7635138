package databases

import (
	"context"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"ql/internal/sqlite"
)

const (
	selectJobs = "SELECT job FROM _ql_marks WHERE job > ? ORDER BY job LIMIT 500"
	sweepBatch = 500 // as many as selectJobs reads
)

// SweepReceipts deletes the receipts and attempts of jobs of which ended says that
// nobody asks for them any more: what a crash kept a job from deleting itself, and
// what fenced off its earlier attempts. A job has an attempt recorded wherever it has
// a receipt. One database that fails keeps no other from its turn.
func (d *Databases) SweepReceipts(ctx context.Context, ended func(ctx context.Context, job [16]byte) (bool, error)) error {
	names, err := d.local() // others have none that this process wrote
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		err = errors.Join(err, d.sweepReceiptsOf(ctx, name, ended))
	}
	return err
}

func (d *Databases) sweepReceiptsOf(ctx context.Context, name string, ended func(context.Context, [16]byte) (bool, error)) error {
	var last [16]byte
	for {
		jobs, err := d.jobsWithReceipts(ctx, name, last)
		if err != nil || len(jobs) == 0 {
			return err
		}
		var old [][16]byte
		for _, job := range jobs {
			isOld, err := ended(ctx, job)
			if err != nil {
				return err
			}
			if isOld {
				old = append(old, job)
			}
		}
		if err := d.deleteJobs(ctx, name, old); err != nil || len(jobs) < sweepBatch {
			return err
		}
		last = jobs[len(jobs)-1]
	}
}

// jobsWithReceipts returns jobs that have an attempt recorded in a database, in the
// order of their ids from behind one on.
func (d *Databases) jobsWithReceipts(ctx context.Context, name string, last [16]byte) (jobs [][16]byte, err error) {
	if isMissing(filepath.Join(d.options.Folder, name+fileSuffix)) {
		return nil, nil // it must not be made for this
	}
	db, err := d.acquire(name)
	if err != nil {
		return nil, err
	}
	defer d.release(db)
	c, err := db.acquireReader(ctx)
	if err != nil {
		return nil, err
	}
	defer db.releaseReader(c, false)
	there, err := c.hasReceipts(ctx)
	if err != nil || !there {
		return nil, err
	}
	err = c.execInternal(ctx, selectJobs, func(s *sqlite.Stmt) {
		var job [16]byte
		copy(job[:], s.Blob(0))
		jobs = append(jobs, job)
	}, last[:])
	return jobs, err
}

func (d *Databases) deleteJobs(ctx context.Context, name string, jobs [][16]byte) error {
	if len(jobs) == 0 {
		return nil
	}
	return d.change(ctx, name, func(c *conn) error {
		there, err := c.hasReceipts(ctx)
		if err != nil || !there {
			return err // it was dropped meanwhile
		}
		if err := c.setMaxPages(ctx, true); err != nil {
			return err
		}
		for _, job := range jobs {
			if err := c.deleteJob(ctx, job); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteJob deletes all receipts of a job, and its attempt.
func (c *conn) deleteJob(ctx context.Context, job [16]byte) error {
	if err := c.execInternal(ctx, deleteReceipts, nil, job[:], int64(math.MaxInt64)); err != nil {
		return err
	}
	return c.execInternal(ctx, deleteAttempt, nil, job[:])
}
