package ssh

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"ql/internal/admit"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// CopyTo implements machines.Runner. A file that was there is replaced when all has come.
func (r *Runner) CopyTo(ctx context.Context, u machines.Use, path string, from io.Reader) error {
	own := &ownFile{from: from}
	return r.withFiles(ctx, u, own, func(files *sftp.Client) error {
		info, err := files.Stat(path)
		if err == nil && info.IsDir() {
			return value.Errorf("is_folder", "%s is a folder on the machine", value.Quote(path))
		}
		var raw [8]byte
		if _, err := rand.Read(raw[:]); err != nil {
			return err
		}
		part := path + ".ql-" + hex.EncodeToString(raw[:]) + ".part"
		if err := write(files, part, own); err != nil {
			_ = files.Remove(part) // where the host still answers
			return err
		}
		if info != nil {
			_ = files.Chmod(part, info.Mode().Perm()) // as good as the host allows
		}
		if err := files.PosixRename(part, path); err != nil {
			_ = files.Remove(part)
			return err
		}
		return nil
	}, path)
}

func write(files *sftp.Client, path string, from *ownFile) error {
	f, err := files.Create(path)
	if err != nil {
		return err
	}
	// In pieces of one size, several of them on their way.
	_, err = f.ReadFromWithConcurrency(from, requests)
	return errors.Join(err, f.Close())
}

// requests is how many pieces of a file are on their way at once, of 32 KiB each.
const requests = 64

// copyBytes is what a copy takes: pieces on their way, each once more where it is read, and what the
// session buffers.
const copyBytes = 2*requests*(32<<10) + sessionBytes

// CopyFrom implements machines.Runner.
func (r *Runner) CopyFrom(ctx context.Context, u machines.Use, path string, to io.Writer) error {
	own := &ownFile{to: to}
	return r.withFiles(ctx, u, own, func(files *sftp.Client) error {
		f, err := files.Open(path)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = value.Errorf("is_folder", "%s is a folder on the machine", value.Quote(path))
		}
		if err == nil {
			_, err = f.WriteTo(own)
		}
		return errors.Join(err, f.Close())
	}, path)
}

// withFiles does something with the files of a host.
func (r *Runner) withFiles(ctx context.Context, u machines.Use, own *ownFile, do func(*sftp.Client) error, path string) error {
	return r.withSession(ctx, u, copyBytes, func(c *conn, s *ssh.Session, _ *admit.Reservation) error {
		files, err := r.openFiles(ctx, c, s)
		if err != nil {
			if ctx.Err() != nil {
				return errBroken{ctx.Err()}
			}
			return errBroken{failed("the host of %s offers no files by SFTP", u.Machine.Name)}
		}
		done := make(chan struct{})
		r.o.Guard.Go("sftp end", func() {
			select {
			case <-ctx.Done():
				c.close() // what waits for the host finds out
			case <-done:
			}
		})
		own.wire = c.wire
		err = do(files)
		close(done)
		if ctx.Err() != nil {
			return errBroken{ctx.Err()}
		}
		_ = r.bounded(ctx, c, r.o.Grace, files.Close)
		if failure := own.err.Load(); failure != nil {
			return *failure
		}
		return r.explainFiles(u, path, err)
	})
}

// openFiles begins SFTP in a session.
func (r *Runner) openFiles(ctx context.Context, c *conn, s *ssh.Session) (files *sftp.Client, err error) {
	err = r.bounded(ctx, c, r.o.Handshake, func() error {
		in, err := s.StdinPipe()
		if err != nil {
			return err
		}
		out, err := s.StdoutPipe()
		if err != nil {
			return err
		}
		if err := s.RequestSubsystem("sftp"); err != nil {
			return err
		}
		files, err = sftp.NewClientPipe(out, in, sftp.MaxConcurrentRequestsPerFile(requests), sftp.UseConcurrentWrites(true))
		return err
	})
	return files, err
}

// explainFiles makes the error of a host's files one of the script.
func (r *Runner) explainFiles(u machines.Use, path string, err error) error {
	var known *value.Error
	var status *sftp.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return value.Errorf("file_not_found", "there is no file %s on the machine, or no folder for it", value.Quote(path))
	case errors.Is(err, fs.ErrPermission):
		return failed("the user %s may not do this with %s", u.Machine.SSH.User, value.Quote(path))
	case errors.As(err, &status):
		return failed("the host of %s cannot do this with %s", u.Machine.Name, value.Quote(path))
	case errors.Is(err, sftp.ErrSSHFxConnectionLost), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errBroken{failed("the connection to the host of %s broke off", u.Machine.Name)}
	}
	return errBroken{failed("the host of %s does not speak SFTP as it should", u.Machine.Name)}
}
