package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"ql/internal/resource/files"
)

// noise returns n bytes that differ from place to place.
func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i*7+i>>8+i>>16)
	}
	return b
}

// testUpload writes files from streams, of sizes at which they begin to be kept
// in another way, and reads them again as streams.
func testUpload(t *testing.T, s Stores) {
	all, _, folder, c := trees(t, s)
	f, ctx := all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{}), t.Context()
	tags := map[string]int{}
	for i, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 256 << 10, 256<<10 + 1, 8 << 20, 8<<20 + 1, 8<<20 + 64<<10 + 1, 17 << 20} {
		path, content := fmt.Sprintf("/up/%d", size), noise(size, byte(i))
		for _, known := range []int64{int64(size), -1} {
			c.set(c.time().Add(time.Second))
			tag, err := f.Upload(ctx, path, iotest.HalfReader(bytes.NewReader(content)), files.Upload{Size: known})
			must(t, err)
			opened, err := f.Open(ctx, path)
			must(t, err)
			got, err := io.ReadAll(opened)
			must(t, errors.Join(err, opened.Close()))
			if !bytes.Equal(got, content) || opened.Size() != int64(size) || opened.Tag() != tag || !opened.Modified().Equal(c.time()) {
				t.Errorf("%d bytes came back as %d (said to be %d), tag %s and then %s", size, len(got), opened.Size(), tag, opened.Tag())
			}
			tags[tag] = size
		}
		read, err := f.Read(ctx, path, 1<<30)
		must(t, err)
		if !bytes.Equal(read, content) {
			t.Errorf("%d bytes are read whole as %d", size, len(read))
		}
	}
	if len(tags) != 10 {
		t.Errorf("%d tags for 10 contents", len(tags))
	}
	left, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("unfinished writes were left: %v %v", left, err)
	}
}

// testContent reads parts of a file, and a file that is replaced meanwhile.
func testContent(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	f, ctx := all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{}), t.Context()
	content := noise(17<<20+5_000, 3)
	must(t, f.Write(ctx, "/x", content))
	opened, err := f.Open(ctx, "/x")
	must(t, err)
	must(t, f.Write(ctx, "/x", []byte("another")))
	part := make([]byte, 3000)
	for _, at := range []int64{0, 1, 8<<20 - 1000, 8 << 20, 16<<20 + 7, 17 << 20, int64(len(content)) - 3000, 5} {
		_, err := opened.Seek(at, io.SeekStart)
		must(t, err)
		if _, err := io.ReadFull(opened, part); err != nil || !bytes.Equal(part, content[at:at+3000]) {
			t.Errorf("what stands at %d came out wrong: %v", at, err)
		}
	}
	end, err := opened.Seek(-10, io.SeekEnd)
	rest, readErr := io.ReadAll(opened)
	must(t, errors.Join(err, readErr))
	if end != int64(len(content))-10 || !bytes.Equal(rest, content[end:]) {
		t.Errorf("the last 10 bytes from %d: %x", end, rest)
	}
	if n, err := opened.Seek(10, io.SeekCurrent); n != int64(len(content))+10 || err != nil {
		t.Errorf("past the end: %d, %v", n, err)
	}
	if n, err := opened.Read(part); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("past the end there is %d, %v", n, err)
	}
	if _, err := opened.Seek(-1, io.SeekStart); err == nil {
		t.Error("there is something before the beginning")
	}
	must(t, errors.Join(opened.Close(), opened.Close()))
	for path, code := range map[string]string{"/none": "file_not_found", "/X": "file_not_found", "/../x": "invalid_path"} {
		_, err := f.Open(ctx, path)
		wantCode(t, path, err, code)
	}
}

// testDamagedContent changes and removes a blob under a reader: what is wrong
// never comes out as whole.
func testDamagedContent(t *testing.T, s Stores) {
	all, _, folder, _ := trees(t, s)
	f, ctx := all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{}), t.Context()
	content := noise(300_000, 9)
	must(t, f.Write(ctx, "/x", content))
	blob := theBlob(t, folder)
	for what, broken := range map[string][]byte{"changed": append(noise(299_999, 9), '?'), "short": content[:100]} {
		must(t, os.WriteFile(blob, broken, 0o600))
		opened, err := f.Open(ctx, "/x")
		must(t, err)
		got, err := io.ReadAll(opened)
		if err == nil || len(got) >= len(content) {
			t.Errorf("a blob that is %s: %d bytes, %v", what, len(got), err)
		}
		must(t, opened.Close())
	}
	// An upload of the same puts it right.
	_, err := f.Upload(ctx, "/y", bytes.NewReader(content), files.Upload{Size: -1})
	must(t, err)
	if got, err := f.Read(ctx, "/x", 1<<20); err != nil || !bytes.Equal(got, content) {
		t.Errorf("after it was uploaded again: %d bytes, %v", len(got), err)
	}
}

// theBlob returns the only file below a folder.
func theBlob(t *testing.T, folder string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "??", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the blobs are %v, %v", found, err)
	}
	return found[0]
}

// endless gives zeros for ever and counts them.
type endless struct{ given int64 }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.given += int64(len(p))
	return len(p), nil
}

// testUploadsRefused: what is refused leaves nothing behind, and is refused as
// early as it is known.
func testUploadsRefused(t *testing.T, s Stores) {
	all, _, folder, _ := trees(t, s)
	a := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(a.ID, files.Quota{Bytes: 20 << 20, File: 12 << 20, Nodes: 3}), t.Context()
	must(t, f.Write(ctx, "/dir/a", noise(10<<20, 1)))
	cut := errors.New("the line is cut")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	refusal := errors.New("not this one")
	for _, test := range []struct {
		what  string
		ctx   context.Context
		path  string
		from  io.Reader
		u     files.Upload
		code  string // or
		is    error
		reads int64 // at most
	}{
		{what: "too large, and says so", path: "/b", u: files.Upload{Size: 12<<20 + 1}, code: "limit_exceeded"},
		{what: "too large", path: "/dir/a", u: files.Upload{Size: -1}, code: "limit_exceeded", reads: 13 << 20},
		{what: "larger than it said", path: "/dir/a", u: files.Upload{Size: 5}, code: "limit_exceeded", reads: 13 << 20},
		{what: "too much together, and says so", path: "/b", u: files.Upload{Size: 10<<20 + 1}, code: "quota_exceeded"},
		{what: "too much together", path: "/b", u: files.Upload{Size: -1}, code: "quota_exceeded", reads: 11 << 20},
		{what: "too many nodes", path: "/x/y", u: files.Upload{Size: 1}, code: "quota_exceeded"},
		{what: "a folder", path: "/dir", u: files.Upload{Size: 1}, code: "is_folder"},
		{what: "below a file", path: "/dir/a/b", u: files.Upload{Size: 1}, code: "not_a_folder"},
		{what: "a twin", path: "/dir/A", u: files.Upload{Size: 1}, code: "invalid_path"},
		{what: "a bad path", path: "/../a", u: files.Upload{Size: 1}, code: "invalid_path"},
		{what: "a condition", path: "/dir/a", u: files.Upload{Size: 1, If: func(string, time.Time) error { return refusal }}, is: refusal},
		{what: "a cut line", path: "/b", u: files.Upload{Size: -1}, from: io.MultiReader(bytes.NewReader(noise(9<<20, 2)), iotest.ErrReader(cut)), is: cut},
		{what: "a cut body", path: "/b", u: files.Upload{Size: -1}, from: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)), is: io.ErrUnexpectedEOF},
		{what: "an ended context", ctx: ended, path: "/b", u: files.Upload{Size: -1}, is: context.Canceled},
	} {
		zeros := &endless{}
		if test.from == nil {
			test.from = zeros
		}
		if test.ctx == nil {
			test.ctx = ctx
		}
		_, err := f.Upload(test.ctx, test.path, test.from, test.u)
		if test.is != nil {
			wantError(t, test.what, err, test.is)
		} else {
			wantCode(t, test.what, err, test.code)
		}
		if zeros.given > test.reads {
			t.Errorf("%s: %d bytes were read", test.what, zeros.given)
		}
	}
	wantUsage(t, s, a.ID, 10<<20, 2)
	if n := blobCount(t, folder); n != 2 {
		t.Errorf("%d blobs are there, not the 2 of the file that was", n)
	}
	// A file may be replaced by one that fits in its place.
	_, err := f.Upload(ctx, "/dir/a", bytes.NewReader(noise(12<<20, 4)), files.Upload{Size: 12 << 20})
	must(t, err)
	wantUsage(t, s, a.ID, 12<<20, 2)
}

// testUploadConditions: of those who replace what they have seen, one wins.
func testUploadConditions(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	f, ctx := all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{}), t.Context()
	changed := errors.New("it has changed")
	same := func(want string) files.Condition {
		return func(tag string, _ time.Time) error {
			if tag != want {
				return changed
			}
			return nil
		}
	}
	seen, err := f.Upload(ctx, "/x", strings.NewReader("first"), files.Upload{Size: 5, If: same("")})
	must(t, err)
	_, err = f.Upload(ctx, "/x", strings.NewReader("second"), files.Upload{Size: 6, If: same("")})
	wantError(t, "a file that is there", err, changed)
	var won sync.Map
	errs := atOnce(8, func(i int) error {
		content := fmt.Sprintf("by %d", i)
		tag, err := f.Upload(ctx, "/x", strings.NewReader(content), files.Upload{Size: -1, If: same(seen)})
		if err == nil {
			won.Store(tag, content)
		}
		return err
	})
	wins := 0
	for _, err := range errs {
		if err == nil {
			wins++
		} else if !errors.Is(err, changed) {
			t.Error(err)
		}
	}
	opened, err := f.Open(ctx, "/x")
	must(t, err)
	content, err := io.ReadAll(opened)
	must(t, errors.Join(err, opened.Close()))
	if wanted, ok := won.Load(opened.Tag()); wins != 1 || !ok || wanted != string(content) {
		t.Errorf("%d won, and the file is %q", wins, content)
	}
	wantError(t, "removing what was", f.RemoveIf(ctx, "/x", same(seen)), changed)
	must(t, f.RemoveIf(ctx, "/x", same(opened.Tag())))
	wantCode(t, "removing what is gone", f.RemoveIf(ctx, "/x", same("")), "file_not_found")
}

// oneRoom is a room of so many bytes, shared with nothing.
type oneRoom struct {
	mu     sync.Mutex
	bytes  int64
	coming int64
	most   int64 // ever claimed at once
}

func (r *oneRoom) ReserveFiles(_ context.Context, c, held files.Reservation) (func(), bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.After+r.coming-(held.After-held.Before) > r.bytes {
		return nil, false, nil
	}
	growth := c.After - c.Before
	r.coming += growth
	r.most = max(r.most, r.coming)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.coming -= growth
	}, true, nil
}

// testUploadRoom: room is kept for an upload while it comes, and given back.
func testUploadRoom(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	room := &oneRoom{bytes: 3 << 20}
	f, ctx := all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{Bytes: 3 << 20, Storage: room}), t.Context()
	for _, known := range []int64{2 << 20, -1} {
		room.most = 0
		_, err := f.Upload(ctx, "/x", bytes.NewReader(noise(2<<20, 1)), files.Upload{Size: known})
		must(t, err)
		if room.coming != 0 || known > 0 && room.most != 4<<20 { // as it comes, and then as it is stored
			t.Errorf("of %d bytes, %d were claimed, and %d still are", known, room.most, room.coming)
		}
		// While one comes, another finds only what it leaves.
		_, err = f.Upload(ctx, "/y", io.MultiReader(bytes.NewReader(noise(700<<10, 2)), hook(func() {
			_, err := f.Upload(ctx, "/z", bytes.NewReader(noise(700<<10, 3)), files.Upload{Size: -1})
			wantCode(t, "no room beside the other", err, "quota_exceeded")
		})), files.Upload{Size: -1})
		must(t, err)
		must(t, f.Remove(ctx, "/y"))
		must(t, f.Remove(ctx, "/x"))
		if room.coming != 0 {
			t.Errorf("%d bytes are still claimed", room.coming)
		}
	}
}

// hook is an empty stream that does something when it is read.
type hook func()

func (h hook) Read([]byte) (int, error) {
	h()
	return 0, io.EOF
}

// testUploadSweeps sweeps while an upload is under way, and after one whose
// process died.
func testUploadSweeps(t *testing.T, s Stores) {
	all, blobs, folder, _ := trees(t, s)
	f, ctx := all.For(create(t, s.Accounts, person("ada")).ID, files.Quota{}), t.Context()
	sweep := func(now time.Time) int {
		t.Helper()
		n, err := blobs.Sweep(ctx, s.Files, now, 24*time.Hour)
		must(t, err)
		return n
	}
	content := noise(9<<20, 5)
	_, err := f.Upload(ctx, "/x", io.MultiReader(bytes.NewReader(content), hook(func() {
		for range 2 {
			if n := sweep(time.Now().Add(12 * time.Hour)); n != 0 {
				t.Errorf("%d files of an upload were swept away", n)
			}
		}
	})), files.Upload{Size: -1})
	must(t, err)
	if got, err := f.Read(ctx, "/x", 1<<30); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// The same content again, when nothing has referred to it for long: it is dead
	// from when it is removed again.
	must(t, f.Remove(ctx, "/x"))
	sweep(time.Now().Add(-time.Hour))
	_, err = f.Upload(ctx, "/y", bytes.NewReader(content), files.Upload{Size: -1})
	must(t, err)
	must(t, f.Remove(ctx, "/y"))
	if n := sweep(time.Now().Add(23*time.Hour + 30*time.Minute)); n != 0 {
		t.Errorf("%d blobs were swept away that are not a day old", n)
	}
	left := filepath.Join(folder, ".ql-write-LEFT")
	must(t, os.WriteFile(left, []byte("half a piece"), 0o600))
	if n := sweep(time.Now().Add(48 * time.Hour)); n != 3 {
		t.Errorf("%d were swept away, not 2 blobs and what a dead process left", n)
	}
}
