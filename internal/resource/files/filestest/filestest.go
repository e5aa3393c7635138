// Package filestest proves that a tree of files behaves as scripts expect it,
// wherever it is kept: every implementation of engine.Files runs the same
// suite. What only one has, such as links in a real folder or blobs, is tested
// beside it.
package filestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ql/internal/engine"
	"ql/lang/value"
)

// Run runs the whole suite. open returns an empty tree that lives until the end
// of the test it is given.
func Run(t *testing.T, open func(t *testing.T) engine.Files) {
	for name, test := range map[string]func(*testing.T, engine.Files){
		"write and read":    testWriteAndRead,
		"sizes":             testSizes,
		"append":            testAppend,
		"appends not mix":   testAppendsDoNotMix,
		"writes are whole":  testWritesAreWhole,
		"write a stream":    testWriteStream,
		"list":              testList,
		"list in pages":     testListPages,
		"copy":              testCopy,
		"move and remove":   testMoveAndRemove,
		"move a folder":     testMoveFolder,
		"hold":              testHold,
		"move out of reach": testMoveOutOfReach,
		"the top":           testTop,
		"aliases":           testAliases,
		"reserved names":    testReserved,
		"ended context":     testEndedContext,
		"paths":             testPaths,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
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

func write(t *testing.T, f engine.Files, path, content string) {
	t.Helper()
	if err := f.Write(t.Context(), path, []byte(content)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func read(t *testing.T, f engine.Files, path string) string {
	t.Helper()
	content, err := f.Read(t.Context(), path, 1<<30)
	if err != nil {
		return "error " + code(t, err)
	}
	return string(content)
}

// entries returns what is in a folder.
func entries(ctx context.Context, f engine.Files, folder, after string) (all []engine.FileInfo, err error) {
	for info, err := range f.List(ctx, folder, after) {
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// list returns what is in a folder, as text.
func list(t *testing.T, f engine.Files, folder string) string {
	t.Helper()
	infos, err := entries(t.Context(), f, folder, "")
	if err != nil {
		return "error " + code(t, err)
	}
	var all []string
	for _, info := range infos {
		if info.Modified.IsZero() {
			t.Errorf("%s has no time", info.Path)
		}
		all = append(all, fmt.Sprintf("%s %s %d %t", info.Path, info.Name, info.Size, info.Folder))
	}
	return strings.Join(all, ", ")
}

// tree returns all paths, those of folders with a slash.
func tree(t *testing.T, f engine.Files) string {
	t.Helper()
	var all []string
	var walk func(string)
	walk = func(folder string) {
		infos, err := entries(t.Context(), f, folder, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			if !info.Folder {
				all = append(all, info.Path)
				continue
			}
			all = append(all, info.Path+"/")
			walk(info.Path)
		}
	}
	walk("/")
	return strings.Join(all, " ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func testWriteAndRead(t *testing.T, f engine.Files) {
	write(t, f, "/a/b/c.txt", "one")
	write(t, f, "/a/b/c.txt", "two")
	write(t, f, "/empty", "")
	want(t, "the file", read(t, f, "/a/b/c.txt"), "two")
	want(t, "the empty file", read(t, f, "/empty"), "")
	want(t, "the tree", tree(t, f), "/a/ /a/b/ /a/b/c.txt /empty")
	for path, wanted := range map[string]string{
		"/missing":        "file_not_found",
		"/a/missing":      "file_not_found",
		"/missing/c.txt":  "file_not_found",
		"/a/b/c.txt/d":    "file_not_found",
		"/A/B/C.TXT":      "file_not_found",
		"/a":              "is_folder",
		"/":               "is_folder",
		"":                "invalid_path",
		"/a/../a/b/c.txt": "invalid_path",
		"/a//b/c.txt":     "invalid_path",
		"a/b/c.txt":       "invalid_path",
		"/a/b/c.txt\x00":  "invalid_path",
		"/con":            "invalid_path",
	} {
		_, err := f.Read(t.Context(), path, 10)
		want(t, "read "+path, code(t, err), wanted)
	}
	for path, wanted := range map[string]string{
		"/a":            "is_folder",
		"/a/b/c.txt/d":  "not_a_folder",
		"/a/b/c.txt/d/": "invalid_path",
		"/":             "invalid_path",
	} {
		want(t, "write "+path, code(t, f.Write(t.Context(), path, nil)), wanted)
	}
	_, err := f.Read(t.Context(), "/a/b/c.txt", 2)
	want(t, "3 bytes into 2", code(t, err), "limit_exceeded")
	content, err := f.Read(t.Context(), "/a/b/c.txt", 3)
	want(t, "3 bytes into 3", string(content)+code(t, err), "two")
}

// pattern returns n bytes that differ from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + i>>16)
	}
	return b
}

// testSizes writes and extends files around the sizes at which a store may
// begin to keep them in another way.
func testSizes(t *testing.T, f engine.Files) {
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 8<<20 + 70_000} {
		path := fmt.Sprintf("/file-%d", size)
		wanted := pattern(size)
		for step, change := range []func() error{
			func() error { return f.Write(t.Context(), path, wanted) },
			func() error {
				wanted = append(wanted, "more"...)
				return f.Append(t.Context(), path, []byte("more"))
			},
			func() error {
				wanted = append(wanted, pattern(70_000)...)
				return f.Append(t.Context(), path, pattern(70_000))
			},
			func() error { return f.Copy(t.Context(), path, path+".copy") },
			func() error {
				wanted = append(wanted, '!')
				return f.Append(t.Context(), path, []byte("!"))
			},
		} {
			if err := change(); err != nil {
				t.Fatalf("%s, step %d: %v", path, step, err)
			}
			got, err := f.Read(t.Context(), path, 1<<30)
			if err != nil || !bytes.Equal(got, wanted) {
				t.Errorf("%s, step %d: %d bytes, want %d; %v", path, step, len(got), len(wanted), err)
			}
		}
		if got := read(t, f, path+".copy"); got != string(wanted[:len(wanted)-1]) {
			t.Errorf("the copy of %s has %d bytes", path, len(got))
		}
		write(t, f, path, "small")
		want(t, path, read(t, f, path), "small")
		if err := f.Remove(t.Context(), path+".copy"); err != nil {
			t.Error(err)
		}
	}
}

func testAppend(t *testing.T, f engine.Files) {
	for _, line := range []string{"a", "", "b\n", "c"} {
		if err := f.Append(t.Context(), "/logs/x.log", []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "the file", read(t, f, "/logs/x.log"), "ab\nc")
	want(t, "to a folder", code(t, f.Append(t.Context(), "/logs", []byte("x"))), "is_folder")
	want(t, "below a file", code(t, f.Append(t.Context(), "/logs/x.log/y", []byte("x"))), "not_a_folder")
	want(t, "the list", list(t, f, "/logs"), "/logs/x.log x.log 4 false")
}

func testAppendsDoNotMix(t *testing.T, f engine.Files) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 20 {
				if err := f.Append(t.Context(), "/log", fmt.Appendf(nil, "%d%d%d\n", i, i, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	lines := strings.Split(strings.TrimSuffix(read(t, f, "/log"), "\n"), "\n")
	if len(lines) != 160 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) != 3 || line[0] != line[1] || line[1] != line[2] {
			t.Errorf("the line %q", line)
		}
	}
}

// testWritesAreWhole reads a file while it is replaced: there is always one
// content or another.
func testWritesAreWhole(t *testing.T, f engine.Files) {
	const size = 100_000
	write(t, f, "/x", strings.Repeat("0", size))
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				content, err := f.Read(t.Context(), "/x", size)
				if err != nil || len(content) != size || bytes.Count(content, content[:1]) != size {
					t.Errorf("%d bytes, %v", len(content), err)
					return
				}
			}
		})
	}
	for i := range 20 {
		write(t, f, "/x", strings.Repeat(string(rune('a'+i)), size))
	}
	close(done)
	group.Wait()
}

// testWriteStream writes files piece by piece: they are there when they are whole.
func testWriteStream(t *testing.T, f engine.Files) {
	commit := func() context.Context { return t.Context() }
	for _, size := range []int{0, 1, 70_000, 300_000, 9 << 20} {
		content := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		at := "/stream/" + strconv.Itoa(size)
		err := f.WriteStream(t.Context(), at, func(w io.Writer) error {
			for rest := content; rest != ""; {
				n := min(len(rest), 100_001)
				if _, err := io.WriteString(w, rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			if got, err := f.Read(t.Context(), at, size); size > 0 && code(t, err) != "file_not_found" {
				return fmt.Errorf("%d bytes are there before all are written, %w", len(got), err)
			}
			return nil
		}, commit)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, f, at); got != content {
			t.Errorf("%d bytes of %d come back", len(got), size)
		}
	}
	failed := errors.New("failed")
	write(t, f, "/x", "old")
	err := f.WriteStream(t.Context(), "/x", func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.Repeat("new", 200_000)); err != nil {
			return err
		}
		return failed
	}, commit)
	if !errors.Is(err, failed) || read(t, f, "/x") != "old" {
		t.Errorf("a stream that fails: %v, and %q", err, read(t, f, "/x"))
	}
	ended, end := context.WithCancel(t.Context())
	err = f.WriteStream(t.Context(), "/x", func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		end()
		return err
	}, func() context.Context { return ended })
	if !errors.Is(err, context.Canceled) || read(t, f, "/x") != "old" {
		t.Errorf("a change that is not made: %v, and %q", err, read(t, f, "/x"))
	}
	if err := f.WriteStream(t.Context(), "/stream", func(io.Writer) error { return nil }, commit); code(t, err) != "is_folder" {
		t.Errorf("a folder: %v", err)
	}
}

func testList(t *testing.T, f engine.Files) {
	want(t, "an empty tree", list(t, f, "/"), "")
	write(t, f, "/b.txt", "12345")
	write(t, f, "/a/deep/x", "x")
	write(t, f, "/B2", "")
	write(t, f, "/a b", "")
	for path, wanted := range map[string]string{
		"/":          "/B2 B2 0 false, /a a 0 true, /a b a b 0 false, /b.txt b.txt 5 false",
		"/a":         "/a/deep deep 0 true",
		"/a/deep":    "/a/deep/x x 1 false",
		"/missing":   "error file_not_found",
		"/A":         "error file_not_found",
		"/b.txt":     "error not_a_folder",
		"/a/deep/":   "error invalid_path",
		"/a/..":      "error invalid_path",
		"":           "error invalid_path",
		"/b.txt/x/y": "error file_not_found",
	} {
		want(t, "list "+path, list(t, f, path), wanted)
	}
	for _, path := range []string{"/missing", "/missing/too"} {
		_, err := entries(t.Context(), f, path, "")
		want(t, "list "+path, fmt.Sprint(err), fmt.Sprintf("there is no folder %q", path))
	}
}

// testListPages lists a folder that is larger than what is held at once, whole and
// from a name on, and stops early.
func testListPages(t *testing.T, f engine.Files) {
	const n = 600
	var names []string
	for i := range n {
		name := fmt.Sprintf("%c%03d", "aB"[i%2], i)
		names = append(names, name)
		write(t, f, "/e\u0301/"+name, "")
	}
	write(t, f, "/é/B001x/below", "")
	names = append(names, "B001x")
	slices.Sort(names)
	// The folder is named in another form than the one that is stored.
	for after, wanted := range map[string][]string{
		"": names, "A": names, "B001": names[1:], names[300]: names[301:], names[300] + "\x00": names[301:], "b": nil, "\xff": nil,
	} {
		infos, err := entries(t.Context(), f, "/e\u0301", after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, info := range infos {
			if info.Path != "/é/"+info.Name {
				t.Fatalf("the path of %q is %q", info.Name, info.Path)
			}
			got = append(got, info.Name)
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("behind %q there are %d, want %d", after, len(got), len(wanted))
		}
	}
	read := 0
	for range f.List(t.Context(), "/é", "") {
		if read++; read == 3 {
			break
		}
	}
	// What goes while it is listed is an error, and no end.
	var err error
	for info, failed := range f.List(t.Context(), "/é", "") {
		if err = failed; err == nil && info.Name == names[0] {
			if err := f.Move(t.Context(), "/é", "/away"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, isDir := f.(interface{ Close() error }); !isDir { // which has read the names
		want(t, "a folder that was moved away", code(t, err), "file_not_found")
	}
}

func testCopy(t *testing.T, f engine.Files) {
	write(t, f, "/a.txt", "a")
	write(t, f, "/b.txt", "b")
	write(t, f, "/dir/c.txt", "c")
	ctx := t.Context()
	for _, step := range []struct{ from, to, want string }{
		{"/a.txt", "/new/a.txt", ""},
		{"/a.txt", "/b.txt", ""},
		{"/a.txt", "/a.txt", ""},
		{"/dir", "/dir2", "is_folder"},
		{"/a.txt", "/dir", "is_folder"},
		{"/missing", "/x", "file_not_found"},
		{"/a.txt", "/b.txt/x", "not_a_folder"},
		{"/a.txt", "/x/", "invalid_path"},
	} {
		want(t, "copy "+step.from+" to "+step.to, code(t, f.Copy(ctx, step.from, step.to)), step.want)
	}
	want(t, "the tree", tree(t, f), "/a.txt /b.txt /dir/ /dir/c.txt /new/ /new/a.txt")
	write(t, f, "/a.txt", "changed")
	want(t, "the copies", read(t, f, "/new/a.txt")+read(t, f, "/b.txt"), "aa")
}

func testMoveAndRemove(t *testing.T, f engine.Files) {
	write(t, f, "/a.txt", "a")
	write(t, f, "/b.txt", "b")
	write(t, f, "/dir/c.txt", "c")
	ctx := t.Context()
	for _, step := range []struct {
		name string
		err  error
		want string
	}{
		{"move", f.Move(ctx, "/a.txt", "/moved/a.txt"), ""},
		{"move over a file", f.Move(ctx, "/b.txt", "/moved/a.txt"), ""},
		{"move onto itself", f.Move(ctx, "/moved/a.txt", "/moved/a.txt"), ""},
		{"move to another case", f.Move(ctx, "/moved/a.txt", "/moved/A.txt"), ""},
		{"move a folder", f.Move(ctx, "/dir", "/dir2"), ""},
		{"move a folder into itself", f.Move(ctx, "/dir2", "/dir2/x"), "invalid_path"},
		{"move a folder onto a file", f.Move(ctx, "/dir2", "/moved/A.txt"), "not_a_folder"},
		{"move onto a folder", f.Move(ctx, "/moved/A.txt", "/dir2"), "is_folder"},
		{"move below a file", f.Move(ctx, "/dir2", "/moved/A.txt/x"), "not_a_folder"},
		{"move nothing", f.Move(ctx, "/missing", "/x"), "file_not_found"},
		{"move nothing onto itself", f.Move(ctx, "/missing", "/missing"), "file_not_found"},
		{"remove a full folder", f.Remove(ctx, "/dir2"), "folder_not_empty"},
		{"remove a file", f.Remove(ctx, "/dir2/c.txt"), ""},
		{"remove it again", f.Remove(ctx, "/dir2/c.txt"), "file_not_found"},
		{"remove in another case", f.Remove(ctx, "/DIR2"), "file_not_found"},
		{"remove an empty folder", f.Remove(ctx, "/dir2"), ""},
		{"remove all", f.Remove(ctx, "/"), "invalid_path"},
	} {
		want(t, step.name, code(t, step.err), step.want)
	}
	want(t, "the tree", tree(t, f), "/moved/ /moved/A.txt")
	want(t, "the file", read(t, f, "/moved/A.txt"), "b")
}

// testMoveFolder moves a folder beside others whose names start alike.
// testHold reads content piece by piece while its file is replaced, and opens it again by
// its reference while it is not.
func testHold(t *testing.T, f engine.Files) {
	long := strings.Repeat("0123456789", 20_000)
	for _, content := range []string{"", "short", long} {
		write(t, f, "/a/b.txt", content)
		held, err := f.Hold(t.Context(), "/a/b.txt")
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.Held(t.Context(), held.Ref())
		if err != nil {
			t.Fatal(err)
		}
		at := int64(len(content) / 2)
		if _, err := again.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(again); err != nil || string(rest) != content[at:] {
			t.Errorf("from %d on: %d bytes, %v", at, len(rest), err)
		}
		write(t, f, "/a/b.txt", "another content")
		if all, err := io.ReadAll(held); err != nil || string(all) != content {
			t.Errorf("after it was replaced: %d bytes of %d, %v", len(all), len(content), err)
		}
		if err := errors.Join(held.Close(), again.Close()); err != nil {
			t.Error(err)
		}
	}
	for path, want := range map[string]string{"/none": "file_not_found", "/a": "is_folder", "/": "is_folder", "a": "invalid_path"} {
		if _, err := f.Hold(t.Context(), path); code(t, err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func testMoveFolder(t *testing.T, f engine.Files) {
	for _, path := range []string{"/Ä/x", "/Ä/deep/y", "/Ä/deep/z", "/Ä-/x", "/Ä0/x", "/Äa/x", "/ÄÄ/x"} {
		write(t, f, path, path)
	}
	for _, move := range []struct{ from, to string }{
		{"/Ä", "/new/longer name"},
		{"/new/longer name/deep", "/ß"},
		{"/ß", "/SS"}, // the same on some systems
		{"/new/longer name", "/Ä"},
	} {
		if err := f.Move(t.Context(), move.from, move.to); err != nil {
			t.Fatalf("%s to %s: %v", move.from, move.to, err)
		}
	}
	// By name, which is not by letter.
	paths := strings.Fields(tree(t, f))
	slices.Sort(paths)
	want(t, "the tree", strings.Join(paths, " "), "/SS/ /SS/y /SS/z /new/ /Ä-/ /Ä-/x /Ä/ /Ä/x /Ä0/ /Ä0/x /Äa/ /Äa/x /ÄÄ/ /ÄÄ/x")
	want(t, "a file", read(t, f, "/SS/z"), "/Ä/deep/z")
	want(t, "another", read(t, f, "/Ä/x"), "/Ä/x")
	want(t, "its old path", read(t, f, "/Ä/deep/z"), "error file_not_found")
}

// testMoveOutOfReach moves folders to where the paths below them would be too
// long, or have too many parts: nothing would reach them any more.
func testMoveOutOfReach(t *testing.T, f engine.Files) {
	deep := "/deep" + strings.Repeat("/p", 29) // 30 parts
	long := "/long/" + strings.Repeat("n", 250) + "/" + strings.Repeat("ö", 125) + "/" + strings.Repeat("n", 250) + "/" + strings.Repeat("n", 225)
	if len(long) != 984 {
		t.Fatalf("the path has %d bytes", len(long))
	}
	for _, path := range []string{"/deep/a", deep, "/long/b", long, "/x"} {
		write(t, f, path, path)
	}
	before := tree(t, f)
	name := strings.Repeat("m", 45) // makes long one byte too long
	for _, step := range []struct{ from, to, want string }{
		{"/deep", "/a/b/c/d", `"/deep/p/p/p/p/p/p/p/p/p/p/p/p/p/p/p/p/p/…" would have 33 parts there, and a path has 32 at most`},
		{"/deep/p", "/a/b/c/d/e", `would have 33 parts there, and a path has 32 at most`},
		{"/long", "/" + name, `would have 1025 bytes there, and a path has 1024 at most`},
		{"/long", "/l/" + name[2:], `would have 1025 bytes there, and a path has 1024 at most`},
	} {
		err := f.Move(t.Context(), step.from, step.to)
		if code(t, err) != "invalid_path" || !strings.HasSuffix(err.Error(), step.want) {
			t.Errorf("move %s to %s: %v", step.from, step.to, err)
		}
		want(t, "a folder is not copied", code(t, f.Copy(t.Context(), step.from, step.to)), "is_folder")
	}
	want(t, "the tree", tree(t, f), before)
	for _, step := range []struct{ from, to, file string }{
		{"/deep", "/a/b/c", "/a/b/c" + deep[len("/deep"):]},
		{"/long", "/" + name[1:], "/" + name[1:] + long[len("/long"):]},
		{"/x", "/a" + strings.Repeat("/y", 31), "/a" + strings.Repeat("/y", 31)},
	} {
		if err := f.Move(t.Context(), step.from, step.to); err != nil {
			t.Errorf("move %s to %s: %v", step.from, step.to, err)
		}
		if got := read(t, f, step.file); strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", step.file, got)
		}
	}
}

// testTop uses the folder of all files as a file, or as a folder like others.
func testTop(t *testing.T, f engine.Files) {
	write(t, f, "/a", "a")
	ctx := t.Context()
	_, readErr := f.Read(ctx, "/", 10)
	for what, step := range map[string]struct {
		err  error
		code string
	}{
		"read":    {readErr, "is_folder"},
		"write":   {f.Write(ctx, "/", nil), "invalid_path"},
		"append":  {f.Append(ctx, "/", nil), "invalid_path"},
		"copy":    {f.Copy(ctx, "/", "/b"), "invalid_path"},
		"copy to": {f.Copy(ctx, "/a", "/"), "invalid_path"},
		"move":    {f.Move(ctx, "/", "/b"), "invalid_path"},
		"move to": {f.Move(ctx, "/a", "/"), "invalid_path"},
		"remove":  {f.Remove(ctx, "/"), "invalid_path"},
	} {
		want(t, what, code(t, step.err), step.code)
		if step.err != nil && !strings.Contains(step.err.Error(), "the folder of all files") {
			t.Errorf("%s: %v", what, step.err)
		}
	}
	want(t, "the tree", tree(t, f), "/a")
}

func testAliases(t *testing.T, f engine.Files) {
	write(t, f, "/Straße/a.txt", "x")
	write(t, f, "/é.txt", "x")
	for _, path := range []string{
		"/STRASSE/b.txt", "/strasse", "/Straße/A.txt", "/Straße/a.TXT", "/É.txt", "/e\u0301.TXT", "/Straße/A.txt/x",
	} {
		err := f.Write(t.Context(), path, nil)
		if code(t, err) != "invalid_path" || !strings.Contains(err.Error(), "there is ") {
			t.Errorf("write %s: %v", path, err)
		}
		want(t, "append "+path, code(t, f.Append(t.Context(), path, nil)), "invalid_path")
		want(t, "copy to "+path, code(t, f.Copy(t.Context(), "/é.txt", path)), "invalid_path")
	}
	err := f.Write(t.Context(), "/straße/b", nil)
	if err == nil || !strings.Contains(err.Error(), `"/Straße"`) {
		t.Errorf("the message names what there is: %v", err)
	}
	write(t, f, "/e\u0301.txt", "composed") // the same name, written in two parts
	want(t, "the file", read(t, f, "/é.txt"), "composed")
	want(t, "the tree", tree(t, f), "/Straße/ /Straße/a.txt /é.txt")
}

// testReserved tries names that are kept for the service.
func testReserved(t *testing.T, f engine.Files) {
	write(t, f, "/a", "a")
	for _, path := range []string{"/.ql", "/.ql/x", "/.QL", "/.ql-write-ABC", "/a/.QL-Write-ABC"} {
		_, readErr := f.Read(t.Context(), path, 10)
		_, listErr := entries(t.Context(), f, path, "")
		for what, err := range map[string]error{
			"read":    readErr,
			"list":    listErr,
			"write":   f.Write(t.Context(), path, nil),
			"append":  f.Append(t.Context(), path, nil),
			"copy":    f.Copy(t.Context(), path, "/x"),
			"copy to": f.Copy(t.Context(), "/a", path),
			"move":    f.Move(t.Context(), path, "/x"),
			"move to": f.Move(t.Context(), "/a", path),
			"remove":  f.Remove(t.Context(), path),
		} {
			want(t, what+" "+path, code(t, err), "invalid_path")
		}
	}
	write(t, f, "/b/.ql", "not at the top")
	want(t, "the tree", tree(t, f), "/a /b/ /b/.ql")
}

func testEndedContext(t *testing.T, f engine.Files) {
	write(t, f, "/a", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, readErr := f.Read(ctx, "/a", 10)
	_, listErr := entries(ctx, f, "/", "")
	for what, err := range map[string]error{
		"read":   readErr,
		"list":   listErr,
		"write":  f.Write(ctx, "/b", nil),
		"append": f.Append(ctx, "/a", []byte("x")),
		"copy":   f.Copy(ctx, "/a", "/b"),
		"move":   f.Move(ctx, "/a", "/b"),
		"remove": f.Remove(ctx, "/a"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	want(t, "the tree", tree(t, f)+read(t, f, "/a"), "/aa")
}

// testPaths tries all paths in every way: what is refused makes nothing, and
// what is taken is found again under its one written form.
func testPaths(t *testing.T, f engine.Files) {
	ctx := t.Context()
	write(t, f, "/there", "it")
	hostile := 0
	for _, p := range Paths() {
		if p.Canonical != "" {
			takePath(t, f, p)
			continue
		}
		hostile++
		if p.Text == "/" {
			continue // the one folder whose path is no file's
		}
		_, readErr := f.Read(ctx, p.Text, 10)
		for what, err := range map[string]error{
			"read": readErr, "write": f.Write(ctx, p.Text, []byte("x")), "append": f.Append(ctx, p.Text, []byte("x")), "remove": f.Remove(ctx, p.Text),
			"copy": f.Copy(ctx, "/there", p.Text), "copied": f.Copy(ctx, p.Text, "/new"), "move": f.Move(ctx, "/there", p.Text), "moved": f.Move(ctx, p.Text, "/new"),
		} {
			want(t, fmt.Sprintf("%s %q", what, p.Text), code(t, err), "invalid_path")
		}
		want(t, fmt.Sprintf("list %q", p.Text), list(t, f, p.Text), "error invalid_path")
	}
	if hostile < 400 {
		t.Errorf("only %d hostile paths", hostile)
	}
	want(t, "the tree", tree(t, f), "/there")
}

// takePath uses a good path, and leaves nothing behind.
func takePath(t *testing.T, f engine.Files, p Path) {
	t.Helper()
	write(t, f, p.Text, p.Text)
	want(t, fmt.Sprintf("%q under its written form", p.Text), read(t, f, p.Canonical), p.Text)
	for at := p.Canonical; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
		if err := f.Remove(t.Context(), at); err != nil {
			t.Errorf("%q: %v", at, err)
		}
	}
}
