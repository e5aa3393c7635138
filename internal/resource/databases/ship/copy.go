package ship

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ql/internal/disk"
	"ql/internal/sqlite"
)

// A copy that was closed in order has a mark beside it: which change it is of. A copy in use has none, so
// that whoever finds one after a crash makes another copy: it may have a change that the log has not, or
// lack the last one.

const (
	markSuffix = ".at"
	// fetchSuffix is that of a copy which is being made.
	fetchSuffix = ".fetch"
	// partsAtOnce is how many parts are read of the log at a time.
	partsAtOnce = 16
)

// Fetch implements databases.Origin.
func (o *Origin) Fetch(ctx context.Context, name, path string) (found bool, err error) {
	if _, err := o.claimHome(ctx); err != nil {
		return false, err
	}
	d, err := o.s.o.Changes.Database(ctx, o.account, name)
	if err != nil {
		return false, err
	}
	marked, err := takeMark(path)
	if err != nil {
		return false, err
	}
	if d.Last == 0 {
		o.setPosition(name, 0)
		return false, removeCopy(path)
	}
	if marked == d.Last && isWhole(path, d.Size) {
		o.setPosition(name, d.Last)
		return true, nil
	}
	select {
	case o.s.fetches <- struct{}{}:
		defer func() { <-o.s.fetches }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if err := o.fetch(ctx, d, path+fetchSuffix); err != nil {
		return false, errors.Join(err, remove(path+fetchSuffix))
	}
	if err := removeCopy(path); err != nil {
		return false, err
	}
	if err := os.Rename(path+fetchSuffix, path); err != nil {
		return false, err
	}
	o.setPosition(name, d.Last)
	return true, nil
}

// Copy writes a database that nobody has to a path.
func (o *Origin) Copy(ctx context.Context, name, path string) error {
	d, err := o.s.o.Changes.Database(ctx, o.account, name)
	if err != nil {
		return err
	}
	return o.fetch(ctx, d, path)
}

// fetch writes a database to a path, part after part.
func (o *Origin) fetch(ctx context.Context, d Database, path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at := int64(0)
	for at < d.Last {
		parts, err := o.s.o.Changes.Parts(ctx, o.account, d.Name, at, partsAtOnce)
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			return fmt.Errorf("the log of database %s ends at change %d of %d", d.Name, at, d.Last)
		}
		for i := range parts {
			p := &parts[i]
			if p.First > at+1 || p.Last <= at {
				return fmt.Errorf("the log of database %s has changes %d to %d behind %d", d.Name, p.First, p.Last, at)
			}
			if err := o.pieces(d.Name, p, func(pages []page) error {
				for _, page := range pages {
					if _, err := f.WriteAt(page.content, int64(page.number-1)*pageSize); err != nil {
						return err
					}
				}
				return ctx.Err()
			}); err != nil {
				return err
			}
			at = p.Last
			o.gather(d.Name, p)
		}
	}
	return f.Truncate(d.Size * pageSize)
}

// isWhole reports whether a copy that was closed in order is there still.
func isWhole(path string, pages int64) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Size() != pages*pageSize {
		return false
	}
	_, err = os.Lstat(path + sqlite.WALSuffix)
	return errors.Is(err, fs.ErrNotExist)
}

// takeMark returns the change that a copy is of, and removes the mark for good; 0 where it has none.
func takeMark(path string) (int64, error) {
	text, err := os.ReadFile(path + markSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := os.Remove(path + markSuffix); err != nil {
		return 0, err
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		at = 0 // it was not written whole
	}
	return at, disk.SyncFolder(filepath.Dir(path))
}

// Closed implements databases.Origin.
func (o *Origin) Closed(name, path string) {
	at, known := o.position(name)
	o.forgetPosition(name)
	if !known || at == 0 {
		return
	}
	if _, err := os.Lstat(path + sqlite.WALSuffix); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	// Without it the next one makes another copy.
	_ = os.WriteFile(path+markSuffix, []byte(strconv.FormatInt(at, 10)+"\n"), 0o600)
}

// Publish implements databases.Origin.
func (o *Origin) Publish(ctx context.Context, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size()%pageSize != 0 || info.Size() == 0 {
		return fmt.Errorf("the file of database %s has %d bytes", name, info.Size())
	}
	size := info.Size() / pageSize
	return o.append(context.WithoutCancel(ctx), name, 0, size, func(add func(page) error) error {
		from, content := bufio.NewReaderSize(f, 64<<10), make([]byte, pageSize)
		for number := range size {
			if _, err := io.ReadFull(from, content); err != nil {
				return err
			}
			if err := add(page{uint32(number + 1), content}); err != nil {
				return err
			}
		}
		return nil
	})
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeCopy removes a copy. The database goes last: a log without it would be taken for that of the next.
func removeCopy(path string) error {
	return errors.Join(remove(path+sqlite.WALSuffix), remove(path+"-shm"), remove(path))
}
