package operator

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"ql/internal/account/seal"
	"ql/internal/audit"
	"ql/internal/config"
	"ql/internal/fault"
	"ql/internal/member"
	"ql/internal/move"
	"ql/internal/platform"
	"ql/internal/resource/files"
	"ql/internal/store/backend"
	"ql/internal/store/blob"
	"ql/internal/store/sqlite"
)

// scratchFolder is where what is moved is on its way, in the data folder of the target.
const scratchFolder = "moving"

// Move moves all that is stored from one place to another. No server may run at either.
func Move(ctx context.Context, from, to config.Settings, report func(move.Progress)) (_ move.Counts, err error) {
	if err := distinct(from, to); err != nil {
		return move.Counts{}, err
	}
	source, err := openSide(ctx, from, false)
	if err != nil {
		return move.Counts{}, atSide("--from", err)
	}
	defer func() { err = errors.Join(err, source.close()) }()
	check, err := source.opened.Aggregate().Accounts.EnsureKeyCheck(ctx, nil)
	if err != nil {
		return move.Counts{}, err
	}
	if check != nil {
		if err := seal.CheckMasterKey(from.MasterKeyPath(), check); err != nil {
			return move.Counts{}, atSide("--from", err)
		}
	}
	target, err := openSide(ctx, to, true)
	if err != nil {
		return move.Counts{}, atSide("--to", err)
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := seal.CopyMasterKey(from.MasterKeyPath(), to.MasterKeyPath(), check); err != nil {
		return move.Counts{}, atSide("--to", err)
	}
	scratch := filepath.Join(to.Data, scratchFolder)
	if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o700)); err != nil {
		return move.Counts{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	free, _, err := platform.DiskSpace(to.Data)
	if err != nil {
		return move.Counts{}, err
	}
	return move.Run(ctx, move.Options{
		From: source.Side, To: target.Side, Back: flagsBack(to), Scratch: scratch, Report: report,
		Room: move.Room{Free: free, Rows: to.Database == "", Contents: to.Blobs == nil, Databases: true},
	})
}

// UndoMove has a store serve again as it is from which all was moved.
func UndoMove(ctx context.Context, from config.Settings) error {
	source, err := openSide(ctx, from, false)
	if err != nil {
		return err
	}
	return errors.Join(move.Undo(ctx, source.Side), source.close())
}

// atSide says at which side something is wrong.
func atSide(flag string, err error) error {
	var coded *fault.Error
	if errors.As(err, &coded) {
		said := *coded
		said.Message = flag + ": " + coded.Message
		return said.WithCause(err)
	}
	return fault.New(fault.InvalidRequest, "%s: %s", flag, err.Error()).WithCause(err)
}

// distinct refuses two sides that share something.
func distinct(from, to config.Settings) error {
	same, err := samePlace(from.Data, to.Data)
	switch {
	case err != nil:
		return err
	case same:
		return fault.New(fault.InvalidRequest, "both sides have the data folder %s: each needs one of its own", to.Data)
	case from.Database != "" && from.Database == to.Database:
		return fault.New(fault.InvalidRequest, "both sides have the same database")
	case from.Blobs != nil && to.Blobs != nil && *from.Blobs == *to.Blobs:
		return fault.New(fault.InvalidRequest, "both sides have the same bucket and prefix: each needs a prefix of its own")
	}
	return nil
}

func samePlace(a, b string) (bool, error) {
	second, err := os.Stat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	first, wrong := os.Stat(a) // which is told when it is opened
	return wrong == nil && os.SameFile(first, second), nil
}

// side is an open side of a move.
type side struct {
	move.Side
	opened backend.Opened
	blobs  *files.Blobs
}

func openSide(ctx context.Context, s config.Settings, create bool) (_ *side, err error) {
	if err := prepareFolder(s.Data, create); err != nil {
		return nil, err
	}
	opened, err := backend.Open(ctx, backend.Options{Data: s.Data, Database: s.Database, Direct: s.DatabaseDirect, Own: true, Create: create, Move: true, Actor: audit.Actor{By: audit.ByOperator}})
	if err != nil {
		return nil, err
	}
	one := &side{opened: opened, Side: move.Side{Name: placeOf(s), Databases: move.Folder(filepath.Join(s.Data, sqlite.AccountFolder))}}
	defer func() {
		if err != nil {
			err = errors.Join(err, one.close())
		}
	}()
	if opened.Node != 1 {
		return nil, fault.New(fault.InvalidRequest, "the data folder %s is not that of the first node: name that one", s.Data)
	}
	if lease, several := backend.Lease(s.Database); several {
		if err := requireStopped(ctx, opened, lease); err != nil {
			return nil, err
		}
	}
	if one.blobs, err = blob.OpenShared(ctx, s.Data, s.Blobs, opened.Bucket, true); err != nil {
		return nil, err
	}
	one.Blobs = one.blobs
	if _, shipped := opened.Databases(); shipped {
		if err := one.Databases.List(ctx, func(move.Database) error {
			return fault.New(fault.InvalidRequest, "the data folder %s has databases of an earlier version: start and stop a server with it once, which stores them with the others", s.Data)
		}); err != nil {
			return nil, err
		}
		one.Databases = newShippedDatabases(opened.Aggregate(), one.blobs, s)
	}
	one.Tables, err = opened.Tables(ctx)
	return one, err
}

// requireStopped refuses where a node lives.
func requireStopped(ctx context.Context, opened backend.Opened, lease time.Duration) error {
	list, err := member.Look(ctx, opened.Aggregate().Members, lease)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.Lives {
			return fault.New(fault.InvalidRequest, "node %d (version %s) serves with the database: stop all nodes first", one.ID, one.Version)
		}
	}
	return nil
}

func (s *side) close() (err error) {
	if s.Tables != nil {
		err = s.Tables.Close()
	}
	if s.blobs != nil {
		err = errors.Join(err, s.blobs.Close())
	}
	return errors.Join(err, s.opened.Close())
}

// placeOf says where a store is, without what would let anybody in.
func placeOf(s config.Settings) string {
	if s.Database == "" {
		return s.Data
	}
	u, err := url.Parse(s.Database.Reveal())
	if err != nil {
		return "the database"
	}
	name := "postgres://"
	if user := u.User.Username(); user != "" {
		name += url.User(user).String() + "@"
	}
	return name + u.Host + u.Path
}

// flagsBack are the flags by which all is moved from there.
func flagsBack(s config.Settings) string {
	flags := "--from " + placeOf(s)
	if s.Database != "" {
		flags += " --from-data " + s.Data
	}
	if s.Blobs != nil {
		flags += " --from-blobs " + s.Blobs.String()
	}
	return flags
}
