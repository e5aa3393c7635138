package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ql/internal/engine"
	"ql/lang/value"
)

// open returns a tree in a scratch folder, and the folder.
func open(t *testing.T) (*Dir, string) {
	t.Helper()
	folder := t.TempDir()
	d, err := OpenDir(folder, ".ql")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, folder
}

// code returns the code of an error for the script, "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *value.Error
	if !errors.As(err, &e) {
		t.Errorf("an error that is none of the script's: %v", err)
		return "internal"
	}
	return e.Code
}

func write(t *testing.T, d *Dir, path, content string) {
	t.Helper()
	if err := d.Write(t.Context(), path, []byte(content)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func read(t *testing.T, d *Dir, path string) string {
	t.Helper()
	content, err := d.Read(t.Context(), path, 1<<20)
	if err != nil {
		return "error " + code(t, err)
	}
	return string(content)
}

// tree lists all files below a folder of the system.
func tree(t *testing.T, folder string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && path != folder {
			name, _ := filepath.Rel(folder, path)
			if e.IsDir() {
				name += "/"
			}
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestTheFolder looks at what changes leave in the real folder: files under
// their names, and nothing else.
func TestTheFolder(t *testing.T) {
	d, folder := open(t)
	ctx := t.Context()
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"write", func() error { return d.Write(ctx, "/a/b/c.txt", []byte("one")) }, "a/ a/b/ a/b/c.txt"},
		{"write again", func() error { return d.Write(ctx, "/a/b/c.txt", []byte("two")) }, "a/ a/b/ a/b/c.txt"},
		{"copy", func() error { return d.Copy(ctx, "/a/b/c.txt", "/d.txt") }, "a/ a/b/ a/b/c.txt d.txt"},
		{"move to another case", func() error { return d.Move(ctx, "/d.txt", "/D.txt") }, "D.txt a/ a/b/ a/b/c.txt"},
		{"move a folder", func() error { return d.Move(ctx, "/a/b", "/e") }, "D.txt a/ e/ e/c.txt"},
		{"remove", func() error { return d.Remove(ctx, "/a") }, "D.txt e/ e/c.txt"},
		{"write a name in two parts", func() error { return d.Write(ctx, "/e\u0301", nil) }, "D.txt e/ e/c.txt é"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := tree(t, folder); got != step.want {
			t.Errorf("%s: the folder holds %s, want %s", step.name, got, step.want)
		}
	}
}

func TestWriteKeepsPermissions(t *testing.T) {
	d, folder := open(t)
	script := filepath.Join(folder, "run.sh")
	if err := os.WriteFile(script, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o740); err != nil {
		t.Fatal(err)
	}
	write(t, d, "/run.sh", "y")
	info, err := os.Stat(script)
	if err != nil || info.Mode().Perm() != 0o740 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestListHides: what scripts cannot name is not listed either.
func TestListHides(t *testing.T) {
	d, folder := open(t)
	write(t, d, "/b.txt", "12345")
	for _, name := range []string{".ql/main.db", ".ql-write-XYZ", "a:b", "nul.txt", "e\u0301"} {
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b.txt", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	var list []engine.FileInfo
	for info, err := range d.List(t.Context(), "/", "") {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, info)
	}
	if len(list) != 1 || list[0].Path != "/b.txt" {
		t.Errorf("%+v", list)
	}
}

// listing returns the error of a list.
func listing(d *Dir, path string) (err error) {
	for _, err = range d.List(context.Background(), path, "") {
	}
	return err
}

// TestNothingOutside tries to reach a file outside the folder, and things that
// are no files, through what people may have put into it.
func TestNothingOutside(t *testing.T) {
	d, folder := open(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, d, "/real/file", "real")
	if err := os.MkdirAll(filepath.Join(folder, ".ql"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"absolute": secret, "folder": outside, "up": "../" + filepath.Base(outside) + "/secret", "inside": "real/file",
		"insidefolder": "real", "hidden": ".ql", "dangling": "nowhere", "self": "self", "system": "/", "etc": "/etc/passwd",
	} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(secret, filepath.Join(folder, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{
		"/absolute", "/folder", "/folder/secret", "/up", "/inside", "/insidefolder/file", "/hidden", "/hidden/x", "/dangling", "/self",
		"/system/etc/passwd", "/etc", "/pipe",
	} {
		ctx := t.Context()
		for what, err := range map[string]error{
			"read":      third(d.Read(ctx, path, 1000)),
			"write":     d.Write(ctx, path, []byte("x")),
			"append":    d.Append(ctx, path, []byte("x")),
			"list":      listing(d, path),
			"copy":      d.Copy(ctx, path, "/copied"),
			"copy to":   d.Copy(ctx, "/real/file", path),
			"move":      d.Move(ctx, path, "/moved"),
			"move to":   d.Move(ctx, "/real/file", path),
			"remove":    d.Remove(ctx, path),
			"go below":  d.Write(ctx, path+"/x", []byte("x")),
			"list deep": listing(d, path+"/x"),
		} {
			if got := code(t, err); got != "invalid_path" && !(got == "not_a_folder" && what == "list") {
				t.Errorf("%s %s: %v", what, path, err)
			}
		}
	}
	// A second name of a file: it may be taken away, or get a content of its
	// own, but what it shares is neither read nor changed.
	if got := read(t, d, "/hard"); got != "error invalid_path" {
		t.Errorf("read a hard link: %q", got)
	}
	if err := d.Copy(t.Context(), "/hard", "/copied"); code(t, err) != "invalid_path" {
		t.Errorf("copy a hard link: %v", err)
	}
	if err := d.Append(t.Context(), "/hard", []byte("x")); code(t, err) != "invalid_path" {
		t.Errorf("append to a hard link: %v", err)
	}
	write(t, d, "/hard", "own")
	content, err := os.ReadFile(secret)
	if err != nil || string(content) != "secret" {
		t.Errorf("the secret is %q, %v", content, err)
	}
	if got := tree(t, outside); got != "secret" {
		t.Errorf("outside there is %s", got)
	}
	if got := read(t, d, "/real/file") + read(t, d, "/hard"); got != "realown" {
		t.Errorf("inside there is %q", got)
	}
}

func third[T any](_ T, err error) error { return err }

// TestCopyCutOff: a copy that is cut off leaves nothing.
func TestCopyCutOff(t *testing.T) {
	d, folder := open(t)
	write(t, d, "/a", strings.Repeat("x", 100))
	half := &endsLater{Context: t.Context(), left: 3}
	if err := d.Copy(half, "/a", "/b"); !errors.Is(err, context.Canceled) {
		t.Errorf("a copy cut off: %v", err)
	}
	if got := tree(t, folder); got != "a" {
		t.Errorf("the folder holds %s", got)
	}
}

// endsLater ends after it was asked so many times.
type endsLater struct {
	context.Context
	left int
}

func (e *endsLater) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestErrorsOfTheSystem(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&os.PathError{Err: syscall.ENOSPC}, "quota_exceeded"},
		{&os.PathError{Err: syscall.EDQUOT}, "quota_exceeded"},
		{&os.PathError{Err: syscall.EACCES}, "access_denied"},
		{&os.PathError{Err: syscall.EROFS}, "access_denied"},
		{&os.PathError{Err: syscall.ENOENT}, "file_not_found"},
	} {
		if got := code(t, explain("/a", c.err)); got != c.want {
			t.Errorf("%v: %s", c.err, got)
		}
	}
	if err := explain("/a", &os.PathError{Err: syscall.EIO}); err == nil || errors.As(err, new(*value.Error)) {
		t.Errorf("a fault of the disk is none of the script's: %v", err)
	}
	if _, err := OpenDir(filepath.Join(t.TempDir(), "missing"), ""); err == nil {
		t.Error("a folder that is not there was opened")
	}
}
