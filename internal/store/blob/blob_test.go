package blob_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/store/blob"
	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bucket(server *s3test.Server, prefix string) *config.Bucket {
	return &config.Bucket{Name: s3test.Bucket, Prefix: prefix, Endpoint: server.Address, Plain: true, Region: s3test.Region}
}

// TestBoundToAFolder: a bucket has the blobs of one data folder, and a data folder has its blobs in one
// place.
func TestBoundToAFolder(t *testing.T) {
	server := s3test.Start(t)
	open := func(data string, b *config.Bucket, want string) {
		t.Helper()
		blobs, err := blob.Open(t.Context(), data, b)
		if want == "" {
			must(t, err)
			must(t, blobs.Close())
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	ada, bob, eve := t.TempDir(), t.TempDir(), t.TempDir()
	open(ada, bucket(server, "a/"), "")
	open(ada, bucket(server, "a/"), "")
	open(ada, nil, "are in a bucket: say where by --blobs")
	open(ada, bucket(server, "b/"), "another bucket, or below another prefix")
	open(bob, bucket(server, "a/"), "belongs to another data folder")
	open(bob, bucket(server, "b/"), "")
	open(ada, bucket(server, "b/"), "belongs to another data folder")
	open(eve, nil, "")
	open(eve, bucket(server, "e/"), "") // nothing is in the folder
	must(t, os.RemoveAll(eve))
	must(t, os.MkdirAll(eve+"/"+sqlite.BlobFolder+"/00", 0o700))
	must(t, os.WriteFile(eve+"/"+sqlite.BlobFolder+"/00/x", nil, 0o600))
	open(eve, bucket(server, "f/"), "cannot be moved to a bucket yet")
	open(eve, nil, "")
	missing := bucket(server, "")
	missing.Name = "no-such-bucket"
	open(t.TempDir(), missing, "the bucket no-such-bucket")
}

// service is the files of one account, whose content is in a bucket.
type service struct {
	server *s3test.Server
	rows   files.Store
	blobs  *files.Blobs
	trees  *files.Trees
	id     account.ID
	files  *files.Tree
}

func start(t *testing.T) *service {
	t.Helper()
	s := &service{server: s3test.Start(t)}
	data := sqlitetest.Folder(t)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Folder: data, Own: true})
	must(t, err)
	s.blobs, err = blob.Open(t.Context(), data, bucket(s.server, ""))
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(s.blobs.Close(), store.Close())) })
	s.id, err = store.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Standard, Created: time.Now()})
	must(t, err)
	s.rows = store.Files()
	s.trees = files.NewTrees(s.rows, s.blobs, time.Now)
	s.files = s.trees.For(s.id, files.Quota{})
	return s
}

// objects returns how many objects of a kind the bucket has.
func (s *service) objects(t *testing.T, kind string) int {
	t.Helper()
	list, err := os.ReadDir(s.server.Path(kind))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content) // never fails
	return content
}

// TestLifeOfABlob: content that nothing refers to stays for a day; who writes it again has it back;
// while its removal may still take effect it cannot be written, and later it can.
func TestLifeOfABlob(t *testing.T) {
	s, ctx, now := start(t), t.Context(), time.Now()
	content := noise(100_000)
	sweep := func(after time.Duration, left int) {
		t.Helper()
		_, err := s.blobs.Sweep(ctx, s.rows, now.Add(after), 24*time.Hour)
		must(t, err)
		if got := s.objects(t, "blobs"); got != left {
			t.Errorf("after %v the bucket has %d blobs, want %d", after, got, left)
		}
	}
	write := func() error { return s.files.Write(ctx, "/a", content) }
	must(t, write())
	must(t, s.files.Remove(ctx, "/a"))
	sweep(0, 1)
	sweep(23*time.Hour, 1)
	if n, err := s.blobs.SweepDead(ctx, s.rows, time.Time{}, 0); n != 0 || err != nil {
		t.Errorf("for want of space on a disk %d were removed, %v", n, err)
	}
	must(t, write())
	sweep(47*time.Hour, 1) // it is back
	must(t, s.files.Remove(ctx, "/a"))
	sweep(48*time.Hour, 1)
	sweep(73*time.Hour, 0)
	if err := write(); !fault.Is(err, fault.StorageUnavailable) || !errors.Is(err, files.ErrDeleting) {
		t.Errorf("while it is being removed: %v", err)
	}
	used, err := s.rows.Usage(ctx, s.id)
	must(t, err)
	if used.Dead != int64(len(content)) { // what the write that failed has put
		t.Errorf("the account has %+v", used)
	}
	// The moment of a removal is now, and not that of the sweep.
	must(t, s.rows.DropDeletions(ctx, time.Now().Add(-9*time.Minute)))
	if err := write(); !errors.Is(err, files.ErrDeleting) {
		t.Errorf("nine minutes later: %v", err)
	}
	must(t, s.rows.DropDeletions(ctx, time.Now()))
	must(t, write())
	if got, err := s.files.Read(ctx, "/a", 1<<20); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	// An account that needs the room has it at once.
	must(t, s.files.Remove(ctx, "/a"))
	if freed, err := s.trees.Reclaim(ctx, s.id, 1<<40); err != nil || freed != int64(len(content)) {
		t.Errorf("%d bytes were reclaimed, %v", freed, err)
	}
	if used, err = s.rows.Usage(ctx, s.id); err != nil || used.Dead != 0 {
		t.Errorf("then it has %+v, %v", used, err)
	}
}

// TestUpload: whatever the size of a file, no more than a little of it is in memory; of an upload that is
// given up, nothing is left; and a range is read without what is before it.
func TestUpload(t *testing.T) {
	s, ctx := start(t), t.Context()
	const size = 40<<20 + 300_000
	content := noise(size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.files.Upload(ctx, "/large", bytes.NewReader(content), files.Upload{Size: -1})
	must(t, err)
	runtime.ReadMemStats(&after)
	if held := after.TotalAlloc - before.TotalAlloc; held > size/4 {
		t.Errorf("the upload of %d bytes took %d", size, held)
	}
	if blobs, writes := s.objects(t, "blobs"), s.objects(t, "writes"); blobs != 6 || writes != 0 {
		t.Errorf("the bucket has %d blobs and %d that are being written", blobs, writes)
	}
	c, err := s.files.Open(ctx, "/large")
	must(t, err)
	for _, at := range []int64{size - 100, 0, 17 << 20, 8<<20 - 50} {
		_, err := c.Seek(at, io.SeekStart)
		must(t, err)
		got := make([]byte, 100)
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, content[at:at+100]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	must(t, c.Close())

	cut := io.MultiReader(bytes.NewReader(content[1:20<<20]), failing{})
	if _, err := s.files.Upload(ctx, "/cut", cut, files.Upload{Size: -1}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an upload that is cut off: %v", err)
	}
	if blobs, writes := s.objects(t, "blobs"), s.objects(t, "writes"); blobs != 6 || writes != 0 {
		t.Errorf("then the bucket has %d blobs and %d that are being written", blobs, writes)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
