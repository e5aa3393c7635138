package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ql/internal/disk"
	"ql/internal/fault"
	"ql/lang/value"
)

// A new database that is filled by an import must not be there where the import
// fails. It cannot be removed then: a server may have opened it meanwhile, and
// would go on with a file that has no name. So it is made in a folder of its own,
// and gets its name when it is complete.
const (
	stagingPrefix = ".import-"
	// abandonedAfter is the age from which the folder of an import is taken for one
	// that a crash has left. An import that does last longer loses its folder and
	// fails.
	abandonedAfter = 24 * time.Hour
)

// createStaged makes a database of what fill does to the one of the same name in
// other databases, which share the storage of these.
func (d *Databases) createStaged(ctx context.Context, name string, fill func(staged *Databases) error) (err error) {
	if d.usage != nil {
		if err := d.usage.admit(ctx, name); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				return
			}
			if there, failed := d.has(context.WithoutCancel(ctx), name); failed == nil && !there {
				d.usage.remove(name)
			}
		}()
	}
	if err := os.MkdirAll(d.options.Folder, 0o700); err != nil {
		return unavailable(err)
	}
	d.removeAbandoned()
	o := d.options
	o.Origin = nil
	if o.Folder, err = os.MkdirTemp(o.Folder, stagingPrefix); err != nil {
		return unavailable(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	staged := New(o)
	err = errors.Join(fill(staged), staged.Close())
	if err == nil {
		err = d.publish(ctx, filepath.Join(o.Folder, name+fileSuffix), name)
	}
	if d.usage == nil {
		return err
	}
	held := staged.usage.size(name)
	if err != nil {
		d.usage.storage.Adjust(-held)
		return err
	}
	d.usage.setSize(name, held)
	return nil
}

// Spool copies what is to be imported to a file, so that whoever sends it slowly holds up nobody who
// changes the database meanwhile. It counts as stored until it is closed, and that removes it.
func (d *Databases) Spool(ctx context.Context, from io.Reader) (_ *Spooled, err error) {
	if err := os.MkdirAll(d.options.Folder, 0o700); err != nil {
		return nil, unavailable(err)
	}
	d.removeAbandoned()
	folder, err := os.MkdirTemp(d.options.Folder, stagingPrefix)
	if err != nil {
		return nil, unavailable(err)
	}
	s := &Spooled{databases: d, folder: folder}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.file, err = os.OpenFile(filepath.Join(folder, "text"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, unavailable(err)
	}
	if err := s.fill(ctx, from); err != nil {
		return nil, err
	}
	_, err = s.file.Seek(0, io.SeekStart)
	return s, unavailable(err)
}

// Spooled is what is to be imported, in a file of its own.
type Spooled struct {
	databases *Databases
	folder    string
	file      *os.File
	counted   int64
}

// spoolPiece is how much is counted at a time.
const spoolPiece = 256 << 10

func (s *Spooled) fill(ctx context.Context, from io.Reader) error {
	piece := make([]byte, spoolPiece)
	for {
		// Not by io.ReadFull: what was cut off fails as that does at a shorter end.
		n := 0
		var err error
		for n < len(piece) && err == nil {
			var read int
			read, err = from.Read(piece[n:])
			n += read
		}
		whole := errors.Is(err, io.EOF)
		if err != nil && !whole {
			return err
		}
		if n > 0 {
			if err := s.count(ctx, int64(n)); err != nil {
				return err
			}
			if _, err := s.file.Write(piece[:n]); err != nil {
				return unavailable(err)
			}
		}
		if whole {
			return nil
		}
	}
}

// count counts what is about to be written as stored.
func (s *Spooled) count(ctx context.Context, bytes int64) error {
	u := s.databases.usage
	if u == nil {
		return nil
	}
	ok, err := u.storage.Reserve(ctx, bytes, 0)
	if err != nil {
		return err
	}
	if !ok {
		b, err := u.storage.Bounds(ctx)
		if err != nil {
			return err
		}
		return value.Errorf(quotaExceeded, "there is no room for what is to be imported: the account's files and databases hold %s at most, with that until it is done", value.FormatSize(b.Bytes)).AtLimit("storage", b.Bytes)
	}
	s.counted += bytes
	return nil
}

// Read implements io.Reader.
func (s *Spooled) Read(p []byte) (int, error) { return s.file.Read(p) }

// Close removes it.
func (s *Spooled) Close() error {
	var err error
	if s.file != nil {
		err = s.file.Close()
	}
	err = errors.Join(err, os.RemoveAll(s.folder))
	if u := s.databases.usage; u != nil {
		u.storage.Adjust(-s.counted)
	}
	return err
}

// publish gives a database that nobody has open its name, for good.
func (d *Databases) publish(ctx context.Context, path, name string) error {
	if !isMissing(path + walSuffix) {
		// Closing a database copies its log into it, or says nothing.
		return fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment").WithCause(fmt.Errorf("database %s: its write-ahead log stayed", name))
	}
	as := d.path(name)
	if d.options.Origin != nil {
		if err := d.options.Origin.Publish(ctx, name, path); err != nil {
			return originError(err)
		}
		if os.Link(path, as) == nil { // else it is fetched when it is used
			d.options.Origin.Closed(name, as)
		}
		return nil
	}
	err := os.Link(path, as)
	if os.IsExist(err) {
		return madeMeanwhile(name)
	}
	if err != nil {
		return unavailable(err)
	}
	return unavailable(disk.SyncFolder(filepath.Dir(as)))
}

func madeMeanwhile(name string) error {
	return value.Errorf("database_busy", "somebody has made the database %s meanwhile: do this again", value.Quote(name))
}

// removeAbandoned removes what imports have left that were cut off. What cannot
// be removed stays for the next one.
func (d *Databases) removeAbandoned() {
	found, _ := filepath.Glob(filepath.Join(d.options.Folder, stagingPrefix+"*"))
	for _, folder := range found {
		if info, err := os.Lstat(folder); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.RemoveAll(folder)
		}
	}
}
