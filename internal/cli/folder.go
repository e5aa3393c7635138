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
const localAccount = 1

// folder is an account's folder, opened.
type folder struct {
	path      string
	files     *files.Dir
	databases *databases.Databases
	store     *sessions.Manager
	caller    *sessions.Caller
}

// openFolder opens a folder as an account. Nothing is made in it before a
// script needs it.
func openFolder(path string) (*folder, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, usage("--data: %s", plainError(err))
	case !info.IsDir():
		return nil, usage("--data: %s is not a folder", path)
	}
	dir, err := files.OpenDir(path, hiddenFolder)
	if err != nil {
		return nil, usage("--data: %s", plainError(err))
	}
	return &folder{
		path:      path,
		files:     dir,
		databases: databases.New(databases.Options{Folder: filepath.Join(path, hiddenFolder, "databases")}),
	}, nil
}

// include returns the reader of the files that scripts INCLUDE.
func (f *folder) include(ctx context.Context) func(string) (string, error) {
	return func(path string) (string, error) {
		text, err := f.files.Read(ctx, path, maxScript)
		return string(text), err
	}
}

// sessionFile holds the id of the folder's session, as a browser's cookie
// would.
func (f *folder) sessionFile() string { return filepath.Join(f.path, hiddenFolder, "session") }

// openSessions opens the folder's session.
func (f *folder) openSessions(ctx context.Context, clock func() time.Time) (engine.Sessions, error) {
	if err := os.MkdirAll(filepath.Join(f.path, hiddenFolder), 0o700); err != nil {
		return nil, err
	}
	id, err := os.ReadFile(f.sessionFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.store, err = sessions.Open(ctx, filepath.Join(f.path, hiddenFolder, "sessions.db"), sessions.Options{Clock: clock})
	if err != nil {
		return nil, err
	}
	f.caller = f.store.For(localAccount, strings.TrimSpace(string(id)))
	return f.caller, nil
}

// keepSession remembers the session for the next run in this folder.
func (f *folder) keepSession() error {
	if f.caller == nil {
		return nil
	}
	id := f.caller.ID()
	if id == "" {
		err := os.Remove(f.sessionFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.WriteFile(f.sessionFile(), []byte(id+"\n"), 0o600)
}

// close closes what was opened. An error goes to err, unless there is one
// already.
func (f *folder) close(err *error) {
	errs := []error{f.databases.Close(), f.files.Close()}
	if f.store != nil {
		errs = append(errs, f.store.Close())
	}
	if e := errors.Join(errs...); *err == nil {
		*err = e
	}
}
