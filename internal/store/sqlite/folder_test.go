package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
