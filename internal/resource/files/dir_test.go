package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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

func TestWriteAndRead(t *testing.T) {
	d, folder := open(t)
	write(t, d, "/a/b/c.txt", "one")
	write(t, d, "/a/b/c.txt", "two")
	write(t, d, "/empty", "")
	if got := read(t, d, "/a/b/c.txt"); got != "two" {
		t.Errorf("got %q", got)
	}
	if got := read(t, d, "/empty"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := tree(t, folder); got != "a/ a/b/ a/b/c.txt empty" {
		t.Errorf("the folder holds %s", got)
	}
	for path, want := range map[string]string{
		"/missing":         "file_not_found",
		"/a/missing":       "file_not_found",
		"/missing/c.txt":   "file_not_found",
		"/a/b/c.txt/d":     "file_not_found",
		"/a":               "is_folder",
		"/":                "invalid_path",
		"/a/../a/b/c.txt":  "invalid_path",
		"a/b/c.txt":        "invalid_path",
		"/.ql/main.db":     "invalid_path",
		"/.ql-write-ABC":   "invalid_path",
		"/a/.QL-Write-ABC": "invalid_path",
	} {
		if _, err := d.Read(t.Context(), path, 10); code(t, err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := d.Read(t.Context(), "/a/b/c.txt", 2); code(t, err) != "limit_exceeded" {
		t.Errorf("3 bytes into 2: %v", err)
	}
	if content, err := d.Read(t.Context(), "/a/b/c.txt", 3); err != nil || string(content) != "two" {
		t.Errorf("3 bytes into 3: %v", err)
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

func TestList(t *testing.T) {
	d, folder := open(t)
	write(t, d, "/b.txt", "12345")
	write(t, d, "/a/deep/x", "x")
	write(t, d, "/B2", "")
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
	list := func(path string) string {
		infos, err := d.List(t.Context(), path)
		if err != nil {
			return "error " + code(t, err)
		}
		var all []string
		for _, f := range infos {
			if f.Modified.IsZero() {
				t.Errorf("%s has no time", f.Path)
			}
			all = append(all, fmt.Sprintf("%s %s %d %t", f.Path, f.Name, f.Size, f.Folder))
		}
		return strings.Join(all, ", ")
	}
	for path, want := range map[string]string{
		"/":          "/B2 B2 0 false, /a a 0 true, /b.txt b.txt 5 false",
		"/a":         "/a/deep deep 0 true",
		"/a/deep":    "/a/deep/x x 1 false",
		"/missing":   "error file_not_found",
		"/b.txt":     "error not_a_folder",
		"/a/deep/":   "error invalid_path",
		"/a/..":      "error invalid_path",
		"/.ql":       "error invalid_path",
		"/.QL":       "error invalid_path",
		"/link":      "error invalid_path",
		"/b.txt/x/y": "error file_not_found",
	} {
		if got := list(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestCopyMoveRemove(t *testing.T) {
	d, folder := open(t)
	write(t, d, "/a.txt", "a")
	write(t, d, "/b.txt", "b")
	write(t, d, "/dir/c.txt", "c")
	ctx := t.Context()
	for _, step := range []struct {
		name string
		err  error
		want string
	}{
		{"copy", d.Copy(ctx, "/a.txt", "/new/a.txt"), ""},
		{"copy over a file", d.Copy(ctx, "/a.txt", "/b.txt"), ""},
		{"copy onto itself", d.Copy(ctx, "/a.txt", "/a.txt"), ""},
		{"copy a folder", d.Copy(ctx, "/dir", "/dir2"), "is_folder"},
		{"copy onto a folder", d.Copy(ctx, "/a.txt", "/dir"), "is_folder"},
		{"copy nothing", d.Copy(ctx, "/missing", "/x"), "file_not_found"},
		{"copy into a file", d.Copy(ctx, "/a.txt", "/b.txt/x"), "not_a_folder"},
		{"copy from the hidden folder", d.Copy(ctx, "/.ql/x", "/x"), "invalid_path"},
		{"copy into it", d.Copy(ctx, "/a.txt", "/.ql/x"), "invalid_path"},
		{"move", d.Move(ctx, "/a.txt", "/moved/a.txt"), ""},
		{"move over a file", d.Move(ctx, "/b.txt", "/new/a.txt"), ""},
		{"move onto itself", d.Move(ctx, "/new/a.txt", "/new/a.txt"), ""},
		{"move to another case", d.Move(ctx, "/new/a.txt", "/new/A.txt"), ""},
		{"move a folder", d.Move(ctx, "/dir", "/dir2"), ""},
		{"move a folder into itself", d.Move(ctx, "/dir2", "/dir2/x"), "invalid_path"},
		{"move a folder onto a file", d.Move(ctx, "/dir2", "/new/A.txt"), "not_a_folder"},
		{"move onto a folder", d.Move(ctx, "/new/A.txt", "/dir2"), "is_folder"},
		{"move nothing", d.Move(ctx, "/missing", "/x"), "file_not_found"},
		{"move the hidden folder", d.Move(ctx, "/.ql", "/x"), "invalid_path"},
		{"remove a full folder", d.Remove(ctx, "/dir2"), "folder_not_empty"},
		{"remove a file", d.Remove(ctx, "/dir2/c.txt"), ""},
		{"remove it again", d.Remove(ctx, "/dir2/c.txt"), "file_not_found"},
		{"remove an empty folder", d.Remove(ctx, "/dir2"), ""},
		{"remove all", d.Remove(ctx, "/"), "invalid_path"},
		{"remove the hidden folder", d.Remove(ctx, "/.ql"), "invalid_path"},
	} {
		if got := code(t, step.err); got != step.want {
			t.Errorf("%s: %v, want %q", step.name, step.err, step.want)
		}
	}
	if got := tree(t, folder); got != "moved/ moved/a.txt new/ new/A.txt" {
		t.Errorf("the folder holds %s", got)
	}
	if got := read(t, d, "/moved/a.txt") + read(t, d, "/new/A.txt"); got != "aa" {
		t.Errorf("they hold %q", got)
	}
}

func TestAliases(t *testing.T) {
	d, folder := open(t)
	write(t, d, "/Straße/a.txt", "x")
	write(t, d, "/é.txt", "x")
	for _, path := range []string{
		"/STRASSE/b.txt", "/strasse", "/Straße/A.txt", "/Straße/a.TXT", "/É.txt", "/e\u0301.TXT", "/Straße/A.txt/x",
	} {
		err := d.Write(t.Context(), path, nil)
		if code(t, err) != "invalid_path" || !strings.Contains(err.Error(), "there is ") {
			t.Errorf("write %s: %v", path, err)
		}
		if err := d.Append(t.Context(), path, nil); code(t, err) != "invalid_path" {
			t.Errorf("append %s: %v", path, err)
		}
		if err := d.Copy(t.Context(), "/é.txt", path); code(t, err) != "invalid_path" {
			t.Errorf("copy to %s: %v", path, err)
		}
	}
	err := d.Write(t.Context(), "/straße/b", nil)
	if err == nil || !strings.Contains(err.Error(), `"/Straße"`) {
		t.Errorf("the message names what there is: %v", err)
	}
	write(t, d, "/e\u0301.txt", "composed") // the same name, written in two parts
	if got := read(t, d, "/é.txt"); got != "composed" {
		t.Errorf("got %q", got)
	}
	if got := tree(t, folder); got != "Straße/ Straße/a.txt é.txt" {
		t.Errorf("the folder holds %s", got)
	}
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
			"list":      third(d.List(ctx, path)),
			"copy":      d.Copy(ctx, path, "/copied"),
			"copy to":   d.Copy(ctx, "/real/file", path),
			"move":      d.Move(ctx, path, "/moved"),
			"move to":   d.Move(ctx, "/real/file", path),
			"remove":    d.Remove(ctx, path),
			"go below":  d.Write(ctx, path+"/x", []byte("x")),
			"list deep": third(d.List(ctx, path+"/x")),
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

func TestEndedContext(t *testing.T) {
	d, folder := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range map[string]error{
		"read":   third(d.Read(ctx, "/a", 1)),
		"write":  d.Write(ctx, "/a", nil),
		"append": d.Append(ctx, "/a", nil),
		"list":   third(d.List(ctx, "/")),
		"copy":   d.Copy(ctx, "/a", "/b"),
		"move":   d.Move(ctx, "/a", "/b"),
		"remove": d.Remove(ctx, "/a"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := tree(t, folder); got != "" {
		t.Errorf("the folder holds %s", got)
	}
	// A copy that is cut off leaves nothing.
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
