package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ql/internal/engine"
	"ql/internal/resource/databases"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
)

// hiddenFolder is where an account's folder keeps what scripts reach only by
// their statements: databases and sessions.
const hiddenFolder = ".ql"

// localAccount is the one account of a folder, as sessions name it.
const localAccount = "local"

// account is an account's folder, opened.
type account struct {
	folder    string
	files     *files.Dir
	databases *databases.Databases
	store     *sessions.Store
	caller    *sessions.Caller
}

// openAccount opens a folder as an account. Nothing is made in it before a
// script needs it.
func openAccount(folder string) (*account, error) {
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return nil, usage("--data: %s", plainError(err))
	case !info.IsDir():
		return nil, usage("--data: %s is not a folder", folder)
	}
	dir, err := files.OpenDir(folder, hiddenFolder)
	if err != nil {
		return nil, usage("--data: %s", plainError(err))
	}
	return &account{
		folder:    folder,
		files:     dir,
		databases: databases.New(databases.Options{Folder: filepath.Join(folder, hiddenFolder, "databases")}),
	}, nil
}

// include returns the reader of the files that scripts INCLUDE.
func (a *account) include(ctx context.Context) func(string) (string, error) {
	return func(path string) (string, error) {
		text, err := a.files.Read(ctx, path, maxScript)
		return string(text), err
	}
}

// sessionFile holds the id of the folder's session, as a browser's cookie
// would.
func (a *account) sessionFile() string { return filepath.Join(a.folder, hiddenFolder, "session") }

// openSessions opens the folder's session.
func (a *account) openSessions(ctx context.Context, clock func() time.Time) (engine.Sessions, error) {
	if err := os.MkdirAll(filepath.Join(a.folder, hiddenFolder), 0o700); err != nil {
		return nil, err
	}
	id, err := os.ReadFile(a.sessionFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	a.store, err = sessions.Open(ctx, filepath.Join(a.folder, hiddenFolder, "sessions.db"), sessions.Options{Clock: clock})
	if err != nil {
		return nil, err
	}
	a.caller = a.store.For(localAccount, strings.TrimSpace(string(id)))
	return a.caller, nil
}

// keepSession remembers the session for the next run in this folder.
func (a *account) keepSession() error {
	if a.caller == nil {
		return nil
	}
	id := a.caller.ID()
	if id == "" {
		err := os.Remove(a.sessionFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.WriteFile(a.sessionFile(), []byte(id+"\n"), 0o600)
}

// close closes what was opened. An error goes to err, unless there is one
// already.
func (a *account) close(err *error) {
	errs := []error{a.databases.Close(), a.files.Close()}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if e := errors.Join(errs...); *err == nil {
		*err = e
	}
}
