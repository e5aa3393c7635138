package databases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeldAfterACrash: what a folder holds whose process was ended is what its
// databases hold when they are opened, however often the journal has a page, and
// though their pages be in the journal alone.
func TestHeldAfterACrash(t *testing.T) {
	t.Parallel()
	insert := func(times int) func(*testing.T, *Databases) {
		return func(t *testing.T, d *Databases) {
			for range times {
				must(t, d, "INSERT INTO t VALUES (zeroblob(9000))")
			}
		}
	}
	sql := func(text string) func(*testing.T, *Databases) {
		return func(t *testing.T, d *Databases) { must(t, d, text) }
	}
	for _, test := range []struct {
		name  string
		steps []func(*testing.T, *Databases)
	}{
		{"just made", nil},
		{"grown", []func(*testing.T, *Databases){insert(60)}},
		{"grown and shrunk", []func(*testing.T, *Databases){insert(60), sql("DELETE FROM t")}},
		{"written again and again", []func(*testing.T, *Databases){insert(1), sql("UPDATE t SET a = zeroblob(8999)"), sql("UPDATE t SET a = zeroblob(9000)")}},
		{"its journal filled more than once", []func(*testing.T, *Databases){insert(700), sql("DELETE FROM t WHERE rowid > 100"), insert(3)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := open(t, Options{})
			must(t, d, "CREATE TABLE t(a)")
			for _, step := range test.steps {
				step(t, d)
			}
			crashed := t.TempDir()
			for _, name := range []string{"main" + fileSuffix, "main" + fileSuffix + walSuffix} {
				content, err := os.ReadFile(filepath.Join(d.options.Folder, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(crashed, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			shared := &sharedStorage{}
			after := open(t, Options{Folder: crashed, Storage: shared})
			if err := after.Measure(t.Context()); err != nil {
				t.Fatal(err)
			}
			measured := shared.used()
			want, err := after.Size(t.Context(), "main")
			if err != nil || measured != want {
				t.Errorf("%d bytes were measured of %d, %v", measured, want, err)
			}
		})
	}
}

// TestHeldWithoutAJournal: what is no journal says nothing.
func TestHeldWithoutAJournal(t *testing.T) {
	folder := t.TempDir()
	for i, journal := range []string{"", "short", strings.Repeat("x", walHeader), strings.Repeat("\x00", walHeader+frameHeader)} {
		path := filepath.Join(folder, fmt.Sprintf("d%d%s", i, fileSuffix))
		for name, content := range map[string]string{path: strings.Repeat("page", pageSize/4), path + walSuffix: journal} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sizes, _, err := sizesIn(folder)
	if err != nil || len(sizes) != 4 {
		t.Fatalf("%v, %v", sizes, err)
	}
	for name, size := range sizes {
		if size != pageSize {
			t.Errorf("%s holds %d", name, size)
		}
	}
}
