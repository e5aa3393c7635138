package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ql/internal/disk"
	"ql/internal/fault"
	"ql/internal/store"
	"ql/internal/store/relational"
)

// sqliteFile is the store of a data folder that has its own.
const sqliteFile = "ql.db"

// Binding is how a data folder is bound to a database.
type Binding struct {
	// Create says that the folder may be the first one.
	Create bool
	// Join says that it may be that of one more node, of a database whose nodes share a bucket.
	Join bool
}

const (
	// beginTime is how long the first node may take from its folder to its bucket: others that are started with it wait
	// for that.
	beginTime = 10 * time.Second
	beginPoll = 100 * time.Millisecond
)

// BindFolder makes sure that a data folder belongs to this database, and returns the number of its node. The first
// server's folder is bound to it: that has the contents of files unless those are in a bucket. Other nodes have
// folders of their own, in which nothing is that others would miss.
func (s *Store) BindFolder(ctx context.Context, folder string, b Binding) (node int64, err error) {
	if err := s.bindFolder(ctx, folder, b); err != nil {
		return 0, err
	}
	mark, err := readMark(folder)
	if err != nil {
		return 0, err
	}
	err = s.Read(ctx, func(t relational.Tx) (err error) {
		node, err = t.FindNode(mark)
		return err
	})
	if err != nil || node != 0 {
		return node, err
	}
	err = s.Write(ctx, func(t relational.Tx) (err error) {
		node, err = t.JoinNode(mark)
		return err
	})
	return node, err
}

// errNotBegun is the error of a database that nobody has begun with.
var errNotBegun = fault.New(fault.NotFound, "the database has no accounts yet: ql account create and ql serve begin with it")

// CheckBegun refuses a database that nobody has begun with, unless create says that it may be.
func (s *Store) CheckBegun(ctx context.Context, create bool) error {
	if create {
		return nil
	}
	begun := false
	err := s.Read(ctx, func(t relational.Tx) (err error) {
		begun, err = t.HasBegun()
		return err
	})
	if err == nil && !begun {
		err = errNotBegun
	}
	return err
}

// BoundBlobs returns the mark of the bucket with the contents of files; "" for none.
func (s *Store) BoundBlobs(ctx context.Context) (mark string, err error) {
	err = s.Read(ctx, func(t relational.Tx) (err error) {
		mark, err = t.BoundBlobs()
		return err
	})
	return mark, err
}

// BindBlobs notes the mark of the bucket with the contents of files.
func (s *Store) BindBlobs(ctx context.Context, mark string) error {
	return s.Write(ctx, func(t relational.Tx) error { return t.BindBlobs(mark) })
}

// readMark returns the mark of a data folder; "" for none.
func readMark(folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, store.Elsewhere))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

func (s *Store) bindFolder(ctx context.Context, folder string, b Binding) error {
	create := b.Create
	if _, err := os.Stat(filepath.Join(folder, sqliteFile)); err == nil {
		return fault.New(fault.InvalidRequest, "the data folder %s has a store of its own, in %s: name another folder by --data, or leave --database out", folder, sqliteFile)
	}
	path := filepath.Join(folder, store.Elsewhere)
	here, err := readMark(folder)
	if err != nil {
		return err
	}
	there, node := "", int64(0)
	if err := s.Read(ctx, func(t relational.Tx) (err error) {
		if there, err = t.BoundFolder(); err == nil && here != "" {
			node, err = t.FindNode(here)
		}
		return err
	}); err != nil {
		return err
	}
	switch {
	case here != "" && (here == there || node != 0):
		return nil
	case there != "" && here != "":
		return fault.New(fault.InvalidRequest, "the data folder %s belongs to another database: name that by --database", folder)
	case there != "" && b.Join:
		if err := s.awaitBucket(ctx); err != nil {
			return err
		}
		if err := disk.WriteMark(path, disk.NewMark()); err != nil {
			return fmt.Errorf("the data folder cannot be marked: %w", err)
		}
		return nil
	case there != "":
		return fault.New(fault.InvalidRequest, "a server has begun with this database in another data folder than %s: name that by --data, or serve as one more node of it, with the bucket of all by --blobs", folder)
	case here != "" && !create:
		return fault.New(fault.InvalidRequest, "the data folder %s belongs to another database: name that by --database", folder)
	case !create:
		return errNotBegun
	case here == "":
		here = disk.NewMark()
		if err := disk.WriteMark(path, here); err != nil {
			return fmt.Errorf("the data folder cannot be marked: %w", err)
		}
	}
	bound := ""
	if err := s.Write(ctx, func(t relational.Tx) (err error) {
		bound, err = t.BindFolder(here)
		return err
	}); err != nil {
		return err
	}
	switch {
	case bound == here:
		return nil
	case b.Join:
		return s.awaitBucket(ctx)
	default:
		return fault.New(fault.InvalidRequest, "another server has begun with this database, in another data folder than %s", folder)
	}
}

// awaitBucket waits until the first node has begun with the bucket that all share.
func (s *Store) awaitBucket(ctx context.Context) error {
	for deadline := time.Now().Add(beginTime); ; {
		bucket, err := s.BoundBlobs(ctx)
		switch {
		case err != nil || bucket != "":
			return err
		case time.Now().After(deadline):
			return fault.New(fault.InvalidRequest, "another server has begun with this database, and has the contents of files in its data folder: nodes share them in a bucket, which that one begins with by --blobs")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(beginPoll):
		}
	}
}
