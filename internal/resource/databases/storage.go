package databases

import (
	"context"
	"sync"

	"ql/lang/value"
)

// Storage is the account's storage, which databases share with its files. Its
// methods may be called by any number of goroutines.
type Storage interface {
	// Bounds returns what the databases are held to at the moment.
	Bounds(ctx context.Context) (Bounds, error)
	// Reserve reserves bytes that the databases are about to grow by. Where the
	// account would pass its bound by more than the reserve, it reserves nothing and
	// reports false.
	Reserve(ctx context.Context, bytes, reserve int64) (bool, error)
	// Adjust adds bytes that the databases hold already, or have given back where
	// it is negative.
	Adjust(bytes int64)
	// ReserveWAL reserves bytes that a write-ahead log is about to grow by, or
	// releases some, which are negative. Where there are none left it reserves nothing
	// and reports false. It is called while SQLite is at work, and waits for nobody.
	ReserveWAL(bytes int64) bool
	// AdjustWAL is Adjust for write-ahead logs.
	AdjustWAL(bytes int64)
}

// Bounds are what databases are held to. Zero means no bound, but for Left.
type Bounds struct {
	Bytes     int64 // of all that the account stores
	Left      int64 // of Bytes; negative where too much is stored already
	Databases int   // their number
	WAL       int64 // of one database, beside those who read
}

// reserve is how much a statement that removes something may use where nothing
// is left: on the way it may need a few pages more than before. It is also all
// by which an account may pass its bound.
const reserve = 16 * pageSize

// usage counts what databases hold, for their storage. A database
// holds its pages. Its write-ahead log is counted apart: it comes and goes.
type usage struct {
	find    func(context.Context) (sizes, wals map[string]int64, err error)
	storage Storage

	mu    sync.Mutex
	sizes map[string]int64 // by database; nil until they are measured
	wals  map[string]int64 // likewise, where there is any
	// slack is by how much files are larger than their databases: pages that those
	// gave back go from them at a checkpoint. It counts with the logs.
	slack map[string]int64
}

// measure finds out what the databases hold that nobody has opened yet. u.mu is
// held.
func (u *usage) measure(ctx context.Context) error {
	if u.sizes != nil {
		return nil
	}
	sizes, wals, err := u.find(ctx)
	if err != nil {
		return err
	}
	total, wal := int64(0), int64(0)
	for name, size := range sizes {
		total += size
		wal += wals[name]
	}
	u.sizes, u.wals, u.slack = sizes, wals, map[string]int64{}
	u.storage.Adjust(total)
	u.storage.AdjustWAL(wal)
	return nil
}

// admit lets a database be opened, and made where it is new.
func (u *usage) admit(ctx context.Context, name string) error {
	u.mu.Lock()
	err := u.measure(ctx)
	_, known := u.sizes[name]
	u.mu.Unlock()
	if err != nil || known {
		return err
	}
	// Without the lock: where nothing is left, logs are checkpointed to free some.
	b, err := u.storage.Bounds(ctx)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_, known = u.sizes[name]
	switch {
	case known:
		return nil
	case b.Databases > 0 && len(u.sizes) >= b.Databases:
		return value.Errorf(quotaExceeded, "there is no database %s yet, and no other can be made: the account has %d, and may have %d", value.Quote(name), len(u.sizes), b.Databases).AtLimit("databases", int64(b.Databases))
	case b.Bytes > 0 && b.Left < pageSize:
		return &storageFullError{storageFull(name, b)}
	}
	u.sizes[name] = 0
	return nil
}

// storageFullError is the error of a database that is not there and that there is no
// storage for.
type storageFullError struct{ error }

// Unwrap returns the error for the script.
func (e *storageFullError) Unwrap() error { return e.error }

// setSize records how much a database holds now, and returns by how much that is
// more than before. The caller adjusts the storage.
func (u *usage) setSize(name string, bytes int64) (grown int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	grown = bytes - u.sizes[name]
	u.sizes[name] = bytes
	return grown
}

// remove records that a database is gone, and returns what it held.
func (u *usage) remove(name string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	held := u.sizes[name]
	delete(u.sizes, name)
	return held
}

func (u *usage) size(name string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sizes[name]
}

// Measure adds the databases that were there before to what is used of the storage.
func (d *Databases) Measure(ctx context.Context) error {
	if d.usage == nil {
		return nil
	}
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	return d.usage.measure(ctx)
}

func storageFull(name string, b Bounds) error {
	return value.Errorf(quotaExceeded, "there is no room for more in the database %s: the account's files and databases hold %s at most together; remove rows or files first", value.Quote(name), value.FormatSize(b.Bytes)).AtLimit("storage", b.Bytes)
}

func walStorageFull(name string, b Bounds) error {
	return value.Errorf(quotaExceeded, "there is no room for the log of this change of the database %s: the account's files and databases, with what is not yet swept of them, hold %s at most; change fewer rows at once, or remove files first", value.Quote(name), value.FormatSize(b.Bytes)).AtLimit("storage", b.Bytes)
}
