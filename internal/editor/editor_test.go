package editor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"ql/internal/editor"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/lang/ide"
	"ql/lang/value"
)

var _ ide.Account = (*editor.Account)(nil)

var errDisk = errors.New("the disk is gone")

// An account of which nothing is known has nothing, and that is no failure.
func TestNothing(t *testing.T) {
	a := editor.New(t.Context(), editor.Source{})
	if a.Databases() != nil || a.Tables("") != nil || a.Files("/", 9) != nil || a.Programs() != nil {
		t.Error("it has something")
	}
	if _, err := a.Include("/a.ql"); err == nil {
		t.Error("it includes a file")
	}
	if a.Err() != nil {
		t.Error(a.Err())
	}
}

// The database of scripts that name none is "" to package ide, and main to the account. Tables
// are looked up once for each database, whether that works or not.
func TestTables(t *testing.T) {
	asked := map[string]int{}
	a := editor.New(t.Context(), editor.Source{
		Databases: func(context.Context) ([]string, error) { return []string{"archive", "main", "shop"}, nil },
		Tables: func(_ context.Context, database string) ([]ide.Table, error) {
			if asked[database]++; database == "gone" {
				return nil, fault.New(fault.NotFound, "there is no database %s", database)
			}
			return []ide.Table{{Name: "of_" + database}}, nil
		},
	})
	if got := a.Databases(); !slices.Equal(got, []string{"archive", "main", "shop"}) {
		t.Errorf("%q", got)
	}
	for range 3 {
		for name, want := range map[string]string{"": "of_main", "main": "of_main", "shop": "of_shop"} {
			if got := a.Tables(name); len(got) != 1 || got[0].Name != want {
				t.Errorf("the tables of %q are %v", name, got)
			}
		}
		if got := a.Tables("gone"); got != nil {
			t.Errorf("the tables of one that is gone are %v", got)
		}
	}
	if asked["main"] != 1 || asked["shop"] != 1 || asked["gone"] != 1 {
		t.Errorf("they were looked up %v times", asked)
	}
	if a.Err() != nil {
		t.Errorf("what is not there is no failure: %v", a.Err())
	}
}

// folderOf lists names, those of folders with a slash at the end, and then an error if there is one.
func folderOf(listed *[]string, err error, names ...string) func(context.Context, string, string) iter.Seq2[engine.FileInfo, error] {
	return func(_ context.Context, folder, after string) iter.Seq2[engine.FileInfo, error] {
		*listed = append(*listed, folder+after)
		return func(yield func(engine.FileInfo, error) bool) {
			for _, n := range names {
				name, isFolder := strings.CutSuffix(n, "/")
				if !yield(engine.FileInfo{Name: name, Folder: isFolder}, nil) {
					return
				}
			}
			if err != nil {
				yield(engine.FileInfo{}, err)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	for _, test := range []struct {
		prefix string
		most   int
		folder string // that is listed
		want   []string
	}{
		{"/", 9, "/", []string{"/a.csv", "/b/", "/bc.csv"}},
		{"/b", 9, "/", []string{"/b/", "/bc.csv"}},
		{"/b", 1, "/", []string{"/b/"}},
		{"/b/", 9, "/b", []string{"/b/a.csv", "/b/b/", "/b/bc.csv"}},
		{"/x/y/bc", 9, "/x/y", []string{"/x/y/bc.csv"}},
		{"/z", 9, "/", nil},
		{"b", 9, "", nil},
		{"", 9, "", nil},
	} {
		var listed []string
		a := editor.New(t.Context(), editor.Source{Files: folderOf(&listed, nil, "a.csv", "b/", "bc.csv")})
		if got := a.Files(test.prefix, test.most); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.prefix, got, test.want)
		}
		if strings.Join(listed, " ") != test.folder {
			t.Errorf("%q: listed %q, want %q", test.prefix, listed, test.folder)
		}
	}
}

// Of a folder with very many files some are looked at, and no more.
func TestFilesOfLargeFolder(t *testing.T) {
	const most = 10_000
	looked := 0
	a := editor.New(t.Context(), editor.Source{Files: func(context.Context, string, string) iter.Seq2[engine.FileInfo, error] {
		return func(yield func(engine.FileInfo, error) bool) {
			for looked = 1; yield(engine.FileInfo{Name: fmt.Sprint(looked)}, nil); looked++ {
			}
		}
	}})
	if got := a.Files("/x", 9); got != nil || looked != most+1 {
		t.Errorf("%q after %d files", got, looked)
	}
	if got := a.Files("/9999", 9); !slices.Equal(got, []string{"/9999"}) {
		t.Errorf("%q", got)
	}
	if a.Err() != nil {
		t.Error(a.Err())
	}
}

// Files are read once, and all together no more than there may be.
func TestInclude(t *testing.T) {
	texts := map[string]string{"/a.ql": "STOP", "/b.ql": "EMIT 1", "/c.ql": "EMIT 22"}
	var asked []string
	a := editor.New(t.Context(), editor.Source{MaxIncluded: 12, Include: func(_ context.Context, path string, most int) (string, error) {
		asked = append(asked, fmt.Sprint(path, " ", most))
		text, ok := texts[path]
		switch {
		case !ok:
			return "", fault.New(fault.NotFound, "there is no %s", path)
		case len(text) > most:
			return text, fault.New(fault.TooLarge, "%s is too large", path)
		}
		return text, nil
	}})
	for range 2 {
		for _, path := range []string{"/a.ql", "/none.ql", "/b.ql", "/c.ql"} {
			text, err := a.Include(path)
			switch path {
			case "/a.ql", "/b.ql":
				if text != texts[path] || err != nil {
					t.Errorf("%s: %q, %v", path, text, err)
				}
			case "/none.ql":
				if text != "" || !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: %q, %v", path, text, err)
				}
			case "/c.ql":
				if text != "" || !fault.Is(err, fault.TooLarge) {
					t.Errorf("%s: %q, %v", path, text, err)
				}
			}
		}
	}
	if want := []string{"/a.ql 12", "/none.ql 8", "/b.ql 8", "/c.ql 2"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// The first failure to look something up is told; what a script would be told of is none.
func TestErr(t *testing.T) {
	fail := func(err error) *editor.Account {
		var listed []string
		return editor.New(t.Context(), editor.Source{
			Databases: func(context.Context) ([]string, error) { return []string{"main"}, err },
			Tables:    func(context.Context, string) ([]ide.Table, error) { return nil, err },
			Files:     folderOf(&listed, err, "a.csv"),
			Programs:  func(context.Context) ([]ide.Program, error) { return []ide.Program{{Name: "p"}}, err },
		})
	}
	looks := map[string]func(*editor.Account){
		"databases": func(a *editor.Account) { a.Databases() },
		"tables":    func(a *editor.Account) { a.Tables("") },
		"files":     func(a *editor.Account) { a.Files("/", 9) },
		"programs":  func(a *editor.Account) { a.Programs() },
	}
	for what, look := range looks {
		a := fail(fmt.Errorf("reading: %w", errDisk))
		if look(a); !errors.Is(a.Err(), errDisk) {
			t.Errorf("%s: %v", what, a.Err())
		}
		for _, known := range []error{&value.Error{Message: "no such table"}, fault.New(fault.NotFound, "it is gone")} {
			a := fail(fmt.Errorf("reading: %w", known))
			if look(a); a.Err() != nil {
				t.Errorf("%s: %v is a failure", what, a.Err())
			}
		}
	}
	// What was found before the failure is there.
	a := fail(errDisk)
	if got := a.Files("/", 9); !slices.Equal(got, []string{"/a.csv"}) {
		t.Errorf("files: %q", got)
	}
	if got := a.Databases(); !slices.Equal(got, []string{"main"}) {
		t.Errorf("databases: %q", got)
	}
	if got := a.Programs(); len(got) != 1 {
		t.Errorf("programs: %v", got)
	}
}

// Whoever asks goes away: what is looked up sees it.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := editor.New(ctx, editor.Source{Databases: func(ctx context.Context) ([]string, error) { return nil, ctx.Err() }})
	cancel()
	if a.Databases(); !errors.Is(a.Err(), context.Canceled) {
		t.Errorf("%v", a.Err())
	}
}
