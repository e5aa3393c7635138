package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/backup"
	"ql/internal/operator"
	"ql/internal/store/sqlite"
)

// leave makes the folder of a run that was killed, with these files beside its lock.
func leave(t *testing.T, work string, files ...string) (lock *os.File) {
	t.Helper()
	for _, name := range files {
		write(t, filepath.Join(work, name))
	}
	write(t, filepath.Join(work, "lock"))
	lock, err := os.OpenFile(filepath.Join(work, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() }) // only locked
	return lock
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func hold(t *testing.T, lock *os.File) {
	t.Helper()
	if taken, err := sqlite.TryLock(lock); !taken || err != nil {
		t.Fatalf("locked: %t, %v", taken, err)
	}
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// TestBackupAfterKilled: a backup removes what killed ones left, and nothing of one
// that is under way.
func TestBackupAfterKilled(t *testing.T) {
	s := served(t)
	parent := t.TempDir()
	dead, live, unknown := filepath.Join(parent, ".ql-backup-1"), filepath.Join(parent, ".ql-backup-2"), filepath.Join(parent, ".ql-backup-3")
	leave(t, dead, "scratch/ql.db", "backup/blobs/00")
	hold(t, leave(t, live, "scratch/ql.db"))
	write(t, filepath.Join(unknown, "mine.txt"))
	for _, name := range []string{"folder", "archive.tar.gz"} {
		s.Operate(func(o *operator.Operator) error {
			_, err := o.Backup(t.Context(), filepath.Join(parent, name), "test", true)
			return err
		})
	}
	if isThere(dead) || !isThere(live) || !isThere(unknown) {
		t.Errorf("dead: %t, live: %t, unknown: %t", isThere(dead), isThere(live), isThere(unknown))
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 4 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// TestRestoreAfterKilled: a restore goes over what a killed one left of its own, and
// over nothing else.
func TestRestoreAfterKilled(t *testing.T) {
	s := served(t)
	from := makeBackup(t, s, "backup", true)
	for name, test := range map[string]struct {
		files []string // of the folder that was left
		moved []string // beside it
		live  bool
		want  string // of the error
	}{
		"while it copied":          {files: []string{"ql.db"}},
		"while it moved":           {files: []string{"placing", "ql.db"}, moved: []string{"blobs/00/11", "accounts/1/databases/main.db"}},
		"beside other things":      {files: []string{"ql.db"}, moved: []string{"accounts/1/databases/main.db"}, want: "is not empty: there is accounts in it"},
		"after it was through":     {files: []string{"placing"}, moved: []string{"ql.db", "accounts/1/databases/main.db"}, want: "is not empty: there is accounts in it"},
		"while another is at work": {files: []string{"ql.db"}, live: true, want: "is under way, in .restoring-1: where there is none, remove that folder"},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			lock := leave(t, filepath.Join(data, ".restoring-1"), test.files...)
			if test.live {
				hold(t, lock)
			}
			for _, name := range test.moved {
				write(t, filepath.Join(data, name))
			}
			_, err := backup.Restore(t.Context(), from, data, "")
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if isThere(filepath.Join(data, ".restoring-1")) || isThere(filepath.Join(data, "blobs/00/11")) {
					t.Error("what was left is still there")
				}
				checkWorks(t, s, data, "")
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			for _, name := range test.moved {
				if !isThere(filepath.Join(data, name)) {
					t.Errorf("%s is gone", name)
				}
			}
		})
	}
}
