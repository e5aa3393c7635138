package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
	"ql/internal/store/blob/dir"
)

// blobBytes returns how much is in the folder of blobs, whatever it is called.
func blobBytes(t *testing.T, folder string) (bytes int64) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	}))
	return bytes
}

func wantDead(t *testing.T, s Stores, a account.ID, want int64) {
	t.Helper()
	u, err := s.Files.Usage(t.Context(), a)
	must(t, err)
	list, err := s.Files.Dead(t.Context(), files.DeadQuery{Account: a}, 1000)
	must(t, err)
	sum := int64(0)
	for _, d := range list {
		sum += d.Size
	}
	if u.Dead != want || sum != want {
		t.Errorf("%d bytes are counted as dead, %d are, want %d", u.Dead, sum, want)
	}
}

// testDead follows content from the last that refers to it to the sweep: it is
// the account's all the while.
func testDead(t *testing.T, s Stores) {
	all, blobs, folder, c := trees(t, s)
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	f, g, ctx := all.For(ada.ID, files.Quota{}), all.For(bob.ID, files.Quota{}), t.Context()
	const size = 70_000
	one, two := noise(size, 1), noise(size, 2)
	for _, step := range []struct {
		what     string
		do       func() error
		ada, bob int64
	}{
		{"written", func() error { return f.Write(ctx, "/a", one) }, 0, 0},
		{"the same again", func() error { return f.Write(ctx, "/a", one) }, 0, 0},
		{"overwritten", func() error { return f.Write(ctx, "/a", two) }, size, 0},
		{"back again", func() error { return f.Write(ctx, "/b", one) }, 0, 0},
		{"another's too", func() error { return g.Write(ctx, "/b", one) }, 0, 0},
		{"removed", func() error { return f.Remove(ctx, "/b") }, 0, 0},
		{"removed by the last that had it", func() error { return g.Remove(ctx, "/b") }, 0, size},
		{"and back by the other", func() error { return f.Write(ctx, "/c", one) }, 0, 0},
		{"replaced by a move", func() error { return f.Move(ctx, "/a", "/c") }, size, 0},
		{"replaced by a copy", func() error {
			return errors.Join(f.Write(ctx, "/small", []byte("small")), f.Copy(ctx, "/small", "/c"))
		}, 2 * size, 0},
		{"back by an upload", func() error {
			_, err := f.Upload(ctx, "/d", bytes.NewReader(one), files.Upload{Size: size})
			return err
		}, size, 0},
		{"shared", func() error { return s.Shares.Create(ctx, link(ada.ID, 1, "/d")) }, size, 0},
		{"removed while shared", func() error { return f.Remove(ctx, "/d") }, size, 0},
		{"and shared no more", func() error {
			return errors.Join(s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 1, "").Token, noon), prune(ctx, s, noon))
		}, 2 * size, 0},
	} {
		must(t, step.do())
		t.Log(step.what)
		wantDead(t, s, ada.ID, step.ada)
		wantDead(t, s, bob.ID, step.bob)
	}
	// Each byte that is appended is written more than once.
	for i := range 40 {
		must(t, f.Append(ctx, "/log", noise(100_000, byte(10+i))))
	}
	u, err := s.Files.Usage(ctx, ada.ID)
	must(t, err)
	if held, on := u.Bytes+u.Dead, blobBytes(t, folder); on > held || on < held-3*64<<10 {
		t.Errorf("%d bytes are on the disk, and %d are counted", on, held)
	}
	_, err = blobs.Sweep(ctx, s.Files, c.time(), 24*time.Hour)
	must(t, err)
	must(t, s.Accounts.Delete(ctx, ada.ID))
	_, err = blobs.Sweep(ctx, s.Files, c.time().Add(25*time.Hour), 24*time.Hour)
	must(t, err)
	_, err = blobs.Sweep(ctx, s.Files, c.time().Add(50*time.Hour), 24*time.Hour)
	must(t, err)
	if n := blobCount(t, folder); n != 0 {
		t.Errorf("%d blobs are left of an account that is gone", n)
	}
	wantDead(t, s, ada.ID, 0)
}

func prune(ctx context.Context, s Stores, now time.Time) error {
	_, err := s.Shares.Prune(ctx, now, now, 100)
	return err
}

// testReclaim removes dead content before its time: not what somebody reads, and
// not what a link leads to.
func testReclaim(t *testing.T, s Stores) {
	all, _, folder, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(ada.ID, files.Quota{}), t.Context()
	const size = 9 << 20 // two chunks
	read, linked, idle := noise(size, 1), noise(70_000, 2), noise(80_000, 3)
	must(t, f.Write(ctx, "/read", read))
	must(t, f.Write(ctx, "/linked", linked))
	must(t, f.Write(ctx, "/idle", idle))
	must(t, s.Shares.Create(ctx, link(ada.ID, 1, "/linked")))
	opened, err := f.Open(ctx, "/read")
	must(t, err)
	for _, path := range []string{"/read", "/linked", "/idle"} {
		must(t, f.Write(ctx, path, []byte("another")))
	}
	wantDead(t, s, ada.ID, size+80_000)
	reclaim := func(want int64) {
		t.Helper()
		if freed, err := all.Reclaim(ctx, ada.ID, 1<<40); err != nil || freed != want {
			t.Errorf("%d bytes were reclaimed, want %d: %v", freed, want, err)
		}
	}
	reclaim(80_000)
	wantDead(t, s, ada.ID, size)
	if got, err := io.ReadAll(opened); err != nil || !bytes.Equal(got, read) {
		t.Errorf("what was being read came as %d bytes, %v", len(got), err)
	}
	must(t, opened.Close())
	reclaim(size)
	wantDead(t, s, ada.ID, 0)
	_, content, err := s.Shares.Find(ctx, link(ada.ID, 1, "").Token)
	must(t, err)
	chunks := make([]files.Chunk, len(content.Chunks))
	for i, c := range content.Chunks {
		chunks[i] = files.Chunk{Hash: c.Hash, Size: c.Size}
	}
	// As it is loaded, the link is taken back and what it leads to is swept.
	loading := all.OpenContent(chunks, content.Tail)
	must(t, s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 1, "").Token, noon))
	must(t, prune(ctx, s, noon))
	reclaim(0)
	if got, err := io.ReadAll(loading); err != nil || !bytes.Equal(got, linked) {
		t.Errorf("what was shared came as %d bytes, %v", len(got), err)
	}
	must(t, loading.Close())
	reclaim(70_000)
	if n := blobCount(t, folder); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
}

// testDeadAcrossRestarts: the time of dead content goes on, however often its
// process is ended, and what nothing tells of has a time of its own.
func testDeadAcrossRestarts(t *testing.T, s Stores) {
	all, _, folder, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(ada.ID, files.Quota{}), t.Context()
	must(t, f.Write(ctx, "/a", noise(70_000, 1)))
	must(t, f.Remove(ctx, "/a"))
	stray := filepath.Join(folder, "ab", fmt.Sprintf("%062d", 7))
	must(t, os.WriteFile(stray, noise(100, 1), 0o600))
	for i, want := range []int{0, 0, 0, 2} {
		blobs, err := dir.OpenBlobs(folder)
		must(t, err)
		n, err := blobs.Sweep(ctx, s.Files, noon.Add(time.Duration(i)*8*time.Hour), 24*time.Hour)
		must(t, errors.Join(err, blobs.Close()))
		if n != want {
			t.Errorf("start %d: %d blobs were removed, want %d", i, n, want)
		}
	}
	wantDead(t, s, ada.ID, 0)
}

// testFailedWrites: what a change wrote that failed is gone, or counted.
func testFailedWrites(t *testing.T, s Stores) {
	all, blobs, folder, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	ctx, cancel := context.WithCancel(t.Context())
	left := errors.New("the caller has gone")
	f := all.For(ada.ID, files.Quota{})
	must(t, f.Write(ctx, "/kept", noise(70_000, 9)))
	_, err := f.Upload(ctx, "/x", bytes.NewReader(noise(9<<20, 1)), files.Upload{Size: 9 << 20, If: func() files.Condition {
		asked := 0
		return func(string, time.Time) error {
			if asked++; asked > 1 {
				return left
			}
			return nil
		}
	}()})
	wantError(t, "an upload that is refused at its end", err, left)
	for i := range 5 {
		// Its rows are not stored.
		failing := files.NewTrees(failingRows{s.Files, left}, blobs, time.Now).For(ada.ID, files.Quota{})
		wantError(t, "a write", failing.Write(ctx, "/x", noise(9<<20, byte(i))), left)
		wantError(t, "one of what another file has", failing.Write(ctx, "/x", noise(70_000, 9)), left)
	}
	cancel()
	if n := blobCount(t, folder); n != 1 {
		t.Errorf("%d blobs of writes that failed are left", n-1)
	}
	wantDead(t, s, ada.ID, 0)
	// While another process relies on blobs, it stays and counts.
	blobs.SetRemovalLock(func() (func(), bool) { return nil, false })
	failing := files.NewTrees(failingRows{s.Files, left}, blobs, time.Now).For(ada.ID, files.Quota{})
	wantError(t, "a write", failing.Write(t.Context(), "/x", noise(70_000, 1)), left)
	wantDead(t, s, ada.ID, 70_000)
	if got, err := f.Read(t.Context(), "/kept", 1<<20); err != nil || !bytes.Equal(got, noise(70_000, 9)) {
		t.Errorf("a file of the same content: %d bytes, %v", len(got), err)
	}
}

// failingRows stores nothing.
type failingRows struct {
	files.Store
	err error
}

func (r failingRows) Apply(context.Context, account.ID, files.Usage, files.Usage, []files.Change) (bool, error) {
	return false, r.err
}

// testSweepRace writes and removes the same few contents while all that is dead
// is swept at once: nothing that is referred to is ever missing.
func testSweepRace(t *testing.T, s Stores) {
	all, blobs, folder, _ := trees(t, s)
	var owners []account.ID
	for i := range 3 {
		owners = append(owners, create(t, s.Accounts, person(fmt.Sprintf("ada%d", i))).ID)
	}
	ctx := t.Context()
	contents := [][]byte{noise(70_000, 1), noise(80_000, 2)}
	must(t, errors.Join(atOnce(6, func(i int) error {
		f := all.For(owners[i%3], files.Quota{})
		path := fmt.Sprintf("/%d", i)
		for round := range 30 {
			if i == 5 {
				if _, err := blobs.SweepDead(ctx, s.Files, time.Time{}, 0); err != nil {
					return err
				}
				continue
			}
			content := contents[(round+i)%2]
			if err := f.Write(ctx, path, content); err != nil {
				return err
			}
			if got, err := f.Read(ctx, path, 1<<20); err != nil || !bytes.Equal(got, content) {
				return fmt.Errorf("%d bytes of %d: %w", len(got), len(content), err)
			}
			if i%2 == 0 {
				if err := f.Remove(ctx, path); err != nil {
					return err
				}
			}
			if _, err := all.Reclaim(ctx, owners[i%3], 1<<40); err != nil {
				return err
			}
		}
		return nil
	})...))
	_, err := blobs.SweepDead(ctx, s.Files, time.Time{}, 0)
	must(t, err)
	if n := blobCount(t, folder); n > 2 {
		t.Errorf("%d blobs of two contents", n)
	}
}
