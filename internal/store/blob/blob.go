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

// Nodes say which bucket the nodes of a database share.
type Nodes interface {
	// BoundBlobs returns the mark of the bucket; "" for none.
	BoundBlobs(ctx context.Context) (mark string, err error)
	BindBlobs(ctx context.Context, mark string) error
}

// OpenShared opens the blobs of a data folder whose store is in a database, for others too. First says that
// its blobs may be in the folder, since it is that of the first node. With no nodes it is Open.
func OpenShared(ctx context.Context, data string, bucket *config.Bucket, nodes Nodes, first bool) (*files.Blobs, error) {
	if nodes == nil {
		return Open(ctx, data, bucket)
	}
	shared, err := nodes.BoundBlobs(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(data, markFile)
	switch {
	case bucket == nil && shared != "":
		return nil, fault.New(fault.InvalidRequest, "the contents of files of the accounts in this database are in a bucket: say where by --blobs")
	case bucket == nil && !first:
		return nil, fault.New(fault.InvalidRequest, "nodes share the contents of files: name a bucket by --blobs, here and where the first one is started")
	case bucket == nil:
		return Open(ctx, data, nil)
	case shared == "" && !first:
		return nil, fault.New(fault.InvalidRequest, "the contents of files of the accounts in this database are in the data folder of the first node: other nodes need them in a bucket, which that one begins with by --blobs")
	case shared != "":
		if err := disk.WriteMark(path, shared); err != nil {
			return nil, err
		}
		return Open(ctx, data, bucket)
	}
	b, err := Open(ctx, data, bucket)
	if err != nil {
		return nil, err
	}
	mark, err := readMark(path)
	if err == nil {
		err = nodes.BindBlobs(ctx, mark)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// OpenAnywhere opens the blobs of a database without a data folder: those that its servers have in a bucket. What is on
// its way there is in the folder spool.
func OpenAnywhere(ctx context.Context, spool string, bucket *config.Bucket, nodes Nodes) (*files.Blobs, error) {
	shared, err := nodes.BoundBlobs(ctx)
	switch {
	case err != nil:
		return nil, err
	case shared == "" && bucket == nil:
		return nil, fault.New(fault.InvalidRequest, "the contents of files of the accounts in this database are in the data folder of its server: name that by --data, on its machine")
	case shared == "":
		return nil, fault.New(fault.InvalidRequest, "no server of this database has begun with a bucket: start one by ql serve --blobs first, or name the data folder of its server by --data, on its machine")
	case bucket == nil:
		return nil, fault.New(fault.InvalidRequest, "the contents of files of the accounts in this database are in a bucket: say where by --blobs")
	}
	s, err := openBucket(ctx, bucket, spool)
	if err != nil {
		return nil, err
	}
	owner, err := s.Owner()
	if err == nil && owner != shared {
		err = fault.New(fault.InvalidRequest, "the contents of files of the accounts in this database are in another bucket, or below another prefix: name that by --blobs")
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return files.NewBlobs(s), nil
}

func openBucket(ctx context.Context, b *config.Bucket, spool string) (*s3.Store, error) {
	return s3.Open(ctx, s3.Options{Bucket: b.Name, Prefix: b.Prefix, Endpoint: b.Endpoint, Plain: b.Plain, Region: b.Region, Spool: spool})
}

// readMark returns the mark of a data folder whose blobs are in a bucket; "" for none.
func readMark(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

// Open opens the blobs of a data folder; bucket is nil for those in the folder.
func Open(ctx context.Context, data string, bucket *config.Bucket) (*files.Blobs, error) {
	path := filepath.Join(data, markFile)
	mark, err := readMark(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(data, sqlite.BlobFolder)
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
	s, err := openBucket(ctx, bucket, filepath.Join(data, spoolFolder))
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
