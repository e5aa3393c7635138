package s3_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/store/blob/s3"
	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/storetest"
)

func open(t *testing.T, server *s3test.Server, prefix string) *s3.Store {
	t.Helper()
	s, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Prefix: prefix, Endpoint: server.Address, Plain: true, Region: s3test.Region, Spool: filepath.Join(t.TempDir(), "spool")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	server := s3test.Start(t)
	var n atomic.Int64
	storetest.RunBlobs(t, func(t *testing.T) files.BlobStore {
		return open(t, server, "suite/"+strconv.FormatInt(n.Add(1), 10)+"/")
	})
}

// put puts a blob, and returns where the server has it.
func put(t *testing.T, server *s3test.Server, s *s3.Store, prefix, content string, made bool) string {
	t.Helper()
	hash := sha256.Sum256([]byte(content))
	got, err := s.Put(hash, []byte(content))
	if err != nil || got != made {
		t.Errorf("%q was made: %t, %v", content, got, err)
	}
	return server.Path(prefix + "blobs/" + hex.EncodeToString(hash[:]))
}

// TestOldBlobIsPutAgain: who shares the bucket may be about to remove one that has been there for long,
// and one of another size is not the blob.
func TestOldBlobIsPutAgain(t *testing.T) {
	server := s3test.Start(t)
	s := open(t, server, "p/")
	at := put(t, server, s, "p/", "content", true)
	put(t, server, s, "p/", "content", false)
	for age, made := range map[time.Duration]bool{11 * time.Hour: false, 13 * time.Hour: true} {
		was := time.Now().Add(-age)
		must(t, os.Chtimes(at, was, was))
		put(t, server, s, "p/", "content", made)
	}
	must(t, os.WriteFile(at, []byte("cont"), 0o600))
	put(t, server, s, "p/", "content", true)
	if got, err := os.ReadFile(at); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestOutage: while the bucket does not answer, callers are told to come back, soon at once; and when it
// does, it is used again.
func TestOutage(t *testing.T) {
	server := s3test.Start(t)
	s := open(t, server, "")
	put(t, server, s, "", "before", true)
	w, err := s.Create()
	must(t, err)
	_, err = w.Write([]byte("on its way"))
	must(t, err)
	must(t, w.Finish())
	server.Stop()
	hash := files.Hash(sha256.Sum256([]byte("before")))
	for range 4 {
		_, err := s.Open(hash)
		if !fault.Is(err, fault.StorageUnavailable) {
			t.Errorf("a read says %v", err)
		}
		if _, err := s.Put(files.Hash{1}, nil); !fault.Is(err, fault.StorageUnavailable) {
			t.Errorf("a write says %v", err)
		}
	}
	onItsWay := files.Hash(sha256.Sum256([]byte("on its way")))
	if err := w.Publish(onItsWay); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("what was being written: %v", err)
	}
	server.Launch()
	for deadline := time.Now().Add(time.Minute); ; {
		err := w.Publish(onItsWay)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
	w.Discard()
	for _, content := range []string{"before", "on its way"} {
		r, err := s.Open(sha256.Sum256([]byte(content)))
		must(t, err)
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestSlowReaders has more blobs being read than there may be requests, by visitors who take nothing: others
// read and write all the same.
func TestSlowReaders(t *testing.T) {
	server := s3test.Start(t)
	s := open(t, server, "slow/")
	large := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16) // does not fit into what sockets hold
	hash := sha256.Sum256(large)
	_, err := s.Put(hash, large)
	must(t, err)
	for range 100 {
		r, err := s.Open(hash)
		must(t, err)
		defer func() { _ = r.Close() }()
		_, err = io.ReadFull(r, make([]byte, 10))
		must(t, err)
	}
	put(t, server, s, "slow/", "another", true)
	r, err := s.Open(hash)
	must(t, err)
	got, err := io.ReadAll(r)
	must(t, errors.Join(err, r.Close()))
	if !bytes.Equal(got, large) {
		t.Errorf("read %d bytes", len(got))
	}
}

// TestSpool: what is being written has no name on this machine.
func TestSpool(t *testing.T) {
	server := s3test.Start(t)
	folder := t.TempDir()
	s, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Endpoint: server.Address, Plain: true, Region: s3test.Region, Spool: folder})
	must(t, err)
	w, err := s.Create()
	must(t, err)
	content := bytes.Repeat([]byte("abcdefgh"), 1<<20)
	_, err = w.Write(content)
	must(t, err)
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("there is %v, %v", names, err)
	}
	must(t, w.Finish())
	must(t, w.Publish(sha256.Sum256(content)))
	if names, err := os.ReadDir(server.Path("writes")); err == nil && len(names) > 0 {
		t.Errorf("the bucket has %v", names)
	}
	must(t, s.Close())
}

// TestOwner: the first who says so owns the blobs.
func TestOwner(t *testing.T) {
	server := s3test.Start(t)
	s := open(t, server, "p/")
	for _, test := range []struct{ set, want string }{{"", ""}, {"ada", "ada"}, {"eve", "ada"}, {"", "ada"}} {
		got, err := s.Owner()
		if test.set != "" {
			got, err = s.SetOwner(test.set)
		}
		if err != nil || got != test.want {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}

func TestOpenFails(t *testing.T) {
	server := s3test.Start(t)
	o := s3.Options{Bucket: "no-such-bucket", Endpoint: server.Address, Plain: true, Region: s3test.Region, Spool: t.TempDir()}
	if _, err := s3.Open(t.Context(), o); err == nil {
		t.Error("a bucket that is not there was opened")
	}
	o.Bucket = s3test.Bucket
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	if _, err := s3.Open(t.Context(), o); err == nil {
		t.Error("a bucket was opened with a wrong key")
	}
}
