package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestUnwritten: a file that cannot be written is named as the user named it,
// and what was there stays.
func TestUnwritten(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "write", Path: "out/.ql-get-1", Err: errors.New("no space left")}, "out/a.csv cannot be written: no space left"},
		{errors.Join(&os.LinkError{Op: "rename", Old: "out/.ql-get-1", New: "out/a.csv", Err: errors.New("another disk")}), "out/a.csv cannot be written: another disk"},
		{&fs.PathError{Op: "read", Path: "data/blobs/1", Err: errors.New("a bad sector")}, "read data/blobs/1: a bad sector"},
	} {
		if got := cannotWrite("out/a.csv", c.err); got.Error() != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.csv", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("a damaged blob")
	if err := writeWhole("a.csv", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := writeWhole("none/a.csv", strings.NewReader("")); err == nil || !strings.HasPrefix(err.Error(), "none/a.csv cannot be written: there is no folder none") {
		t.Errorf("got %v", err)
	}
	if err := writeWhole(".", strings.NewReader("")); err == nil || !strings.HasPrefix(err.Error(), ". is a folder") {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if text, err := os.ReadFile("a.csv"); string(text) != "old" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
