package backup_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
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

// served returns a service that has a file, a database and a secret, and has
// stopped.
func served(t *testing.T) *apptest.Service {
	t.Helper()
	s := apptest.Boot(t)
	output(t, s.URL(), `CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); WRITE "small" TO "/small.txt" WRITE REPEAT("y", 100000) TO "/large.txt"`)
	s.Operate(func(o *operator.Operator) error {
		return o.Accounts.SetSecret(t.Context(), "user_test", "TOKEN", "s3cret")
	})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func makeBackup(t *testing.T, s *apptest.Service, name string, withKey bool) string {
	t.Helper()
	dest := filepath.Join(t.TempDir(), name)
	s.Operate(func(o *operator.Operator) error {
		_, err := o.Backup(t.Context(), dest, "test", withKey)
		return err
	})
	return dest
}

// checkWorks starts a service on a restored folder.
func checkWorks(t *testing.T, s *apptest.Service, data, key string) {
	t.Helper()
	again := s.Settings
	again.Data, again.MasterKeyFile = data, key
	r := apptest.Start(t, again)
	got := output(t, r.URL(), `SELECT a FROM t SET VALUE ?a READ "/small.txt" SET ?s READ "/large.txt" SET ?l EMIT ?a, ?s, LENGTH(?l), !SECRET("TOKEN")`)
	if got != "1small100000s3cret" {
		t.Errorf("the restored service has %q", got)
	}
}

func TestMasterKey(t *testing.T) {
	s := served(t)
	key := filepath.Join(s.Settings.Data, "master.key")
	other := filepath.Join(t.TempDir(), "other.key")
	if err := os.WriteFile(other, []byte("qlmaster_"+strings.Repeat("A", 43)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "one.tar.gz", "one.tgz"} {
		t.Run(name, func(t *testing.T) {
			without, with := makeBackup(t, s, name, false), makeBackup(t, s, "with-"+name, true)
			tests := map[string]struct {
				src, key string // the file that is named
				own      string // what is in the folder already
				want     string // of the error; "" where it works
			}{
				"left out":           {src: without, want: "the master key is not in this backup"},
				"named":              {src: without, key: key},
				"there already":      {src: without, own: key},
				"in the backup":      {src: with},
				"a wrong one named":  {src: with, key: other, want: "is not the one that this store is sealed under"},
				"a wrong one there":  {src: without, own: other, want: "is not the one that this store is sealed under"},
				"a missing one":      {src: with, key: filepath.Join(t.TempDir(), "none.key"), want: "there is no such master key file"},
				"both, and the same": {src: with, own: key},
			}
			for what, test := range tests {
				t.Run(what, func(t *testing.T) {
					data := filepath.Join(t.TempDir(), "data")
					if test.own != "" {
						copyFile(t, test.own, filepath.Join(data, "master.key"))
					}
					_, err := backup.Restore(t.Context(), test.src, data, test.key)
					if test.want == "" {
						if err != nil {
							t.Fatal(err)
						}
						checkWorks(t, s, data, test.key)
						return
					}
					if err == nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("the error is %v, want %q", err, test.want)
					}
					if strings.Count(err.Error(), "sealed under") > 1 {
						t.Errorf("it is said twice: %v", err)
					}
					checkUntouched(t, data, test.own != "")
				})
			}
		})
	}
	if info, err := os.Stat(makeBackup(t, s, "one.tgz", false)); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a .tgz is %v, %v", info.Mode(), err)
	}
	info, err := os.Stat(filepath.Join(makeBackup(t, s, "folder", true), "master.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key in the backup is %v, %v", info, err)
	}
}

// checkUntouched checks that a refused restore left nothing behind: of a folder
// that was there for its key's sake, nothing but that.
func checkUntouched(t *testing.T, data string, key bool) {
	t.Helper()
	entries, err := os.ReadDir(data)
	if !key {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder with %v is left, %v", entries, err)
		}
		return
	}
	if err != nil || len(entries) != 1 || entries[0].Name() != "master.key" {
		t.Errorf("%v is left, %v", entries, err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedBackups(t *testing.T) {
	s := served(t)
	whole := makeBackup(t, s, "backup", true)
	blob := find(t, filepath.Join(whole, "blobs"))
	database := find(t, filepath.Join(whole, "accounts"))
	tests := map[string]struct {
		damage func(t *testing.T, folder string)
		want   string
	}{
		"a changed store":    {change("ql.db"), "ql.db is not what the manifest says"},
		"a changed blob":     {change(blob), "is not what the manifest says"},
		"a changed database": {change(database), "is not what the manifest says"},
		"a changed key":      {change("master.key"), "master key"},
		"no blob":            {remove(blob), "is missing"},
		"no manifest":        {remove("manifest.json"), "no whole backup"},
		"no head":            {remove("backup.json"), "it holds no backup.json"},
		"one file more":      {add("accounts/9/databases/main.db", "x"), "is not in the manifest"},
		"a stranger":         {add("ql.lock", "x"), "is nothing that a backup holds"},
		"another format":     {add("backup.json", `{"format":2}`), "format 2"},
		"another head":       {add("backup.json", `{"format":1,"master_key":true}`), "backup.json is not what the manifest says"},
		"a link": {func(t *testing.T, folder string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(folder, "blobs", "link")); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "backup")
			if err := os.CopyFS(src, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(src, "master.key"), 0o600); err != nil {
				t.Fatal(err)
			}
			test.damage(t, src)
			data := filepath.Join(t.TempDir(), "data")
			if _, err := backup.Restore(t.Context(), src, data, ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			checkUntouched(t, data, false)
		})
	}
}

// find returns a file below a folder, seen from the folder's parent.
func find(t *testing.T, folder string) (found string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			found, err = filepath.Rel(filepath.Dir(folder), path)
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("there is no file in %s: %v", folder, err)
	}
	return found
}

func change(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		path := filepath.Join(folder, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func add(name, content string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostileArchives(t *testing.T) {
	const head = `{"format":1}`
	tests := map[string]struct {
		entries []tar.Header
		want    string
	}{
		"a way out":        {[]tar.Header{{Name: "backup.json"}, {Name: "../out"}}, "nothing that a backup holds"},
		"a way out below":  {[]tar.Header{{Name: "backup.json"}, {Name: "blobs/../../out"}}, "nothing that a backup holds"},
		"an absolute path": {[]tar.Header{{Name: "backup.json"}, {Name: "/tmp/out"}}, "nothing that a backup holds"},
		"a link":           {[]tar.Header{{Name: "backup.json"}, {Name: "blobs/x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}, "no regular file"},
		"a folder":         {[]tar.Header{{Name: "backup.json"}, {Name: "blobs/", Typeflag: tar.TypeDir}}, "no regular file"},
		"twice":            {[]tar.Header{{Name: "backup.json"}, {Name: "blobs/x"}, {Name: "blobs/x"}}, "there twice"},
		"no head first":    {[]tar.Header{{Name: "ql.db"}, {Name: "backup.json"}}, "this is no backup"},
		"no end":           {[]tar.Header{{Name: "backup.json"}}, "no whole backup"},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "x.tar.gz")
			f, err := os.Create(src)
			if err != nil {
				t.Fatal(err)
			}
			z := gzip.NewWriter(f)
			w := tar.NewWriter(z)
			for _, h := range test.entries {
				if h.Typeflag == 0 {
					h.Typeflag, h.Size = tar.TypeReg, int64(len(head))
				}
				err := w.WriteHeader(&h)
				if h.Size > 0 && err == nil {
					_, err = io.WriteString(w, head)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), z.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(t.TempDir(), "data")
			if _, err := backup.Restore(t.Context(), src, data, ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			checkUntouched(t, data, false)
		})
	}
}

func TestCutArchive(t *testing.T) {
	s := served(t)
	whole, err := os.ReadFile(makeBackup(t, s, "one.tar.gz", true))
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{0, 1, 100, len(whole) / 2, len(whole) - 9, len(whole) - 1} {
		src, data := filepath.Join(t.TempDir(), "cut.tar.gz"), filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(src, whole[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := backup.Restore(t.Context(), src, data, "")
		if err == nil {
			t.Fatalf("%d of %d bytes were restored", length, len(whole))
		}
		want := "the backup is damaged: it ends too early"
		if length < 10 { // the first bytes of every such file
			want = "cut.tar.gz is no backup: a folder that ql backup made fits"
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "EOF") {
			t.Errorf("of %d bytes: %v", length, err)
		}
		checkUntouched(t, data, false)
	}
	changed := slices.Clone(whole)
	changed[len(changed)/2] ^= 1
	plain := []byte("some text that is longer than what a compressed file starts with")
	for want, content := range map[string][]byte{"the backup is damaged: it was changed": changed, "is no backup: a folder that ql backup made fits": plain} {
		src, data := filepath.Join(t.TempDir(), "x.tar.gz"), filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(src, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Restore(t.Context(), src, data, ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "gzip") {
			t.Errorf("%v, want %q", err, want)
		}
		checkUntouched(t, data, false)
	}
}

func TestPlaces(t *testing.T) {
	s := served(t)
	whole := makeBackup(t, s, "backup", true)
	if _, err := backup.Restore(t.Context(), whole, s.Settings.Data, ""); err == nil || !strings.Contains(err.Error(), "restored to an empty folder") {
		t.Errorf("over a data folder: %v", err)
	}
	nothing, above := filepath.Join(whole, "missing"), filepath.Join(t.TempDir(), "above")
	if _, err := backup.Restore(t.Context(), nothing, filepath.Join(above, "data"), ""); !errors.Is(err, fs.ErrNotExist) || err.Error() != "there is no backup "+nothing {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := backup.Restore(t.Context(), t.TempDir(), filepath.Join(above, "data"), ""); err == nil {
		t.Error("an empty folder was restored")
	}
	if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folders that a refused restore made are left: %v", err)
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), whole, open, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the restored folder is %v, %v", info.Mode(), err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "there.tar.gz")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Operate(func(o *operator.Operator) error {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(s.Settings.Data, link); err != nil {
			return err
		}
		for dest, want := range map[string]string{
			whole: "is not empty", file: "is there already", folder: "is not empty",
			filepath.Join(folder, "x.zip"):               "a name that ends in .tar.gz or .tgz fits, or the name of a folder",
			filepath.Join(folder, "x.TAR"):               "no archive of this kind",
			filepath.Join(s.Settings.Data, "a", "b.tgz"): "is in the data folder",
			s.Settings.Data:                              "is in the data folder",
			filepath.Join(link, "b"):                     "is in the data folder",
		} {
			if _, err := o.Backup(t.Context(), dest, "test", false); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("over %s: %v", dest, err)
			}
		}
		if _, err := o.Backup(ended, filepath.Join(folder, "ended"), "test", false); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		empty := filepath.Join(folder, "empty")
		if err := os.Mkdir(empty, 0o700); err != nil {
			return err
		}
		_, err := o.Backup(t.Context(), empty, "test", false)
		return err
	})
	if left, err := filepath.Glob(filepath.Join(folder, ".ql-backup-*")); len(left) != 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}
