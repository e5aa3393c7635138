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
	readMarked   = "SELECT job FROM _ql_marks WHERE job > ? ORDER BY job LIMIT 500"
	forgetAtMost = 500 // as many as readMarked reads
)

// ForgetEnded removes the receipts and marks of jobs of which ended says that
// nobody asks for them any more: what a crash kept a job from removing itself,
// and what shut out its earlier attempts. A job has a mark wherever it has a
// receipt. One database that fails keeps no other from its turn.
func (d *Databases) ForgetEnded(ctx context.Context, ended func(ctx context.Context, job [16]byte) (bool, error)) error {
	names, err := d.names()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		err = errors.Join(err, d.forgetEnded(ctx, name, ended))
	}
	return err
}

func (d *Databases) forgetEnded(ctx context.Context, name string, ended func(context.Context, [16]byte) (bool, error)) error {
	var last [16]byte
	for {
		marked, err := d.marked(ctx, name, last)
		if err != nil || len(marked) == 0 {
			return err
		}
		var old [][16]byte
		for _, job := range marked {
			isOld, err := ended(ctx, job)
			if err != nil {
				return err
			}
			if isOld {
				old = append(old, job)
			}
		}
		if err := d.forgetJobs(ctx, name, old); err != nil || len(marked) < forgetAtMost {
			return err
		}
		last = marked[len(marked)-1]
	}
}

// marked returns jobs that have a mark in a database, in the order of their ids
// from behind one on.
func (d *Databases) marked(ctx context.Context, name string, last [16]byte) (jobs [][16]byte, err error) {
	if isMissing(filepath.Join(d.options.Folder, name+fileEnding)) {
		return nil, nil // it must not be made for this
	}
	db, err := d.acquire(name)
	if err != nil {
		return nil, err
	}
	defer d.release(db)
	c, err := db.takeReader(ctx)
	if err != nil {
		return nil, err
	}
	defer db.giveReader(c)
	there, err := c.hasReceipts(ctx)
	if err != nil || !there {
		return nil, err
	}
	err = c.own(ctx, readMarked, func(s *sqlite.Stmt) {
		var job [16]byte
		copy(job[:], s.Blob(0))
		jobs = append(jobs, job)
	}, last[:])
	return jobs, err
}

func (d *Databases) forgetJobs(ctx context.Context, name string, jobs [][16]byte) error {
	if len(jobs) == 0 {
		return nil
	}
	return d.change(ctx, name, func(c *conn) error {
		there, err := c.hasReceipts(ctx)
		if err != nil || !there {
			return err // it was dropped meanwhile
		}
		if err := c.bound(ctx, true); err != nil {
			return err
		}
		for _, job := range jobs {
			if err := c.forgetAll(ctx, job); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetAll removes all receipts of a job, and its mark.
func (c *conn) forgetAll(ctx context.Context, job [16]byte) error {
	if err := c.own(ctx, removeReceipts, nil, job[:], int64(math.MaxInt64)); err != nil {
		return err
	}
	return c.own(ctx, removeMark, nil, job[:])
}
