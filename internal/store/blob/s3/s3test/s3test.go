// Package s3test starts an S3 server for tests, and for benchmarks: versitygw, which is built of the module in tools/s3, with
// its objects in a folder of the test.
package s3test

import (
	"bytes"
	"context"
	"fmt"
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
	s, err := Run(t.Context(), programtest.FreeAddress(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Cleanup(s.Stop)
	return s
}

// Run starts a server with an empty bucket in a folder for a program that is no test, which stops it by Stop.
func Run(ctx context.Context, address, folder string) (*Server, error) {
	program, err := build(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: address, program: program, folder: folder}
	if err := os.Mkdir(filepath.Join(s.folder, Bucket), 0o700); err != nil {
		return nil, err
	}
	return s, s.launch()
}

// Environment has the keys for a server.
func Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey}
}

// build builds the program, which the Go command then has in its cache.
func build(ctx context.Context) (string, error) {
	run := func(args ...string) (string, error) {
		var stderr bytes.Buffer
		c := exec.CommandContext(ctx, "go", args...)
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
		}
		return strings.TrimSpace(string(out)), nil
	}
	module, err := run("env", "GOMOD")
	if err != nil {
		return "", err
	}
	return run("tool", "-modfile="+filepath.Join(filepath.Dir(module), "tools", "s3", "go.mod"), "-n", "versitygw")
}

// Launch starts the server again after Stop, with what it had, and waits until it answers.
func (s *Server) Launch() {
	s.t.Helper()
	if err := s.launch(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) launch() error {
	s.command = exec.CommandContext(context.Background(), s.program, "--port", s.Address, "--region", Region, "posix", s.folder)
	s.command.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	s.command.SysProcAttr = programtest.DieWithParent()
	if err := s.command.Start(); err != nil {
		s.command = nil
		return err
	}
	client, err := minio.New(s.Address, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: Region, MaxRetries: 1})
	if err != nil {
		s.Stop()
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		there, err := client.BucketExists(ctx, Bucket)
		if err == nil && there {
			return nil
		}
		select {
		case <-ctx.Done():
			s.Stop()
			return fmt.Errorf("the server does not answer: %w\n%s", err, s.output.String())
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
