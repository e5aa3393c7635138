package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"ql/internal/resource/files"
)

// RunBlobs runs the suite of a store of blobs. open returns an empty one, which the
// suite closes.
func RunBlobs(t *testing.T, open func(t *testing.T) files.BlobStore) {
	for name, test := range map[string]func(*testing.T, files.BlobStore){
		"put and open": testBlobPut,
		"written":      testBlobWriter,
		"walk":         testBlobWalk,
		"unfinished":   testBlobUnfinished,
		"race":         testBlobRace,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			test(t, s)
			must(t, s.Close())
		})
	}
}

// blobAt returns a blob's content, or an error.
func blobAt(s files.BlobStore, hash files.Hash) ([]byte, error) {
	f, err := s.Open(hash)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(f)
	return content, errors.Join(err, f.Close())
}

func putBlob(t *testing.T, s files.BlobStore, content string, made bool) files.Hash {
	t.Helper()
	hash := files.Hash(sha256.Sum256([]byte(content)))
	got, err := s.Put(hash, []byte(content))
	must(t, err)
	if got != made {
		t.Errorf("%q was made: %t", content, got)
	}
	return hash
}

func testBlobPut(t *testing.T, s files.BlobStore) {
	for _, content := range []string{"", "one", string(bytes.Repeat([]byte("x"), 1<<20))} {
		hash := putBlob(t, s, content, true)
		putBlob(t, s, content, false)
		got, err := blobAt(s, hash)
		if err != nil || string(got) != content {
			t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
		}
		must(t, s.Remove(hash))
		must(t, s.Remove(hash))
		_, err = blobAt(s, hash)
		wantError(t, "a blob that was removed", err, fs.ErrNotExist)
		putBlob(t, s, content, true)
	}
}

func testBlobWriter(t *testing.T, s files.BlobStore) {
	write := func(content string) (files.BlobWriter, files.Hash) {
		w, err := s.Create()
		must(t, err)
		for i := range len(content) {
			_, err := w.Write([]byte(content[i : i+1]))
			must(t, err)
		}
		return w, sha256.Sum256([]byte(content))
	}
	for range 2 { // the second takes the place of the first
		w, hash := write("piece by piece")
		must(t, w.Finish())
		_, err := blobAt(s, sha256.Sum256([]byte("other")))
		wantError(t, "another", err, fs.ErrNotExist)
		must(t, w.Publish(hash))
		w.Discard()
		got, err := blobAt(s, hash)
		if err != nil || string(got) != "piece by piece" {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, finish := range []bool{false, true} {
		w, hash := write("given up")
		if finish {
			must(t, w.Finish())
		}
		w.Discard()
		w.Discard()
		_, err := blobAt(s, hash)
		wantError(t, "what was given up", err, fs.ErrNotExist)
	}
	n, err := s.RemoveUnfinished(time.Now().Add(time.Hour))
	if n != 0 || err != nil {
		t.Errorf("%d are left, %v", n, err)
	}
}

func testBlobWalk(t *testing.T, s files.BlobStore) {
	want := map[files.Hash]int64{}
	for i := range 100 {
		content := numbered("blob", i)
		want[putBlob(t, s, content, true)] = int64(len(content))
	}
	w, err := s.Create() // no blob yet
	must(t, err)
	defer w.Discard()
	got := map[files.Hash]int64{}
	must(t, s.Walk(t.Context(), func(hash files.Hash, size func() (int64, error)) error {
		n, err := size()
		got[hash] = n
		return err
	}))
	same(t, "the blobs", got, want)
	stop := errors.New("stop")
	wantError(t, "a walk that is stopped", s.Walk(t.Context(), func(files.Hash, func() (int64, error)) error { return stop }), stop)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "a walk after its end", s.Walk(ctx, func(files.Hash, func() (int64, error)) error { return nil }), context.Canceled)
	must(t, s.Walk(t.Context(), func(hash files.Hash, size func() (int64, error)) error {
		must(t, s.Remove(hash))
		_, err := size()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}))
}

func testBlobUnfinished(t *testing.T, s files.BlobStore) {
	w, err := s.Create()
	must(t, err)
	_, err = w.Write([]byte("half"))
	must(t, err)
	must(t, w.Finish())
	hash := putBlob(t, s, "whole", true)
	n, err := s.RemoveUnfinished(time.Now().Add(-time.Hour))
	if n != 0 || err != nil {
		t.Errorf("%d of an hour ago, %v", n, err)
	}
	n, err = s.RemoveUnfinished(time.Now().Add(time.Hour))
	if n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	w.Discard()
	if _, err := blobAt(s, hash); err != nil {
		t.Errorf("a whole one went too: %v", err)
	}
}

// testBlobRace puts and reads one blob at the same time: it is whole or not there.
func testBlobRace(t *testing.T, s files.BlobStore) {
	content := bytes.Repeat([]byte("abc"), 50_000)
	hash := files.Hash(sha256.Sum256(content))
	must(t, errors.Join(atOnce(8, func(i int) error {
		if _, err := s.Put(hash, content); err != nil {
			return err
		}
		got, err := blobAt(s, hash)
		if err == nil && !slices.Equal(got, content) {
			return errors.New("it is not whole")
		}
		return err
	})...))
}
