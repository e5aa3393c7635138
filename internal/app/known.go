package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/store/sqlite"
)

// mostNamed is how many missing databases the log names.
const mostNamed = 20

// checkDatabases tells of databases that were there and are no more. Without the folder
// of all, which may just not be mounted, nothing starts: scripts would begin with empty
// ones.
func (a *App) checkDatabases(ctx context.Context) error {
	known, err := a.parts.store.Databases.KnownDatabases(ctx)
	if err != nil {
		return err
	}
	found, err := findDatabases(a.settings.Data)
	if err != nil {
		return err
	}
	var missing []string
	for id, names := range known {
		for _, name := range names {
			if !slices.Contains(found[id], name) {
				missing = append(missing, filepath.Join(databaseFolder(a.settings.Data, id), name+".db"))
			}
		}
	}
	slices.Sort(missing)
	if _, err := os.Stat(filepath.Join(a.settings.Data, sqlite.AccountFolder)); errors.Is(err, fs.ErrNotExist) && len(missing) > 0 && !a.o.AcceptDamage {
		return fmt.Errorf("the data folder %s has lost its folder %s, in which %d databases were: put it back or restore a backup, or start once by ql serve --accept-damage, "+
			"which lets scripts begin with empty ones", a.settings.Data, sqlite.AccountFolder, len(missing))
	}
	if len(missing) > 0 {
		a.o.Log.Error("databases of accounts are missing: unless somebody removed them in the hour before the last stop, restore them from a backup; scripts begin with empty ones",
			"count", len(missing), "files", missing[:min(len(missing), mostNamed)])
	}
	a.closes("known databases", func(ctx context.Context) error { return a.noteDatabases(ctx, time.Time{}) })
	return a.parts.store.Databases.NoteDatabases(ctx, found)
}

// noteDatabases notes which databases there are.
func (a *App) noteDatabases(ctx context.Context, _ time.Time) error {
	found, err := findDatabases(a.settings.Data)
	if err != nil {
		return err
	}
	return a.parts.store.Databases.NoteDatabases(ctx, found)
}

// findDatabases returns the names of the databases in a data folder, in their order.
func findDatabases(data string) (map[account.ID][]string, error) {
	files, err := fs.Glob(os.DirFS(data), sqlite.AccountFolder+"/*/databases/*.db")
	if err != nil {
		return nil, err
	}
	found := map[account.ID][]string{}
	for _, file := range files {
		folder, name := path.Split(file)
		id, err := strconv.ParseInt(path.Base(path.Dir(path.Clean(folder))), 10, 64)
		if err != nil { // none of ours
			continue
		}
		found[account.ID(id)] = append(found[account.ID(id)], strings.TrimSuffix(name, ".db"))
	}
	return found, nil
}
