package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ql/internal/disk"
	"ql/internal/sqlite"
)

// checkLog refuses a store whose log is damaged where changes would be lost that were
// acknowledged: SQLite drops them without a word. Whoever opens the store first drops
// them, so that others than a server are refused as well.
func checkLog(o Options, folder, path string) error {
	err := sqlite.CheckWAL(path)
	var damage *sqlite.WALDamageError
	switch {
	case err == nil && o.Own:
		return checkAccounts(o, folder)
	case err == nil:
		return nil
	case !errors.As(err, &damage):
		return unusable(folder, err)
	case o.Own:
		return errors.Join(settleDamage(damage, o.AcceptDamage, o.Warn), checkAccounts(o, folder))
	}
	// Somebody may write to it meanwhile: then it is not for this process to judge.
	held, err := lock(folder)
	var used *InUse
	if errors.As(err, &used) {
		return nil
	}
	if err != nil {
		return err
	}
	defer held.Close() //nolint:errcheck // nothing was written that matters
	if again := sqlite.CheckWAL(path); again == nil || again.Error() != damage.Error() {
		return nil
	}
	return refuseDamage(damage)
}

// settleDamage refuses a log that is damaged, or keeps a copy of it where the operator
// accepts that.
func settleDamage(damage *sqlite.WALDamageError, accepted bool, warn func(error)) error {
	if !accepted {
		return refuseDamage(damage)
	}
	kept, err := copyBeside(damage.Path)
	if err != nil {
		return fmt.Errorf("%w, and cannot be kept aside: %w", damage, err)
	}
	warn(fmt.Errorf("%w: they are lost, as was accepted; the log as it was is kept in %s", damage, kept))
	return nil
}

func refuseDamage(damage *sqlite.WALDamageError) error {
	return fmt.Errorf("%w: jobs that were accepted may be missing, and jobs that are done may run again. Restore a backup, or start once by ql serve --accept-damage, "+
		"which goes on with what was stored before and keeps a copy of the log", damage)
}

// copyBeside copies a file beside itself, under a name that says when, and returns its path.
func copyBeside(path string) (kept string, err error) {
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }() // it was only read
	kept = path + ".damaged-" + time.Now().UTC().Format("20060102-150405.000")
	to, err := os.OpenFile(kept, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return "", err
	}
	return kept, disk.SyncFolder(filepath.Dir(kept))
}

// checkAccounts is checkLog for the databases of accounts, of which those have a log
// that were in use when the process ended.
func checkAccounts(o Options, folder string) error {
	found, err := fs.Glob(os.DirFS(folder), AccountFolder+"/*/databases/*"+sqlite.WALSuffix)
	if err != nil {
		return unusable(folder, err)
	}
	var all error
	for _, log := range found {
		err := sqlite.CheckWAL(filepath.Join(folder, filepath.FromSlash(strings.TrimSuffix(log, sqlite.WALSuffix))))
		var damage *sqlite.WALDamageError
		if errors.As(err, &damage) {
			err = settleDamage(damage, o.AcceptDamage, o.Warn)
		}
		all = errors.Join(all, err)
	}
	return all
}
