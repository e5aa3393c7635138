package resource

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/store/sqlite"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// onDisk returns how many bytes there are of an account that is alone on the
// node: its databases with all that stands beside them, and blobs, under whatever
// name.
func onDisk(t *testing.T, a *node, id account.ID) (bytes int64) {
	t.Helper()
	for _, folder := range []string{filepath.Join(a.settings.Data, sqlite.BlobFolder), a.pool.AccountFolder(id)} {
		err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it went while it was looked at
			}
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				bytes += info.Size()
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return bytes
}

// usedStorage is what a script finds in !QUOTA("storage").
func usedStorage(t *testing.T, r engine.Resources) int64 {
	t.Helper()
	v, err := r.Quota(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	storage, _ := v.Map().Get("storage")
	used, _ := storage.Map().Get("used")
	return used.Int64()
}

// smallStorage holds the free plan to so many bytes.
func smallStorage(bytes int64, data string) func(*config.Settings) {
	return func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.StorageBytes, l.FileBytes = bytes, bytes
		s.Plans[account.Free], s.Data = l, data
	}
}

func random(chance *rand.Rand, size int) []byte {
	content := make([]byte, size)
	for i := 0; i < len(content); i += 8 {
		for j, n := 0, chance.Uint64(); j < 8 && i+j < len(content); j++ {
			content[i+j] = byte(n >> (8 * j))
		}
	}
	return content
}

// TestPromiseOverwritesStayWithinTheStorage: who overwrites a file again and again
// neither fills the disk nor is refused, and what is counted is what is there; so
// too when the service is started anew in the middle.
func TestPromiseOverwritesStayWithinTheStorage(t *testing.T) {
	rounds := 60
	if os.Getenv("QL_PROMISES") != "" {
		rounds = 2000
	}
	const bound, size = 4 << 20, 1_000_000
	folder := t.TempDir()
	a := start(t, smallStorage(bound, folder))
	r := reach(t, a)
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range rounds {
		if i == rounds/2 {
			if err := a.stop(); err != nil {
				t.Fatal(err)
			}
			a = start(t, smallStorage(bound, folder))
			r = reach(t, a)
		}
		if err := r.Files.Write(t.Context(), "/a", random(chance, size)); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		disk, used := onDisk(t, a, dev.ID), usedStorage(t, r)
		if disk > bound {
			t.Fatalf("round %d: %d bytes are on the disk, of %d", i, disk, bound)
		}
		if used < disk || used > disk+64<<10 {
			t.Fatalf("round %d: %d bytes are on the disk, and %d are counted", i, disk, used)
		}
	}
	// Full to the last byte, a file can still be replaced.
	if err := r.Files.Write(t.Context(), "/b", random(chance, bound-size)); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := r.Files.Write(t.Context(), "/a", random(chance, size)); err != nil {
			t.Fatalf("full, round %d: %v", i, err)
		}
		if disk := onDisk(t, a, dev.ID); disk > bound+overlap {
			t.Fatalf("full, round %d: %d bytes are on the disk", i, disk)
		}
	}
	wantCode(t, "one byte more", r.Files.Write(t.Context(), "/c", []byte("x")), "quota_exceeded")
}

// TestUploadsCount: an upload counts while it comes, all of it, and nothing of one
// that is cut off stays.
func TestUploadsCount(t *testing.T) {
	const bound = 4 << 20
	a := start(t, smallStorage(bound, t.TempDir()))
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, release := a.pool.Tree(dev.ID, a.settings.Limits(dev.Plan))
	defer release()
	r := reach(t, a)
	chance := rand.New(rand.NewPCG(1, 3))
	always := func(string, time.Time) error { return nil }
	cut := errors.New("the line was cut")
	for i := range 20 {
		within := func() {
			disk, used := onDisk(t, a, dev.ID), usedStorage(t, r)
			if disk > bound+overlap || used < disk {
				t.Errorf("upload %d: %d bytes are on the disk, %d are counted", i, disk, used)
			}
		}
		body := io.MultiReader(bytes.NewReader(random(chance, 3<<20)), reading(func() (int, error) {
			within()
			return 0, cut
		}))
		if _, err := tree.Upload(t.Context(), "/x", body, files.Upload{Size: -1, If: always}); !errors.Is(err, cut) {
			t.Fatal(err)
		}
		if disk, used := onDisk(t, a, dev.ID), usedStorage(t, r); disk != 0 || used != 0 {
			t.Fatalf("upload %d left %d bytes, and %d are counted", i, disk, used)
		}
	}
}

// TestReceivedCounts: content that has come and is no file yet is counted, within what the account may
// store, until it is a file or given up.
func TestReceivedCounts(t *testing.T) {
	const bound = 4 << 20
	a := start(t, smallStorage(bound, t.TempDir()))
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, release := a.pool.Tree(dev.ID, a.settings.Limits(dev.Plan))
	defer release()
	r := reach(t, a)
	chance := rand.New(rand.NewPCG(1, 4))
	receive := func(size int) (*files.Received, error) {
		return tree.Receive(t.Context(), "x", bytes.NewReader(random(chance, size)))
	}
	first, err := receive(3 << 20)
	if err != nil || first.Size() != 3<<20 {
		t.Fatal(err)
	}
	_, err = receive(2 << 20)
	wantCode(t, "more than is left", err, "quota_exceeded")
	if disk, used := onDisk(t, a, dev.ID), usedStorage(t, r); disk != 3<<20 || used < disk {
		t.Errorf("%d bytes are on the disk, %d are counted", disk, used)
	}
	if err := first.Store(t.Context(), "/uploads/x"); err != nil {
		t.Fatal(err)
	}
	first.Discard()
	content, err := r.Files.Read(t.Context(), "/uploads/x", bound)
	if err != nil || len(content) != 3<<20 {
		t.Errorf("the file has %d bytes: %v", len(content), err)
	}
	second, err := receive(500_000)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a path that is none", second.Store(t.Context(), "/uploads/x/y"), "not_a_folder")
	second.Discard()
	second.Discard()
	small, err := receive(10)
	if err != nil {
		t.Fatal(err)
	}
	small.Discard()
	cut := io.MultiReader(bytes.NewReader(random(chance, 500_000)), reading(func() (int, error) { return 0, io.ErrUnexpectedEOF }))
	if _, err := tree.Receive(t.Context(), "x", cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of one that is cut off: %v", err)
	}
	if disk, used := onDisk(t, a, dev.ID), usedStorage(t, r); disk != 3<<20 || used < disk || used > disk+64<<10 {
		t.Errorf("in the end %d bytes are on the disk, %d are counted", disk, used)
	}
}

type reading func() (int, error)

func (r reading) Read([]byte) (int, error) { return r() }

// TestWhatIsCountedIsOnTheDisk does things at random, and compares what is counted
// with what a walk over the disk finds after each.
func TestWhatIsCountedIsOnTheDisk(t *testing.T) {
	rounds := 150
	if os.Getenv("QL_PROMISES") != "" {
		rounds = 3000
	}
	const bound = 6 << 20
	folder := t.TempDir()
	a := start(t, smallStorage(bound, folder))
	r := reach(t, a)
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	chance := rand.New(rand.NewPCG(seed, 1))
	ctx := t.Context()
	path := func() string { return fmt.Sprintf("/%d", chance.IntN(4)) }
	database := func() string { return []string{"a", "b"}[chance.IntN(2)] }
	refused := 0
	for i := range rounds {
		var err error
		what := chance.IntN(11)
		switch what {
		case 0, 1:
			err = r.Files.Write(ctx, path(), random(chance, 1+chance.IntN(1<<20)))
		case 2:
			err = r.Files.Append(ctx, path(), random(chance, 1+chance.IntN(300_000)))
		case 3:
			err = r.Files.Remove(ctx, path())
		case 4:
			err = r.Files.Move(ctx, path(), path())
		case 5:
			tree := a.pool.tree(a.pool.handles[dev.ID], a.settings.Limits(dev.Plan))
			content := random(chance, 1+chance.IntN(1<<20))
			from := io.Reader(bytes.NewReader(content))
			if chance.IntN(2) == 0 {
				from = io.MultiReader(from, reading(func() (int, error) { return 0, io.ErrUnexpectedEOF }))
			}
			_, err = tree.Upload(ctx, path(), from, files.Upload{Size: -1})
		case 6:
			_, err = a.pool.o.Trees.Reclaim(ctx, dev.ID, int64(chance.IntN(1<<20)))
		case 7:
			if chance.IntN(10) == 0 {
				if err := a.stop(); err != nil {
					t.Fatal(err)
				}
				a = start(t, smallStorage(bound, folder))
				r = reach(t, a)
			}
		case 8:
			err = sql(t, r, database(), "CREATE TABLE IF NOT EXISTS t(x)")
		case 9:
			err = sql(t, r, database(), fmt.Sprintf("INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %d) SELECT hex(randomblob(2000)) FROM c", 1+chance.IntN(300)))
		case 10:
			err = sql(t, r, database(), []string{"UPDATE t SET x = hex(randomblob(1900))", "DELETE FROM t WHERE rowid % 2", "SELECT count(*) FROM t"}[chance.IntN(3)])
		}
		var told *value.Error
		if err != nil && !errors.As(err, &told) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("seed %d, round %d, %d: %v", seed, i, what, err)
		}
		if told != nil && told.Code == "quota_exceeded" {
			refused++
		}
		// Up to four tails stand in rows, and pages of databases in their logs alone.
		disk, used, logs := onDisk(t, a, dev.ID), usedStorage(t, r), int64(0)
		for _, name := range []string{"a", "b"} {
			if info, err := os.Stat(filepath.Join(a.pool.databaseFolder(dev.ID), name+".db-wal")); err == nil {
				logs += info.Size()
			}
		}
		if disk > bound+overlap+2*sharedIndex || disk > used+2*sharedIndex || used > disk+logs+4*64<<10 {
			t.Fatalf("seed %d, round %d, %d: %d bytes are on the disk, %d of them logs, and %d are counted", seed, i, what, disk, logs, used)
		}
	}
	t.Logf("%d of %d were refused", refused, rounds)
}

// sharedIndex is what stands beside a log to find its pages, by database.
const sharedIndex = 256 << 10

// TestPromiseLogsStayWithinTheStorage: changes beside a statement that reads on and
// on make the log grow to its bound and no further, whatever is counted is there,
// and no change is refused.
func TestPromiseLogsStayWithinTheStorage(t *testing.T) {
	rounds := 40
	if os.Getenv("QL_PROMISES") != "" {
		rounds = 1000
	}
	const bound = 16 << 20
	a := start(t, smallStorage(bound, t.TempDir()))
	r := reach(t, a)
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"CREATE TABLE t(x)", "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 500) SELECT hex(zeroblob(1900)) FROM c"} {
		if err := sql(t, r, "", text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reading := func() <-chan error {
		done := make(chan error, 1)
		go func() {
			const text = "SELECT count(*) FROM t, (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)"
			_, err := r.Databases.Query(ctx, "", engine.Query{Statement: &bytecode.Statement{Head: "SELECT", Texts: []string{text}}})
			done <- err
		}()
		return done
	}
	done, ended := reading(), 0
	for i := range rounds {
		if err := sql(t, r, "", "UPDATE t SET x = x || '-'"); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		disk, used := onDisk(t, a, dev.ID), usedStorage(t, r)
		if disk > bound+overlap+sharedIndex {
			t.Fatalf("round %d: %d bytes are on the disk, of %d", i, disk, bound)
		}
		if disk > used+sharedIndex {
			t.Fatalf("round %d: %d bytes are on the disk, and %d are counted", i, disk, used)
		}
		select {
		case err := <-done:
			wantCode(t, "who reads for long", err, "database_busy")
			done = reading()
			ended++
		default:
		}
	}
	cancel()
	<-done
	if ended == 0 {
		t.Error("nobody who read was ended")
	}
	// Files find room again.
	if err := r.Files.Write(t.Context(), "/a", make([]byte, 8<<20)); err != nil {
		t.Errorf("a file beside it: %v", err)
	}
}

// TestReleasesCount: releases of a site are storage, the oldest go where a deploy needs their room, and
// what is counted is on the disk.
func TestReleasesCount(t *testing.T) {
	const bound, size = 4 << 20, 1_000_000
	a := start(t, smallStorage(bound, t.TempDir()))
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, release := a.pool.Tree(dev.ID, a.settings.Limits(dev.Plan))
	defer release()
	r := reach(t, a)
	chance := rand.New(rand.NewPCG(1, 4))
	deploy := func(contents map[string][]byte) error {
		digests := map[string]files.Hash{}
		for name, content := range contents {
			digests[name] = sha256.Sum256(content)
			if _, err := tree.StoreContent(t.Context(), digests[name], bytes.NewReader(content), int64(len(content))); err != nil {
				return err
			}
		}
		m, err := files.NewManifest(digests)
		if err != nil {
			return err
		}
		_, _, err = tree.Deploy(t.Context(), m, files.Deployment{})
		return err
	}
	for i := range 3 {
		if err := deploy(map[string][]byte{"a": random(chance, size), "b": random(chance, 1000)}); err != nil {
			t.Fatalf("deploy %d: %v", i, err)
		}
		disk, used := onDisk(t, a, dev.ID), usedStorage(t, r)
		if used < disk || used > disk+64<<10 {
			t.Fatalf("deploy %d: %d bytes are on the disk, and %d are counted", i, disk, used)
		}
	}
	// There is room for what is sent, and none for the rows of one more release.
	used := usedStorage(t, r)
	if err := r.Files.Write(t.Context(), "/rest", random(chance, int(bound-used-70_100))); err != nil {
		t.Fatal(err)
	}
	if err := deploy(map[string][]byte{"c": random(chance, 40_000)}); err != nil {
		t.Fatal(err)
	}
	list, err := tree.Releases(t.Context(), 0, 100)
	if err != nil || len(list) >= 4 || list[0].Number != 4 {
		t.Fatalf("the releases are %+v, %v", list, err)
	}
	if disk := onDisk(t, a, dev.ID); disk > bound+overlap {
		t.Errorf("%d bytes are on the disk", disk)
	}
	// A script's write makes nobody lose a release.
	wantCode(t, "a file that is too large beside the releases", r.Files.Write(t.Context(), "/large", random(chance, 3<<20)), "quota_exceeded")
	if now, err := tree.Releases(t.Context(), 0, 100); err != nil || len(now) != len(list) {
		t.Errorf("%d releases of %d are left, %v", len(now), len(list), err)
	}
	wantCode(t, "a site that is too large", deploy(map[string][]byte{"d": random(chance, bound)}), "quota_exceeded")
}
