package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/fault"
)

// TestFileForFolder: who names a file is told so, without the system call.
func TestFileForFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, filepath.Join(file, "below")} {
		want := "the data folder " + folder + " cannot be made: " + file + " is a file, and no folder: name another by --data"
		if _, _, err := MakeFolder(folder); err == nil || err.Error() != want {
			t.Errorf("MakeFolder: %v, want %s", err, want)
		}
		if _, err := Open(t.Context(), Options{Folder: folder}); err == nil || err.Error() != want {
			t.Errorf("Open: %v, want %s", err, want)
		}
	}
}

func TestMakeFolder(t *testing.T) {
	for name, test := range map[string]struct {
		mode  os.FileMode // 0 where it is not there
		files []string
		want  string // of the error
	}{
		"missing":          {},
		"closed":           {mode: 0o700, files: []string{"letters.txt"}},
		"open and empty":   {mode: 0o755},
		"open to a group":  {mode: 0o770, files: []string{"ql.db", "ql.toml"}},
		"with a key":       {mode: 0o755, files: []string{"master.key", "lost+found"}},
		"of somebody else": {mode: 0o755, files: []string{"letters.txt", "master.key"}, want: "is open to others (mode 0755) and holds other things: make it 0700"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "above", "data")
			if test.mode != 0 {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, f := range test.files {
					if err := os.WriteFile(filepath.Join(folder, f), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Chmod(folder, test.mode); err != nil {
					t.Fatal(err)
				}
			}
			was, stays, err := MakeFolder(folder)
			after, statErr := os.Stat(folder)
			if statErr != nil {
				t.Fatal(statErr)
			}
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || after.Mode().Perm() != test.mode {
					t.Errorf("%v, and its mode is %v", err, after.Mode())
				}
				return
			}
			wantWas := test.mode
			if wantWas == 0o700 {
				wantWas = 0
			}
			if err != nil || stays || was != wantWas || after.Mode().Perm() != 0o700 {
				t.Errorf("it was %v, %v, and its mode is %v", was, err, after.Mode())
			}
		})
	}
}

// TestStoreMissing: a new store never takes over what the accounts of another own.
func TestStoreMissing(t *testing.T) {
	for name, test := range map[string]struct {
		files   []string
		folders []string
		want    string // of the error
	}{
		"nothing else":        {},
		"a key":               {files: []string{"master.key"}},
		"folders alone":       {folders: []string{"blobs/00", "accounts/1/databases"}},
		"a database":          {files: []string{"accounts/1/databases/main.db"}, want: "holds databases of accounts, in accounts, and the store that says whose they are is missing: put ql.db back, or restore a backup"},
		"a file":              {files: []string{"blobs/00/11"}, want: "holds files of accounts, in blobs, and the store"},
		"an empty store":      {files: []string{"ql.db", "accounts/1/databases/main.db"}, want: "holds databases of accounts"},
		"an empty store only": {files: []string{"ql.db"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, f := range append(test.folders, test.files...) {
				if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(f)), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range test.files {
				if err := os.WriteFile(filepath.Join(folder, f), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, own := range []bool{true, false, true} {
				store, err := Open(t.Context(), Options{Folder: folder, Own: own})
				if err == nil {
					err = store.Close()
				}
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("Open: %v", err)
				}
			}
			_, err := os.Stat(filepath.Join(folder, FileName))
			if made := err == nil; made != (test.want == "" || name == "an empty store") {
				t.Errorf("there is a store: %t", made)
			}
		})
	}
}

// TestDamaged: whoever reads the cause learns which file is damaged, and its callers
// do not.
func TestDamaged(t *testing.T) {
	for name, own := range map[string]bool{"by a server": true, "by a command": false} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, FileName)
			if err := os.WriteFile(path, []byte(strings.Repeat("no store", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), Options{Folder: folder, Own: own})
			coded := fault.Of(err)
			if coded.Code != fault.StorageUnavailable || coded.Message != "the storage cannot be used at the moment" {
				t.Errorf("callers are told %s: %s", coded.Code, coded.Message)
			}
			if want := "the store " + path + " is damaged (file is not a database): restore it from a backup"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the log says %v, want %s", err, want)
			}
		})
	}
}
