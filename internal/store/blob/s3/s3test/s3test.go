// Package s3test starts an S3 server for tests: versitygw, which is built of the module in tools/s3, with
// its objects in a folder of the test.
package s3test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"ql/internal/programtest"
)

const (
	// Bucket is the bucket that a server has.
	Bucket = "ql-tests"
	// Region is where it says it is.
	Region = "us-east-1"

	accessKey, secretKey = "qltest", "qltestsecret"
)

// Server is a server that runs, unless it was stopped.
type Server struct {
	Address string // host:port

	t       testing.TB
	program string
	folder  string
	output  bytes.Buffer
	command *exec.Cmd // nil while it is stopped
}

// Start starts a server with an empty bucket, which goes with the test. The keys for it are in the
// environment from then on.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Address: programtest.FreeAddress(t), program: build(t), folder: t.TempDir()}
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	if err := os.Mkdir(filepath.Join(s.folder, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Launch()
	t.Cleanup(s.Stop)
	return s
}

// build builds the program, which the Go command then has in its cache.
func build(t testing.TB) string {
	t.Helper()
	run := func(args ...string) string {
		var stderr bytes.Buffer
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	module := filepath.Join(filepath.Dir(run("env", "GOMOD")), "tools", "s3", "go.mod")
	return run("tool", "-modfile="+module, "-n", "versitygw")
}

// Launch starts the server again after Stop, with what it had, and waits until it answers.
func (s *Server) Launch() {
	s.t.Helper()
	s.command = exec.CommandContext(context.Background(), s.program, "--port", s.Address, "--region", Region, "posix", s.folder)
	s.command.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	s.command.SysProcAttr = programtest.DieWithParent()
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	client, err := minio.New(s.Address, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: Region, MaxRetries: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		there, err := client.BucketExists(ctx, Bucket)
		if err == nil && there {
			return
		}
		select {
		case <-ctx.Done():
			s.Stop()
			s.t.Fatalf("the server does not answer: %v\n%s", err, s.output.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server, at once. It may be called more than once.
func (s *Server) Stop() {
	if s.command == nil {
		return
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait() // it was killed
	s.command = nil
}

// URL returns where objects with a prefix are, as --blobs takes it.
func (s *Server) URL(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?" + url.Values{"endpoint": {"http://" + s.Address}, "region": {Region}}.Encode()
}

// Path returns where the server has an object, as a file.
func (s *Server) Path(name string) string {
	return filepath.Join(s.folder, Bucket, filepath.FromSlash(name))
}
