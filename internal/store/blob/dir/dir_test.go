package dir_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"ql/internal/resource/files"
	"ql/internal/store/blob/dir"
	"ql/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.RunBlobs(t, func(t *testing.T) files.BlobStore {
		s, err := dir.Open(filepath.Join(t.TempDir(), "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// TestDamagedBlobIsPutAgain: what is there under a blob's name, and is not the blob, is
// no reason not to write it.
func TestDamagedBlobIsPutAgain(t *testing.T) {
	folder := t.TempDir()
	s, err := dir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	content := []byte("content")
	hash := files.Hash(sha256.Sum256(content))
	if _, err := s.Put(hash, content); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{"c0ntent", "cont", ""} {
		at := filepath.Join(folder, dir.Name(hash))
		if err := os.WriteFile(at, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if made, err := s.Put(hash, content); err != nil || !made {
			t.Errorf("over %q: %t, %v", damage, made, err)
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != string(content) {
			t.Errorf("over %q: %q, %v", damage, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	for i := range 100 {
		hash := files.Hash(sha256.Sum256([]byte{byte(i)}))
		if got, ok := dir.Hash(dir.Name(hash)); !ok || got != hash {
			t.Errorf("%x: %x, %t", hash, got, ok)
		}
	}
	for _, name := range []string{"", "ab", "ab/cd", ".ql-write-X", "ab/.ql-write-X", "zz/" + dir.Name(files.Hash{})[3:]} {
		if _, ok := dir.Hash(name); ok {
			t.Errorf("%q is a blob's", name)
		}
	}
}
