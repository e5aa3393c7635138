package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ql/internal/editor"
	"ql/internal/lsp"
	"ql/internal/resource/databases"
	"ql/lang/ide"
)

// lspCommand is ql lsp.
type lspCommand struct {
	Data  string `env:"QL_FOLDER" placeholder:"DIR" help:"The account's folder, whose tables and files are offered (the one that is open in the editor)."`
	Stdio bool   `hidden:"" help:"Said by editors, and all that is spoken."`
}

// Run implements the command.
func (k *lspCommand) Run(c *console) (err error) {
	var opened *folder
	defer func() {
		if opened != nil {
			opened.close(&err)
		}
	}()
	version, _ := buildVersion()
	err = lsp.Serve(c.ctx, lsp.Options{
		In: c.in, Out: c.out, Version: version,
		Open: func(root string) (w lsp.Workspace, err error) {
			if opened, err = openFolder(cmp.Or(k.Data, root, ".")); err != nil {
				return w, err
			}
			w.Source = (&workspace{folder: opened}).source()
			w.Folder, err = filepath.Abs(opened.path)
			return w, err
		},
	})
	if errors.Is(err, lsp.ErrNoShutdown) {
		return &failure{exitFailed, err.Error()}
	}
	return err
}

// workspace is an account's folder as an editor sees it. What was read of a database is kept until its
// files change: it is asked for with each letter.
type workspace struct {
	folder  *folder
	schemas map[string]schema
}

type schema struct {
	as     stamp
	tables []ide.Table
}

// stamp tells one state of a database's files from another.
type stamp [2]struct {
	written time.Time
	bytes   int64
}

func (w *workspace) source() editor.Source {
	w.schemas = map[string]schema{}
	return editor.Source{
		Databases: w.databases, Tables: w.tables, Files: w.folder.files.List,
		MaxIncluded: maxScript,
		Include: func(ctx context.Context, path string, most int) (string, error) {
			text, err := w.folder.files.Read(ctx, path, most)
			return string(text), err
		},
	}
}

func (w *workspace) databases(ctx context.Context) (names []string, err error) {
	found, err := w.folder.databases.ListPage(ctx, "", editor.MaxDatabases)
	for _, d := range found {
		names = append(names, d.Name)
	}
	return names, err
}

func (w *workspace) tables(ctx context.Context, database string) ([]ide.Table, error) {
	now, err := w.stampOf(database)
	if err != nil {
		return nil, err
	}
	if kept, ok := w.schemas[database]; ok && kept.as == now {
		return kept.tables, nil
	}
	found, _, err := w.folder.databases.Schema(ctx, database, databases.TablePage{Limit: editor.MaxTables})
	if err != nil {
		return nil, err
	}
	tables := make([]ide.Table, len(found))
	for i := range found {
		tables[i].Name = found[i].Name
		for _, column := range found[i].Columns {
			tables[i].Columns = append(tables[i].Columns, ide.Column{Name: column.Name, Type: column.Type})
		}
	}
	w.schemas[database] = schema{now, tables}
	return tables, nil
}

// stampOf returns the state of a database's files: of its pages, and of what was written since.
func (w *workspace) stampOf(database string) (s stamp, err error) {
	path := filepath.Join(w.folder.path, hiddenFolder, "databases", database+".db")
	for i, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case err == nil:
			s[i].written, s[i].bytes = info.ModTime(), info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return s, err
		}
	}
	return s, nil
}
