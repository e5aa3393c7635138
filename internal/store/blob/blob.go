// Package blob opens the blobs that the settings name: in a folder of the data folder, or as objects in a
// bucket, which then belongs to that data folder.
package blob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ql/internal/config"
	"ql/internal/disk"
	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/store/blob/dir"
	"ql/internal/store/blob/s3"
	"ql/internal/store/sqlite"
)

const (
	// markFile is the file in a data folder that says that its blobs are in a bucket.
	markFile = "ql.blobs"
	// spoolFolder is where content is on its way to a bucket.
	spoolFolder = "spool"
)

// Open opens the blobs of a data folder; bucket is nil for those in the folder.
func Open(ctx context.Context, data string, bucket *config.Bucket) (*files.Blobs, error) {
	path := filepath.Join(data, markFile)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	mark, folder := strings.TrimSpace(string(text)), filepath.Join(data, sqlite.BlobFolder)
	switch {
	case bucket == nil && mark != "":
		return nil, fault.New(fault.InvalidRequest, "the contents of files of the data folder %s are in a bucket: say where by --blobs", data)
	case bucket == nil:
		return dir.OpenBlobs(folder)
	case mark == "":
		if held, err := sqlite.HoldsFiles(folder); err != nil || held {
			return nil, errors.Join(err, fault.New(fault.InvalidRequest, "the data folder %s has contents of files already, in %s, which cannot be moved to a bucket yet: leave --blobs out, or name another folder by --data", data, sqlite.BlobFolder))
		}
	}
	s, err := s3.Open(ctx, s3.Options{Bucket: bucket.Name, Prefix: bucket.Prefix, Endpoint: bucket.Endpoint, Plain: bucket.Plain, Region: bucket.Region, Spool: filepath.Join(data, spoolFolder)})
	if err != nil {
		return nil, err
	}
	if err := bind(s, data, path, mark); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return files.NewBlobs(s), nil
}

// bind makes sure that a bucket has the blobs of this data folder and of no other: those that no row of the
// store tells of are removed.
func bind(s *s3.Store, data, path, mark string) error {
	owner, err := s.Owner()
	switch {
	case err != nil:
		return err
	case mark != "" && owner == mark:
		return nil
	case mark != "" && owner == "":
		return fault.New(fault.InvalidRequest, "the contents of files of the data folder %s are in another bucket, or below another prefix: name that by --blobs", data)
	case owner != "":
		return fault.New(fault.InvalidRequest, "what is in the bucket belongs to another data folder than %s: name another bucket or prefix by --blobs", data)
	}
	mark = disk.NewMark()
	if owner, err = s.SetOwner(mark); err != nil {
		return err
	}
	if owner != mark {
		return fault.New(fault.InvalidRequest, "another server has begun with the bucket: name another bucket or prefix by --blobs")
	}
	return disk.WriteMark(path, mark)
}
