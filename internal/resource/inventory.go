package resource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/account"
)

// Inventory remembers which databases accounts have, so that one that is lost is missed.
type Inventory struct {
	Data   string // the data folder
	Folder string // in it, that holds a folder for each account
	Store  InventoryStore
	Log    *slog.Logger
	// AcceptDamage lets a service start without the folder of all databases.
	AcceptDamage bool
	// Elsewhere says that databases last elsewhere, and their files are copies: none is missed.
	Elsewhere bool
}

// InventoryStore stores which databases there are.
type InventoryStore interface {
	ListDatabases(context.Context) (map[account.ID][]string, error)
	SaveDatabaseList(context.Context, map[account.ID][]string) error
}

// maxNamed is how many missing databases the log names.
const maxNamed = 20

// Check logs which databases were there and are no more. It fails without the folder of
// all, which may just not be mounted: scripts would begin with empty ones.
func (i Inventory) Check(ctx context.Context) error {
	if i.Elsewhere {
		return nil
	}
	known, err := i.Store.ListDatabases(ctx)
	if err != nil {
		return err
	}
	accounts := filepath.Join(i.Data, i.Folder)
	found, err := findDatabases(accounts)
	if err != nil {
		return err
	}
	var missing []string
	for id, names := range known {
		for _, name := range names {
			if !slices.Contains(found[id], name) {
				missing = append(missing, filepath.Join(databaseFolder(accounts, id), name+".db"))
			}
		}
	}
	slices.Sort(missing)
	if _, err := os.Stat(accounts); errors.Is(err, fs.ErrNotExist) && len(missing) > 0 && !i.AcceptDamage {
		return fmt.Errorf("the data folder %s has lost its folder %s, in which %d databases were: put it back or restore a backup, or start once by ql serve --accept-damage, "+
			"which lets scripts begin with empty ones", i.Data, i.Folder, len(missing))
	}
	if len(missing) > 0 {
		i.Log.Error("databases of accounts are missing: unless somebody removed them in the hour before the last stop, restore them from a backup; scripts begin with empty ones",
			"count", len(missing), "files", missing[:min(len(missing), maxNamed)])
	}
	return i.Store.SaveDatabaseList(ctx, found)
}

// Update stores which databases there are.
func (i Inventory) Update(ctx context.Context, _ time.Time) error {
	if i.Elsewhere {
		return nil
	}
	found, err := findDatabases(filepath.Join(i.Data, i.Folder))
	if err != nil {
		return err
	}
	return i.Store.SaveDatabaseList(ctx, found)
}

// findDatabases returns the names of the databases in the folder of all accounts, in
// their order.
func findDatabases(accounts string) (map[account.ID][]string, error) {
	found := map[account.ID][]string{}
	files, err := fs.Glob(os.DirFS(accounts), "*/databases/*.db")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		folder, name := path.Split(file)
		id, ok := parseAccountFolder(path.Base(path.Dir(path.Clean(folder))))
		if !ok { // none of ours
			continue
		}
		found[id] = append(found[id], strings.TrimSuffix(name, ".db"))
	}
	return found, nil
}

// parseAccountFolder returns the account whose folder has a name.
func parseAccountFolder(name string) (id account.ID, ok bool) {
	n, err := strconv.ParseInt(name, 10, 64)
	return account.ID(n), err == nil
}
