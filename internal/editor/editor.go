// Package editor shows an account to those who write scripts for it: what package ide asks about
// databases, tables, files and published programs is looked up once for each request, and bounded. Where
// an account is, in a folder or in the service, is its callers' business.
package editor

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/lang/ide"
	"ql/lang/value"
)

// The most that is looked at of an account.
const (
	MaxDatabases = 100
	MaxTables    = 500
	MaxPrograms  = 200
	// maxListed bounds the entries of a folder of which a path may begin otherwise than what is looked for.
	maxListed = 10_000
)

// mainDatabase is the database of scripts that name none, which package ide calls "".
const mainDatabase = "main"

// Source is where an account is. What is nil it has not.
type Source struct {
	// Databases returns the names of its databases, up to MaxDatabases.
	Databases func(ctx context.Context) ([]string, error)
	// Tables returns the tables and views of a database, up to MaxTables.
	Tables func(ctx context.Context, database string) ([]ide.Table, error)
	// Files lists a folder behind a name, as engine.Files does.
	Files func(ctx context.Context, folder, after string) iter.Seq2[engine.FileInfo, error]
	// Programs returns its published programs, up to MaxPrograms.
	Programs func(ctx context.Context) ([]ide.Program, error)
	// Include returns the text of a file that a script includes, of at most so many bytes.
	Include func(ctx context.Context, path string, most int) (string, error)
	// MaxIncluded bounds all that a script includes together.
	MaxIncluded int
}

// Account is an account as it is for one request. It implements ide.Account.
type Account struct {
	ctx    context.Context
	source Source
	tables map[string][]ide.Table
	texts  map[string]included
	bytes  int // of all texts
	err    error
}

// included is what became of a file that a script includes.
type included struct {
	text string
	err  error
}

// New returns an account for a request that lasts as long as ctx.
func New(ctx context.Context, s Source) *Account {
	return &Account{ctx: ctx, source: s, tables: map[string][]ide.Table{}, texts: map[string]included{}}
}

// Err returns why something could not be looked up. That it is not there is no such reason.
func (a *Account) Err() error { return a.err }

// note remembers an error, unless it is one that a script would see: of what is gone, or of a database
// that cannot be read.
func (a *Account) note(err error) {
	var known *value.Error
	if err == nil || a.err != nil || errors.As(err, &known) || fault.Is(err, fault.NotFound) {
		return
	}
	a.err = err
}

// Databases implements ide.Account.
func (a *Account) Databases() []string {
	if a.source.Databases == nil {
		return nil
	}
	names, err := a.source.Databases(a.ctx)
	a.note(err)
	return names
}

// Tables implements ide.Account.
func (a *Account) Tables(database string) []ide.Table {
	if a.source.Tables == nil {
		return nil
	}
	if database == "" {
		database = mainDatabase
	}
	if known, ok := a.tables[database]; ok {
		return known
	}
	tables, err := a.source.Tables(a.ctx, database)
	a.note(err)
	a.tables[database] = tables
	return tables
}

// Files implements ide.Account: paths that begin with a text, those of folders with a slash at the end.
func (a *Account) Files(prefix string, most int) []string {
	if a.source.Files == nil || !strings.HasPrefix(prefix, "/") {
		return nil
	}
	folder := prefix[:strings.LastIndexByte(prefix, '/')]
	var paths []string
	seen := 0
	for file, err := range a.source.Files(a.ctx, cmp.Or(folder, "/"), "") {
		if seen++; err != nil || seen > maxListed || len(paths) >= most {
			a.note(err)
			break
		}
		path := folder + "/" + file.Name
		if file.Folder {
			path += "/"
		}
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Programs implements ide.Account.
func (a *Account) Programs() []ide.Program {
	if a.source.Programs == nil {
		return nil
	}
	programs, err := a.source.Programs(a.ctx)
	a.note(err)
	return programs
}

// Include implements ide.Account. A file is read once, and not at all where the script includes too much
// by then.
func (a *Account) Include(path string) (string, error) {
	if a.source.Include == nil {
		return "", errors.New("there are no files to INCLUDE from here")
	}
	if known, ok := a.texts[path]; ok {
		return known.text, known.err
	}
	var i included
	if i.text, i.err = a.source.Include(a.ctx, path, a.source.MaxIncluded-a.bytes); i.err != nil {
		i.text = ""
	}
	a.bytes += len(i.text)
	a.texts[path] = i
	return i.text, i.err
}
