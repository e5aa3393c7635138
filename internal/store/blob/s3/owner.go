package s3

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/minio/minio-go/v7"
)

// maxOwner is how long the mark of an owner may be.
const maxOwner = 256

// Owner returns the mark of the service whose blobs these are; "" where none has begun with them.
func (s *Store) Owner() (mark string, err error) {
	r, err := s.open(s.o.Prefix + ownerName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxOwner))
	return string(text), errors.Join(err, r.Close())
}

// SetOwner says whose blobs these are, and returns who it is then: another may have been first.
func (s *Store) SetOwner(mark string) (owner string, err error) {
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	err = s.send(s.o.Prefix+ownerName, strings.NewReader(mark), int64(len(mark)), sha256.Sum256([]byte(mark)), o)
	owner, failed := s.Owner()
	if failed != nil || owner == "" {
		return "", errors.Join(err, failed)
	}
	return owner, nil
}
