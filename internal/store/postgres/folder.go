package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ql/internal/disk"
	"ql/internal/fault"
	"ql/internal/store"
	"ql/internal/store/relational"
)

// sqliteFile is the store of a data folder that has its own.
const sqliteFile = "ql.db"

// BindFolder makes sure that a data folder is the one with the files and databases of the accounts in
// this database: until those can be elsewhere too, one server with one data folder uses a database. The
// first server's folder is bound to it; create says that this is one.
func (s *Store) BindFolder(ctx context.Context, folder string, create bool) error {
	if _, err := os.Stat(filepath.Join(folder, sqliteFile)); err == nil {
		return fault.New(fault.InvalidRequest, "the data folder %s has a store of its own, in %s: name another folder by --data, or leave --database out", folder, sqliteFile)
	}
	path := filepath.Join(folder, store.Elsewhere)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	here := strings.TrimSpace(string(text))
	there := ""
	if err := s.Read(ctx, func(t relational.Tx) (err error) {
		there, err = t.BoundFolder()
		return err
	}); err != nil {
		return err
	}
	switch {
	case here != "" && here == there:
		return nil
	case there != "":
		return fault.New(fault.InvalidRequest, "the files and databases of the accounts in this database are in another data folder than %s: name that by --data; a second server cannot use the database yet", folder)
	case here != "" && !create:
		return fault.New(fault.InvalidRequest, "the data folder %s belongs to another database: name that by --database", folder)
	case !create:
		return fault.New(fault.NotFound, "the database has no accounts yet: ql account create and ql serve begin with it")
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
	if bound != here {
		return fault.New(fault.InvalidRequest, "another server has begun with this database, in another data folder than %s", folder)
	}
	return nil
}
