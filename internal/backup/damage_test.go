package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/apptest"
	"ql/internal/backup"
	"ql/internal/operator"
)

// only returns the one file that a pattern below the data folder matches.
func only(t *testing.T, s *apptest.Service, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Settings.Data, filepath.FromSlash(pattern)))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %v, %v", pattern, found, err)
	}
	return found[0]
}

// spoil changes the content of a file.
func spoil(t *testing.T, path string, to func([]byte)) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		to(content)
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestIncomplete: a data folder in which something is missing or damaged gives no
// backup but by a word of its own, which names all of it; such a backup is restored by
// a word of its own.
func TestIncomplete(t *testing.T) {
	zero := func(from, to int) func([]byte) {
		return func(b []byte) { clear(b[from:min(to, len(b))]) }
	}
	const blob, database = "blobs/*/*", "accounts/*/databases/main.db"
	for name, test := range map[string]struct {
		harm  func(t *testing.T, s *apptest.Service)
		wants []string // in the names of the problems
		left  string   // what the restored service says
	}{
		"a blob that is missing": {
			func(t *testing.T, s *apptest.Service) { mustRemove(t, only(t, s, blob)) },
			[]string{"blobs/"}, "1small",
		},
		"a damaged blob": {
			func(t *testing.T, s *apptest.Service) { spoil(t, only(t, s, blob), zero(100, 200)) },
			[]string{"blobs/"}, "1small",
		},
		"all blobs": {
			func(t *testing.T, s *apptest.Service) { mustRemove(t, filepath.Join(s.Settings.Data, "blobs")) },
			[]string{"blobs/"}, "1small",
		},
		"zeroed pages of a database": {
			func(t *testing.T, s *apptest.Service) { spoil(t, only(t, s, database), zero(4096, 1<<30)) },
			[]string{"main.db"}, "",
		},
		"a database that is none": {
			func(t *testing.T, s *apptest.Service) { spoil(t, only(t, s, database), zero(0, 4096)) },
			[]string{"main.db"}, "",
		},
		"a database that is missing, and a blob": {
			func(t *testing.T, s *apptest.Service) {
				mustRemove(t, filepath.Join(s.Settings.Data, "accounts"))
				mustRemove(t, only(t, s, blob))
			},
			[]string{"main.db", "blobs/"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := served(t)
			test.harm(t, s)
			folder := t.TempDir()
			refused, made := filepath.Join(folder, "refused"), filepath.Join(folder, "made.tar.gz")
			var incomplete *backup.Incomplete
			check := func(err error, made bool) {
				t.Helper()
				if !errors.As(err, &incomplete) || incomplete.Made != made || len(incomplete.Problems) != len(test.wants) {
					t.Fatalf("the error is %v", err)
				}
				for _, want := range test.wants {
					if !slices.ContainsFunc(incomplete.Problems, func(p backup.Problem) bool { return strings.Contains(p.Name, want) }) || !strings.Contains(err.Error(), want) {
						t.Errorf("the error is %v, and should name %s", err, want)
					}
				}
			}
			s.Operate(func(o *operator.Operator) error {
				_, err := o.Backup(t.Context(), refused, "test", true)
				check(err, false)
				_, err = o.BackupPartial(t.Context(), made, "test", true)
				check(err, true)
				return nil
			})
			if _, err := os.Lstat(refused); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a refused backup left something: %v", err)
			}
			data := filepath.Join(t.TempDir(), "data")
			if _, err := backup.Restore(t.Context(), made, data, ""); !errors.As(err, &incomplete) || !strings.Contains(err.Error(), "--accept-damage") {
				t.Errorf("restoring it gives %v", err)
			}
			checkUntouched(t, data, false)
			_, problems, err := backup.RestoreIncomplete(t.Context(), made, data, "")
			if err != nil || len(problems) != len(test.wants) {
				t.Fatalf("restoring it by a word: %v, %v", problems, err)
			}
			if test.left == "" {
				return
			}
			again := s.Settings
			again.Data = data
			r := apptest.Start(t, again)
			if got := output(t, r.URL(), `SELECT a FROM t SET VALUE ?a READ "/small.txt" SET ?s EMIT ?a, ?s`); got != test.left {
				t.Errorf("the restored service has %q", got)
			}
		})
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
