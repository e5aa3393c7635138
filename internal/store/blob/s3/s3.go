// Package s3 keeps blobs as objects in a bucket that speaks the protocol of S3, each named by its hash.
// Which blobs there should be, and when one may go, is left to resource/files.
package s3

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"ql/internal/fault"
	"ql/internal/resource/files"
)

const (
	// dialTime is how long a connection may take.
	dialTime = 2 * time.Second
	// requestTime is how long a request without content may take, with its retries.
	requestTime = 15 * time.Second
	// transferTime is how long one with the content of a blob may take.
	transferTime = time.Minute
	// stallTime is how long a read waits for the next bytes of a blob.
	stallTime = 15 * time.Second
	// attempts is how often a request is sent.
	attempts = 3
	// maxRequests is how many requests are under way at once: more wait for one of them. What is being
	// read is none: how long that takes is up to those who are sent it, and how many those are is bounded
	// where files are handed out.
	maxRequests = 64

	// freshFor is how old an object may be that is relied on as it is. An older one may be on its way out
	// for others who share the bucket: it is put again.
	freshFor = 12 * time.Hour
	// removalDelay is how long a request to remove an object may still be on its way.
	removalDelay = 10 * time.Minute
)

// The names of objects below the prefix.
const (
	blobPrefix      = "blobs/"
	temporaryPrefix = "writes/" // of what is being written
	ownerName       = "owner"
)

// Options say where objects are.
type Options struct {
	Bucket   string
	Prefix   string // of the names of all objects; "" or with a slash at its end
	Endpoint string // host or host:port
	Plain    bool   // speaks HTTP without TLS
	Region   string

	// Spool is the folder in which a piece of content is until it is sent, since its size and sum must
	// be known first, and since it may have to be sent again.
	Spool string
}

// Store is a bucket of blobs. It may be used by any number of goroutines.
type Store struct {
	o         Options
	core      minio.Core
	transport *http.Transport
	requests  chan struct{} // has one for each that is under way
	breaker   breaker
}

var (
	_ files.BlobStore   = (*Store)(nil)
	_ files.LateRemover = (*Store)(nil)
)

// Open returns the blobs of a bucket, which must be there. Keys are those of the environment,
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of the role that the machine has.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := os.MkdirAll(o.Spool, 0o700); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTime}).DialContext
	transport.MaxIdleConnsPerHost = maxRequests
	transport.TLSHandshakeTimeout, transport.ResponseHeaderTimeout = 5*time.Second, requestTime
	transport.DisableCompression = true // blobs are bytes as they are
	core, err := minio.NewCore(o.Endpoint, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}}}),
		Secure: !o.Plain, Region: o.Region, Transport: transport, MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("the bucket %s at %s: %w", o.Bucket, o.Endpoint, err)
	}
	s := &Store{o: o, core: *core, transport: transport, requests: make(chan struct{}, maxRequests)}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	there, err := core.BucketExists(ctx, o.Bucket)
	if err == nil && !there {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the bucket %s at %s cannot be used: %w", o.Bucket, o.Endpoint, err), s.Close())
	}
	return s, nil
}

// Close ends connections.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// RemovalDelay implements files.LateRemover.
func (*Store) RemovalDelay() time.Duration { return removalDelay }

// do sends a request, unless the bucket did not answer lately.
func (s *Store) do(ctx context.Context, limit time.Duration, send func(context.Context) error) error {
	if !s.breaker.admit(time.Now()) {
		return unavailable(errors.New("requests failed lately"))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	case <-ctx.Done():
		return unavailable(errors.New("too many requests are under way"))
	}
	return s.judge(send(ctx))
}

// judge makes the error of a request, and notes whether the bucket answers.
func (s *Store) judge(err error) error {
	missing := minio.ToErrorResponse(err).Code == minio.NoSuchKey
	s.breaker.note(time.Now(), err == nil || missing)
	switch {
	case missing:
		return fs.ErrNotExist
	case err != nil:
		return unavailable(err)
	}
	return nil
}

// unavailable is the error of a request that failed. Its cause is a text: that a request took too long
// is not the caller's own deadline.
func unavailable(err error) error {
	return fault.Retryable(fault.StorageUnavailable, 5*time.Second, "the storage of files cannot be used at the moment").WithCause(errors.New("S3: " + err.Error()))
}

// Put implements files.BlobStore.
func (s *Store) Put(hash files.Hash, content []byte) (made bool, err error) {
	there, err := s.fresh(hash, int64(len(content)))
	if err != nil || there {
		return false, err
	}
	return true, s.send(s.name(hash), bytes.NewReader(content), int64(len(content)), hash, minio.PutObjectOptions{})
}

// fresh reports whether a blob is there, and young enough to be relied on.
func (s *Store) fresh(hash files.Hash, size int64) (there bool, err error) {
	err = s.do(context.Background(), requestTime, func(ctx context.Context) error {
		o, err := s.core.StatObject(ctx, s.o.Bucket, s.name(hash), minio.StatObjectOptions{})
		there = err == nil && o.Size == size && time.Since(o.LastModified) < freshFor
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return there, err
}

// send puts an object. The bucket refuses what does not have the hash.
func (s *Store) send(name string, content io.Reader, size int64, hash files.Hash, o minio.PutObjectOptions) error {
	o.ContentType = "application/octet-stream"
	o.DisableContentSha256 = true // of its pieces: there is one of all
	return s.do(context.Background(), transferTime, func(ctx context.Context) error {
		_, err := s.core.PutObject(ctx, s.o.Bucket, name, content, size, "", hex.EncodeToString(hash[:]), o)
		return err
	})
}

// Open implements files.BlobStore.
func (s *Store) Open(hash files.Hash) (io.ReadCloser, error) { return s.open(s.name(hash)) }

func (s *Store) open(name string) (*reader, error) {
	if !s.breaker.admit(time.Now()) {
		return nil, unavailable(errors.New("requests failed lately"))
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := newReader(cancel)
	body, _, _, err := s.core.GetObject(ctx, s.o.Bucket, name, minio.GetObjectOptions{})
	r.stall.Stop()
	if err = s.judge(err); err != nil {
		cancel()
		return nil, err
	}
	r.body = body
	return r, nil
}

// Remove implements files.BlobStore.
func (s *Store) Remove(hash files.Hash) error { return s.remove(s.name(hash)) }

func (s *Store) remove(name string) error {
	err := s.do(context.Background(), requestTime, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, s.o.Bucket, name, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Walk implements files.BlobStore.
func (s *Store) Walk(ctx context.Context, f func(hash files.Hash, size func() (int64, error)) error) error {
	return s.list(ctx, blobPrefix, func(o minio.ObjectInfo) error {
		hash, ok := s.hash(o.Key)
		if !ok {
			return nil
		}
		return f(hash, func() (int64, error) { return o.Size, nil })
	})
}

// RemoveUnfinished implements files.BlobStore.
func (s *Store) RemoveUnfinished(before time.Time) (removed int, err error) {
	err = s.list(context.Background(), temporaryPrefix, func(o minio.ObjectInfo) error {
		if o.LastModified.After(before) {
			return nil
		}
		removed++
		return s.remove(o.Key)
	})
	return removed, err
}

// list calls f with the objects whose names begin so, below the prefix.
func (s *Store) list(ctx context.Context, prefix string, f func(minio.ObjectInfo) error) error {
	for o := range s.core.ListObjectsIter(ctx, s.o.Bucket, minio.ListObjectsOptions{Prefix: s.o.Prefix + prefix, Recursive: true}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.judge(o.Err); err != nil {
			return err
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// name returns the name of the object with a blob.
func (s *Store) name(hash files.Hash) string {
	return s.o.Prefix + blobPrefix + hex.EncodeToString(hash[:])
}

// hash returns the hash of the blob with this name; false for what is none.
func (s *Store) hash(name string) (hash files.Hash, ok bool) {
	text, ok := strings.CutPrefix(name, s.o.Prefix+blobPrefix)
	if !ok || len(text) != hex.EncodedLen(len(hash)) || strings.ToLower(text) != text {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(text))
	return hash, err == nil
}
