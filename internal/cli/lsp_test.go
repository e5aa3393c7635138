package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/editor"
	"ql/lang/ide"
)

// conversation is what an editor sends.
func conversation(messages ...string) *strings.Reader {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	return strings.NewReader(b.String())
}

// runScript runs a script on the bench's folder.
func runScript(t *testing.T, b *bench, text string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script.ql")
	must(t, os.WriteFile(script, []byte(text), 0o600))
	if code := b.main([]string{"run", script, "--data", b.folder}); code != exitOK {
		t.Fatalf("run: %d %s", code, b.err.String())
	}
}

// TestLSP asks for columns of a table that a script has made, in the folder that the editor has open.
func TestLSP(t *testing.T) {
	const shutdown, exit = `{"jsonrpc":"2.0","id":9,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`
	setup := newBench(t, strings.NewReader(""))
	runScript(t, setup, "CREATE TABLE people (name TEXT, born INTEGER);")
	begin := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"file://%s"}}`, setup.folder)
	b := newBench(t, conversation(begin,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.ql","version":1,"text":"SELECT  FROM people SET ?rows"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"textDocument/completion","params":{"textDocument":{"uri":"file:///a.ql"},"position":{"line":0,"character":7}}}`,
		shutdown, exit))
	if code := b.main([]string{"lsp", "--stdio"}); code != exitOK || !strings.Contains(b.out.String(), `"label":"born"`) || b.err.Len() > 0 {
		t.Errorf("lsp: %d %s\n%s", code, b.err.String(), b.out.String())
	}
	b = newBench(t, conversation(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
	if code := b.main([]string{"lsp", "--data", filepath.Join(b.folder, "nowhere")}); code != exitFailed || !strings.Contains(b.out.String(), "no such file") || !strings.Contains(b.err.String(), "shutdown") {
		t.Errorf("lsp without a folder: %d %s\n%s", code, b.err.String(), b.out.String())
	}
}

// TestWorkspace follows a database while scripts change it, and reads it once for each change.
func TestWorkspace(t *testing.T) {
	b := newBench(t, strings.NewReader(""))
	runScript(t, b, "CREATE TABLE people (name TEXT);")
	must(t, os.MkdirAll(filepath.Join(b.folder, "lib"), 0o700))
	must(t, os.WriteFile(filepath.Join(b.folder, "lib", "tax.ql"), []byte("DEFINE tax(?n) RETURN ?n END"), 0o600))
	opened, err := openFolder(b.folder)
	must(t, err)
	defer func() {
		var err error
		opened.close(&err)
		must(t, err)
	}()
	w := &workspace{folder: opened}
	source := w.source()
	columns := func() (names []string) {
		for _, table := range editor.New(t.Context(), source).Tables("") {
			for _, c := range table.Columns {
				names = append(names, table.Name+"."+c.Name)
			}
		}
		return names
	}
	if got := columns(); !slices.Equal(got, []string{"people.name"}) {
		t.Errorf("the columns are %q", got)
	}
	runScript(t, b, "ALTER TABLE people ADD COLUMN born INTEGER;")
	if got := columns(); !slices.Equal(got, []string{"people.name", "people.born"}) {
		t.Errorf("after a change the columns are %q", got)
	}
	columns() // what reading did to the files is known by now
	w.schemas["main"].tables[0] = ide.Table{Name: "kept", Columns: []ide.Column{{Name: "x"}}}
	if got := columns(); !slices.Equal(got, []string{"kept.x"}) {
		t.Errorf("without a change the database is read again: %q", got)
	}
	a := editor.New(t.Context(), source)
	if got := a.Databases(); !slices.Equal(got, []string{"main"}) {
		t.Errorf("the databases are %q", got)
	}
	if got := a.Files("/lib/t", 10); !slices.Equal(got, []string{"/lib/tax.ql"}) {
		t.Errorf("the files are %q", got)
	}
	if text, err := a.Include("/lib/tax.ql"); err != nil || !strings.HasPrefix(text, "DEFINE") {
		t.Errorf("the include is %q, %v", text, err)
	}
	if got := a.Tables("nowhere"); len(got) != 0 || a.Err() != nil {
		t.Errorf("a database that is not there has %q, %v", got, a.Err())
	}
}
