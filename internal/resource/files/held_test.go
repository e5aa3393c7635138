package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ql/lang/value"
)

// TestHeldFileThatChanges does not take a real file for what it was once it has changed.
func TestHeldFileThatChanges(t *testing.T) {
	folder := t.TempDir()
	d, err := OpenDir(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	changed := func(err error) bool {
		var known *value.Error
		return errors.As(err, &known) && known.Code == fileChanged
	}
	if err := d.Write(t.Context(), "/a b.txt", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	held, err := d.Hold(t.Context(), "/a b.txt")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "a b.txt")
	if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Held(t.Context(), held.Ref()); !changed(err) {
		t.Errorf("with another time: %v", err)
	}
	if err := os.Truncate(name, 5); err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(held); !changed(err) {
		t.Errorf("cut off: %q, %v", content, err)
	}
	if err := errors.Join(held.Close(), os.Remove(name)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Held(t.Context(), held.Ref()); !changed(err) {
		t.Errorf("removed: %v", err)
	}
}

// FuzzHeld opens content by references that anybody may have written.
func FuzzHeld(f *testing.F) {
	f.Add([]byte("\x02/a\x00\x05hello"))
	f.Add([]byte("\x02/a\x01"))
	f.Add([]byte("5 1 /a"))
	f.Fuzz(func(t *testing.T, ref []byte) {
		c, err := (&Tree{trees: NewTrees(nil, NewBlobs(nil), time.Now)}).Held(t.Context(), ref)
		if err != nil {
			return
		}
		if _, err := c.Seek(0, io.SeekEnd); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}
