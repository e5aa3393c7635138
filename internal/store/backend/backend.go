// Package backend opens the store that the settings name: in a file of SQLite in the data folder, or in
// a PostgreSQL database, whose accounts own what is in the data folder.
package backend

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/member"
	"ql/internal/redacted"
	"ql/internal/store"
	"ql/internal/store/postgres"
	"ql/internal/store/relational"
	"ql/internal/store/sqlite"
	"ql/internal/store/tables"
)

// Options are how a store is opened. A zero field means its default.
type Options struct {
	Data     string        // the data folder
	Database redacted.Text // the URL of a database; "" for SQLite in the data folder
	Direct   redacted.Text // the URL of the same without a pooler; "" where Database is that

	// Own takes the data folder for this process, as a server does. Without it a store is
	// opened for a short command, beside a server or not.
	Own bool
	// Create says that a database may begin with this data folder.
	Create bool
	// Join says that the folder may be that of one more node of a database.
	Join bool
	// Anywhere says that a database is opened for a command that needs no data folder: one that belongs to no
	// database is left alone.
	Anywhere bool
	// Move says that all is copied from or to the store: also one that serves nobody is opened.
	Move bool

	// Actor is who makes changes whose context names nobody; the service unless set.
	Actor audit.Actor
	// Grown is told by how many bytes the records of an account grow; may be left out.
	Grown func(a account.ID, bytes int64)
	// AcceptDamage lets a folder be owned whose changes of last cannot all be read.
	AcceptDamage bool
	// Log is told of upgrades and of what is wrong with the folder; may be left out.
	Log *slog.Logger
}

// Backend is an open store.
type Backend interface {
	// Aggregate returns the stores.
	Aggregate() store.Store
	// Reseal replaces all that is sealed by what f makes of it.
	Reseal(ctx context.Context, f func(relational.Sealed) ([]byte, error)) (int, error)
	// Read reads something at one moment.
	Read(ctx context.Context, f func(relational.Tx) error) error
	// Tables returns a connection to all that is stored, as the tables that it is in.
	Tables(ctx context.Context) (tables.Access, error)
	Close() error
}

// Bucket says which bucket has the contents of files, for all nodes.
type Bucket interface {
	// BoundBlobs returns the mark of the bucket; "" for none.
	BoundBlobs(ctx context.Context) (mark string, err error)
	BindBlobs(ctx context.Context, mark string) error
}

// Opened is an open store, and what a data folder is to it.
type Opened struct {
	Backend
	// Node is the number of the node that has the folder: 1 is the first, 0 is none.
	Node   int64
	Bucket Bucket // nil where there is one node
}

// IsFirst tells whether the node is the first one, which looks after what is no longer needed.
func (o Opened) IsFirst() bool { return o.Node == 1 }

// Databases is the folder in the data folder that has the databases of accounts, or copies of them.
func (o Opened) Databases() (folder string, areCopies bool) {
	if o.Bucket == nil {
		return sqlite.AccountFolder, false
	}
	return sqlite.CopyFolder, true
}

// Duties returns which of several nodes does what; nil where there is one.
func (o Opened) Duties(s store.Store) member.Duties {
	if o.Bucket == nil {
		return nil
	}
	return s.Duties
}

// Open opens the store. One that is being filled by a move, or was left by one, is refused.
func Open(ctx context.Context, o Options) (Opened, error) {
	opened, err := open(ctx, o)
	if err != nil || o.Move {
		return opened, err
	}
	if err := opened.Read(ctx, relational.Tx.CheckMoves); err != nil {
		return Opened{}, errors.Join(err, opened.Close())
	}
	return opened, nil
}

func open(ctx context.Context, o Options) (Opened, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Database == "" {
		s, err := sqlite.Open(ctx, sqlite.Options{
			Folder: o.Data, Own: o.Own, Actor: o.Actor, Grown: o.Grown, AcceptDamage: o.AcceptDamage, NoUpgrade: o.Move,
			Migrated: func(from, to int, took time.Duration) {
				o.Log.Info("the store was upgraded: a copy of it as it was is beside it", "from", from, "to", to, "took_us", took.Microseconds())
			},
			Warn: func(err error) { o.Log.Warn("the data folder has a problem", "error", err) },
		})
		return Opened{Backend: s, Node: 1}, err
	}
	d := database{}
	if o.Own {
		var err error
		if d.held, err = sqlite.Own(o.Data); err != nil {
			return Opened{}, err
		}
	}
	readers := 0 // as usual
	if !o.Own {
		readers = 2
	}
	var err error
	d.Store, err = postgres.Open(ctx, postgres.Options{URL: o.Database.Reveal(), Direct: o.Direct.Reveal(), Migrate: o.Own && !o.Move, Readers: readers, Actor: o.Actor, Grown: o.Grown,
		Migrated: func(from, to int, took time.Duration) {
			o.Log.Info("the store was upgraded", "from", from, "to", to, "took_us", took.Microseconds())
		}})
	node := int64(0)
	if err == nil {
		node, err = d.bind(ctx, o)
	}
	if err != nil {
		return Opened{}, errors.Join(err, d.Close())
	}
	return Opened{Backend: d, Node: node, Bucket: d}, nil
}

// bind returns the number of the node whose folder the data folder is.
func (d database) bind(ctx context.Context, o Options) (node int64, err error) {
	if o.Anywhere {
		belongs, err := sqlite.HasStore(o.Data)
		if err != nil {
			return 0, err
		}
		if !belongs {
			return 0, d.CheckBegun(ctx, o.Create)
		}
	}
	return d.BindFolder(ctx, o.Data, postgres.Binding{Create: o.Create, Join: o.Join})
}

// Lease is how long a member of a store is one after a renewal; 0 where the worker's own does. Alone says
// whether it renews also where nobody could miss it.
func Lease(url redacted.Text) (lease time.Duration, alone bool) {
	if url == "" {
		return 0, false
	}
	return postgres.ValidFor, true
}

// database is a store on PostgreSQL, with the data folder that may be held with it.
type database struct {
	*postgres.Store           // nil where it could not be opened
	held            io.Closer // nil where it is not
}

// Close closes both.
func (d database) Close() (err error) {
	if d.Store != nil {
		err = d.Store.Close()
	}
	if d.held != nil {
		err = errors.Join(err, d.held.Close())
	}
	return err
}
