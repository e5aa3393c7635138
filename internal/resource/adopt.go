package resource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/ship"
)

// adoptedSuffix is what a folder of databases is called behind its name once all of them were adopted.
const adoptedSuffix = ".adopted"

// Adopt returns what makes the databases in a folder, which lasted there alone, ones that last elsewhere: nil where
// they last there still. One that is elsewhere by now is left alone, so that may be cut off, and begun again. The folder is
// renamed in the end: what it has is of no use but to who wants to compare.
func (p *Pool) Adopt(folder string, accounts account.Store, log *slog.Logger) func(context.Context) error {
	if p.shipper == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found, err := findDatabases(folder)
		if err != nil {
			return err
		}
		for id, names := range found {
			if _, err := accounts.ByID(ctx, id); errors.Is(err, account.ErrNotFound) {
				continue // what an account left that was deleted
			} else if err != nil {
				return err
			}
			if err := adopt(ctx, p.shipper.Of(id), databaseFolder(folder, id), names); err != nil {
				return fmt.Errorf("the databases of account %d, which are in %s, could not be stored with the others: %w", id, folder, err)
			}
		}
		name := adoptedName(folder)
		if err := os.Rename(folder, name); err != nil {
			return err
		}
		if len(found) > 0 {
			log.Info("databases of accounts were stored where all nodes reach them: the folder that they were in is not needed any more", "accounts", len(found), "folder", name)
		}
		return nil
	}
}

// adoptedName returns what a folder is called from then on. A service that was moved back has had one before, which is not
// touched.
func adoptedName(folder string) string {
	name := folder + adoptedSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = folder + adoptedSuffix + "-" + strconv.Itoa(n)
	}
}

// adopt adopts those of one account.
func adopt(ctx context.Context, to *ship.Origin, folder string, names []string) (err error) {
	has, err := to.Sizes(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Leave(ctx)) }()
	for _, name := range names {
		if _, there := has[name]; there {
			continue
		}
		path := filepath.Join(folder, name+".db")
		if err := databases.Fold(ctx, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := to.Publish(ctx, name, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// copiesKept is how long the copies of databases of an account stay that this node has no more.
const copiesKept = 24 * time.Hour

// SweepCopies removes copies that nobody has used for a while.
func (p *Pool) SweepCopies(_ context.Context, now time.Time) error {
	return p.removeCopies(now.Add(-copiesKept))
}

// MakeRoom removes copies that nobody uses.
func (p *Pool) MakeRoom() error { return p.removeCopies(time.Now()) }

// removeCopies removes the copies of accounts whose databases this node does not have, and that were last used
// before a moment.
func (p *Pool) removeCopies(before time.Time) error {
	if p.shipper == nil {
		return nil
	}
	found, err := os.ReadDir(p.o.Folder)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	var errs []error
	for _, entry := range found {
		id, ok := parseAccountFolder(entry.Name())
		if ok && lastUse(databaseFolder(p.o.Folder, id)).Before(before) {
			errs = append(errs, p.removeCopiesOf(id))
		}
	}
	return errors.Join(errs...)
}

// lastUse is when a copy in a folder was last opened, or closed.
func lastUse(folder string) (last time.Time) {
	if info, err := os.Stat(folder); err == nil {
		last = info.ModTime() // marks come and go there
	}
	return last
}

// removeCopiesOf removes the copies of an account, unless this node has its databases.
func (p *Pool) removeCopiesOf(id account.ID) error {
	p.mu.Lock()
	if p.handles[id] != nil || p.closing[id] != nil {
		p.mu.Unlock()
		return nil
	}
	removed := make(chan struct{})
	p.closing[id] = removed
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.closing, id)
		close(removed)
	}()
	return p.RemoveFolder(id)
}
