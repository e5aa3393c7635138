package databases

import (
	"context"
	"errors"
	"fmt"
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
			if err != nil && !d.has(name) {
				d.usage.remove(name)
			}
		}()
	}
	if err := os.MkdirAll(d.options.Folder, 0o700); err != nil {
		return unavailable(err)
	}
	d.removeAbandoned()
	o := d.options
	if o.Folder, err = os.MkdirTemp(o.Folder, stagingPrefix); err != nil {
		return unavailable(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	staged := New(o)
	err = errors.Join(fill(staged), staged.Close())
	if err == nil {
		err = publish(filepath.Join(o.Folder, name+fileSuffix), filepath.Join(d.options.Folder, name+fileSuffix), name)
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

// publish gives a database that nobody has open its name, for good.
func publish(path, as, name string) error {
	if !isMissing(path + walSuffix) {
		// Closing a database copies its log into it, or says nothing.
		return fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment").WithCause(fmt.Errorf("database %s: its write-ahead log stayed", name))
	}
	err := os.Link(path, as)
	if os.IsExist(err) {
		return value.Errorf("database_busy", "a script has made the database %s meanwhile: import into it again", value.Quote(name))
	}
	if err != nil {
		return unavailable(err)
	}
	return unavailable(disk.SyncFolder(filepath.Dir(as)))
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
