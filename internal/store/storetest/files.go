package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/resource/files/filestest"
	"ql/internal/store/blob/dir"
	"ql/lang/value"
)

// clock is a clock that the test moves; it may be asked by anybody.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// trees returns trees with blobs in a scratch folder.
func trees(t *testing.T, s Stores) (*files.Trees, *files.Blobs, string, *clock) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "blobs")
	blobs, err := dir.OpenBlobs(folder)
	must(t, err)
	t.Cleanup(func() { must(t, blobs.Close()) })
	c := &clock{now: noon}
	return files.NewTrees(s.Files, blobs, c.time), blobs, folder, c
}

func testTree(t *testing.T, open func(t *testing.T) Stores) {
	filestest.Run(t, func(t *testing.T) engine.Files {
		s := open(t)
		all, _, _, _ := trees(t, s)
		return all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{})
	})
}

// testChildren reads a folder page by page: by path, nothing twice and nothing of
// others.
func testChildren(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	var want []string
	for _, a := range []account.Account{ada, bob} {
		f := all.For(a.ID, files.Quota{})
		for i := range 20 {
			path := fmt.Sprintf("/Dir/%c%02d", "aB"[i%2], i)
			must(t, f.Write(t.Context(), path, nil))
			want = append(want, path)
		}
		must(t, f.Write(t.Context(), "/Dir/B01x/below", nil))
		must(t, f.Write(t.Context(), "/Dir2", nil))
	}
	want = append(want[:20], "/Dir/B01x")
	slices.Sort(want)
	for _, limit := range []int{1, 7, 20, 21, 100} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.Files.Children(t.Context(), ada.ID, files.Key("/Dir"), after, limit)
			must(t, err)
			if len(page) > limit {
				t.Fatalf("a page of %d has %d", limit, len(page))
			}
			for _, n := range page {
				got = append(got, n.Path)
			}
			if len(page) < limit {
				break
			}
		}
		same(t, fmt.Sprintf("the folder by %d", limit), got, want)
	}
}

// narrow counts how many nodes of folders it gave at once, and in all.
type narrow struct {
	files.Store
	most, all int
}

func (n *narrow) Children(ctx context.Context, a account.ID, key, after string, limit int) ([]files.Node, error) {
	page, err := n.Store.Children(ctx, a, key, after, limit)
	n.most, n.all = max(n.most, len(page)), n.all+len(page)
	return page, err
}

// testListHoldsAPage: of a folder no more is held at once than a piece, and who reads
// no further has no more read.
func testListHoldsAPage(t *testing.T, s Stores) {
	_, blobs, _, c := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	rows := &narrow{Store: s.Files}
	f := files.NewTrees(rows, blobs, c.time).For(ada.ID, files.Quota{})
	usage := files.Usage{}
	const n = 3000
	changes := []files.Change{}
	for i := range n {
		changes = append(changes, files.Put{Node: files.Node{Path: fmt.Sprintf("/%05d", i), Modified: noon}})
	}
	done, err := s.Files.Apply(t.Context(), ada.ID, usage, files.Usage{Nodes: n}, changes)
	must(t, err)
	if !done {
		t.Fatal("the files were not stored")
	}
	seen := 0
	for info, err := range f.List(t.Context(), "/", "") {
		must(t, err)
		if info.Name != fmt.Sprintf("%05d", seen) {
			t.Fatalf("%s comes after %d", info.Name, seen)
		}
		seen++
	}
	if seen != n || rows.most > n/10 {
		t.Errorf("%d of %d were listed, %d at once", seen, n, rows.most)
	}
	rows.all = 0
	for info, err := range f.List(t.Context(), "/", "02000") {
		must(t, err)
		same(t, "the first behind a name", info.Name, "02001")
		break
	}
	if rows.all > n/10 {
		t.Errorf("%d were read for one", rows.all)
	}
}

// blobCount returns how many files the folder of blobs holds.
func blobCount(t *testing.T, folder string) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	}))
	return n
}

func wantUsage(t *testing.T, s Stores, a account.ID, bytes, nodes int64) {
	t.Helper()
	u, err := s.Files.Usage(t.Context(), a)
	must(t, err)
	u.Generation, u.Dead = 0, 0
	same(t, "the usage", u, files.Usage{Bytes: bytes, Nodes: nodes})
}

// testFileUsage follows what an account keeps through all changes.
func testFileUsage(t *testing.T, s Stores) {
	all, _, _, c := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	f, ctx := all.For(ada.ID, files.Quota{}), t.Context()
	must(t, all.For(bob.ID, files.Quota{}).Write(ctx, "/a/b", []byte("bob's")))
	wantUsage(t, s, ada.ID, 0, 0)
	for _, step := range []struct {
		do           func() error
		bytes, nodes int64
	}{
		{func() error { return f.Write(ctx, "/a/b", make([]byte, 100)) }, 100, 2},
		{func() error { return f.Write(ctx, "/a/b", make([]byte, 70_000)) }, 70_000, 2},
		{func() error { return f.Append(ctx, "/a/b", make([]byte, 30)) }, 70_030, 2},
		{func() error { return f.Append(ctx, "/a/c", make([]byte, 5)) }, 70_035, 3},
		{func() error { return f.Copy(ctx, "/a/b", "/x/y/z") }, 140_065, 6},
		{func() error { return f.Copy(ctx, "/a/c", "/x/y/z") }, 70_040, 6},
		{func() error { return f.Move(ctx, "/a/c", "/x/y/z") }, 70_035, 5},
		{func() error { return f.Move(ctx, "/a", "/b") }, 70_035, 5},
		{func() error { return f.Remove(ctx, "/b/b") }, 5, 4},
		{func() error { return f.Remove(ctx, "/b") }, 5, 3},
		{func() error { return ignore(f.Write(ctx, "/x", nil)) }, 5, 3},
	} {
		c.set(c.time().Add(time.Second))
		must(t, step.do())
		wantUsage(t, s, ada.ID, step.bytes, step.nodes)
	}
	wantUsage(t, s, bob.ID, 5, 2)
	inside, err := s.Files.Children(ctx, ada.ID, files.Key("/x/y"), "", 10)
	must(t, err)
	if len(inside) != 1 || !inside[0].Modified.Equal(noon.Add(4*time.Second)) {
		t.Errorf("the time of a file that was moved: %v", inside)
	}

	must(t, s.Accounts.Delete(ctx, ada.ID))
	wantUsage(t, s, ada.ID, 0, 0)
	_, err = f.Read(ctx, "/x/y/z", 10)
	wantCode(t, "a file of an account that is gone", err, "file_not_found")
	wantError(t, "a write to it", f.Write(ctx, "/a", nil), account.ErrNotFound)
}

// ignore takes an error that is expected for none.
func ignore(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return nil
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func testFileQuota(t *testing.T, s Stores) {
	all, _, folder, _ := trees(t, s)
	a := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(a.ID, files.Quota{Bytes: 200_000, File: 150_000, Nodes: 4}), t.Context()
	must(t, f.Write(ctx, "/dir/a", make([]byte, 150_000)))
	for what, err := range map[string]error{
		"a large file":           f.Write(ctx, "/b", make([]byte, 150_001)),
		"a file that grows":      f.Append(ctx, "/dir/a", []byte("x")),
		"an appended large one":  f.Append(ctx, "/b", make([]byte, 150_001)),
		"too many large at once": f.Write(ctx, "/x/y/z", make([]byte, 1_000_000)),
	} {
		wantCode(t, what, err, "limit_exceeded")
		if !strings.HasSuffix(err.Error(), "and a file has 150000 at most") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"too much together":     f.Write(ctx, "/b", make([]byte, 50_001)),
		"a copy":                f.Copy(ctx, "/dir/a", "/b"),
		"an appended one":       f.Append(ctx, "/b", make([]byte, 50_001)),
		"too many nodes":        f.Write(ctx, "/x/y/z", nil),
		"too many by an append": f.Append(ctx, "/x/y/z", nil),
		"too many by a move":    f.Move(ctx, "/dir/a", "/w/x/y/z"),
	} {
		wantCode(t, what, err, "quota_exceeded")
	}
	wantUsage(t, s, a.ID, 150_000, 2)
	if n := blobCount(t, folder); n != 1 {
		t.Errorf("%d blobs were written for what was refused", n-1)
	}
	must(t, f.Write(ctx, "/dir/a", make([]byte, 100)))
	must(t, f.Write(ctx, "/b", make([]byte, 150_000)))

	// With less room than it fills, an account can only shrink.
	less := all.For(a.ID, files.Quota{Bytes: 10, Nodes: 1})
	wantCode(t, "growing over the quota", less.Append(ctx, "/b", []byte("x")), "quota_exceeded")
	must(t, less.Write(ctx, "/b", make([]byte, 1000)))
	must(t, less.Remove(ctx, "/b"))
}

// testFileRace changes one tree through two sets of trees, as two nodes do:
// nothing is lost, and what is counted stays true.
func testFileRace(t *testing.T, s Stores) {
	folder := filepath.Join(t.TempDir(), "blobs")
	a := create(t, s.Accounts, person("ada"))
	var nodes []*files.Tree
	for range 2 {
		blobs, err := dir.OpenBlobs(folder)
		must(t, err)
		t.Cleanup(func() { must(t, blobs.Close()) })
		nodes = append(nodes, files.NewTrees(s.Files, blobs, time.Now).For(a.ID, files.Quota{}))
	}
	const runs, rounds = 4, 15
	errs := atOnce(runs, func(i int) error {
		f := nodes[i%2]
		for round := range rounds {
			if err := f.Append(t.Context(), "/log", fmt.Appendf(nil, "%d-%02d\n", i, round)); err != nil {
				return err
			}
			if err := f.Write(t.Context(), fmt.Sprintf("/%d/%d", i%2, round), []byte("12345")); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, errors.Join(errs...))
	content, err := nodes[0].Read(t.Context(), "/log", 1<<20)
	must(t, err)
	for i := range runs {
		at := 0
		for round := range rounds {
			line := fmt.Sprintf("%d-%02d\n", i, round)
			found := strings.Index(string(content[at:]), line)
			if found < 0 {
				t.Fatalf("the line %q is missing, or out of order", line)
			}
			at += found
		}
	}
	wantUsage(t, s, a.ID, int64(runs*rounds*5+2*rounds*5), 1+2+2*rounds)
}

// testGrowingFile appends to a file until it is large: its chunks stay few, and
// its content right.
func testGrowingFile(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	a := create(t, s.Accounts, person("ada"))
	f := all.For(a.ID, files.Quota{})
	hash := sha256.New()
	size := 0
	for i := range 250 {
		part := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 50_000+i)
		hash.Write(part)
		size += len(part)
		must(t, f.Append(t.Context(), "/log", part))
	}
	content, err := f.Read(t.Context(), "/log", 1<<30)
	must(t, err)
	if got := sha256.Sum256(content); !bytes.Equal(got[:], hash.Sum(nil)) {
		t.Errorf("%d bytes, of %d, that are not those appended", len(content), size)
	}
	n, err := s.Files.Content(t.Context(), a.ID, files.Key("/log"))
	must(t, err)
	if len(n.Chunks) > 30 || n.Size != int64(size) {
		t.Errorf("%d chunks for %d bytes", len(n.Chunks), n.Size)
	}
	wantUsage(t, s, a.ID, int64(size), 1)
}

// testBlobs follows blobs from their making to their end.
func testBlobs(t *testing.T, s Stores) {
	all, blobs, folder, c := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	f, g, ctx := all.For(ada.ID, files.Quota{}), all.For(bob.ID, files.Quota{}), t.Context()
	large := strings.Repeat("large ", 20_000)
	sweep := func(want int) {
		t.Helper()
		n, err := blobs.Sweep(ctx, s.Files, c.time(), 24*time.Hour)
		must(t, err)
		if n != want {
			t.Errorf("%d blobs were removed, want %d", n, want)
		}
	}

	must(t, f.Write(ctx, "/small", []byte("small")))
	if n := blobCount(t, folder); n != 0 {
		t.Errorf("%d blobs for a small file", n)
	}
	must(t, f.Write(ctx, "/a", []byte(large)))
	must(t, g.Write(ctx, "/b", []byte(large)))
	must(t, f.Copy(ctx, "/a", "/c"))
	if n := blobCount(t, folder); n != 1 {
		t.Errorf("%d blobs for one content", n)
	}
	sweep(0)
	c.set(noon.Add(100 * time.Hour))
	sweep(0) // it is in use

	must(t, f.Remove(ctx, "/a"))
	must(t, f.Write(ctx, "/c", nil))
	sweep(0) // the other account has it
	must(t, s.Accounts.Delete(ctx, bob.ID))
	sweep(0) // since now
	c.set(c.time().Add(23 * time.Hour))
	sweep(0)
	must(t, f.Write(ctx, "/again", []byte(large)))
	c.set(c.time().Add(2 * time.Hour))
	sweep(0) // in use again
	must(t, f.Remove(ctx, "/again"))
	sweep(0)
	c.set(c.time().Add(24 * time.Hour))
	sweep(1)
	if n := blobCount(t, folder); n != 0 {
		t.Errorf("%d blobs are left", n)
	}

	// What a write that never ended left.
	left := filepath.Join(folder, "ab", ".ql-write-XYZ")
	must(t, os.WriteFile(left, nil, 0o600))
	c.set(time.Now())
	sweep(0)
	c.set(time.Now().Add(25 * time.Hour))
	sweep(1)
}

// testDamagedBlobs has blobs be changed and lost: that is an error, never
// another content.
func testDamagedBlobs(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for what, damage := range map[string]func(string) error{
		"changed": func(path string) error { return os.WriteFile(path, make([]byte, 100_000), 0o600) },
		"shorter": func(path string) error { return os.Truncate(path, 10) },
		"missing": os.Remove,
	} {
		all, _, folder, _ := trees(t, s)
		f := all.For(a.ID, files.Quota{})
		content := strings.Repeat(what, 100_000)[:100_000]
		must(t, f.Write(t.Context(), "/x", []byte(content)))
		must(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			return damage(path)
		}))
		got, err := f.Read(t.Context(), "/x", 1<<20)
		var e *value.Error
		if err == nil || errors.As(err, &e) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		must(t, f.Write(t.Context(), "/y", []byte(content)))
		for _, path := range []string{"/x", "/y"} { // it is one blob
			got, err := f.Read(t.Context(), path, 1<<20)
			if err != nil || string(got) != content {
				t.Errorf("%s, written again: %d bytes in %s, %v", what, len(got), path, err)
			}
		}
	}
}
