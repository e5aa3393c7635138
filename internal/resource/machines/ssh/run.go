package ssh

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"golang.org/x/crypto/ssh"
)

// Run implements machines.Runner.
func (r *Runner) Run(ctx context.Context, u machines.Use, run engine.MachineRun) (result engine.MachineResult, err error) {
	err = r.withSession(ctx, u, func(c *conn, s *ssh.Session) error {
		result, err = r.run(ctx, u, c, s, run)
		return err
	})
	return result, err
}

// errBroken marks an error of a connection that is of no use any more.
type errBroken struct{ error }

// Unwrap returns the error.
func (e errBroken) Unwrap() error { return e.error }

// withSession opens a session on a connection that there is, or on a new one, and does something by
// it.
func (r *Runner) withSession(ctx context.Context, u machines.Use, do func(*conn, *ssh.Session) error) error {
	for fresh := false; ; fresh = true {
		c, err := r.pool.acquire(ctx, u, fresh)
		if err != nil {
			return err
		}
		s, err := r.open(ctx, c)
		if err != nil {
			// One that was used before may be dead since: nothing was run on it.
			again := c.reused && !fresh && ctx.Err() == nil
			r.pool.release(u, c, true)
			if again {
				continue
			}
			return r.lost(ctx, u)
		}
		err = do(c, s)
		_ = s.Close() // it has ended, or is useless
		var broken errBroken
		r.pool.release(u, c, errors.As(err, &broken))
		if errors.As(err, &broken) {
			err = broken.error
		}
		return err
	}
}

// open opens a session. A host that does not answer is cut off.
func (r *Runner) open(ctx context.Context, c *conn) (*ssh.Session, error) {
	var s *ssh.Session
	err := r.bounded(ctx, c, func() (err error) {
		s, err = c.client.NewSession()
		return err
	})
	return s, err
}

// bounded does what waits for an answer of the host, which has a while for that: then the connection
// is closed.
func (r *Runner) bounded(ctx context.Context, c *conn, do func() error) error {
	done := make(chan struct{})
	defer close(done)
	r.o.Guard.Go("ssh answer", func() {
		timer := time.NewTimer(r.o.Grace)
		defer timer.Stop()
		select {
		case <-done:
			return
		case <-timer.C:
		case <-ctx.Done():
		}
		select {
		case <-done: // both at once
		default:
			c.close()
		}
	})
	return do()
}

// lost is the error of a connection that broke.
func (r *Runner) lost(ctx context.Context, u machines.Use) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failed("the connection to the host of %s broke off", u.Machine.Name)
}

// run runs a command in a session.
func (r *Runner) run(ctx context.Context, u machines.Use, c *conn, s *ssh.Session, run engine.MachineRun) (engine.MachineResult, error) {
	text := command(run.Command)
	prefix, err := r.setEnv(ctx, c, s, run.Env)
	if err != nil {
		return engine.MachineResult{}, errBroken{r.lost(ctx, u)}
	}
	text = prefix + text
	out := &output{most: run.Most, sink: run.Output, full: make(chan struct{})}
	s.Stdout, s.Stderr = &out.stdout, &out.stderr
	out.stdout.all, out.stderr.all = out, out
	out.stderr.isErr = true
	// A command need not read its input: what is left of it is no error then.
	input, err := s.StdinPipe()
	if err != nil {
		return engine.MachineResult{}, err
	}
	if err := s.Start(text); err != nil {
		return engine.MachineResult{}, errBroken{r.lost(ctx, u)}
	}
	r.o.Guard.Go("ssh input", func() {
		_, _ = input.Write(run.Input)
		_ = input.Close()
	})
	ended := make(chan error, 1)
	r.o.Guard.Go("ssh command", func() { ended <- s.Wait() })
	select {
	case err = <-ended:
	case <-out.full:
		return engine.MachineResult{}, r.abort(c, s, ended, out.exceeded())
	case <-ctx.Done():
		return engine.MachineResult{}, r.abort(c, s, ended, ctx.Err())
	}
	if out.isFull() {
		return engine.MachineResult{}, out.exceeded()
	}
	return r.ended(ctx, u, out, err)
}

// abort ends a command, and returns err. Where the host does not end it in a while, the connection
// is closed.
func (r *Runner) abort(c *conn, s *ssh.Session, ended <-chan error, err error) error {
	// A host that reads nothing must not hold up who sends it a signal.
	r.o.Guard.Go("ssh signal", func() {
		_ = s.Signal(ssh.SIGKILL) // not all hosts know it
		_ = s.Close()
	})
	timer := time.NewTimer(r.o.Grace)
	defer timer.Stop()
	select {
	case <-ended:
		return err
	case <-timer.C:
	}
	c.close()
	<-ended
	return errBroken{err}
}

// ended makes the result of how a command ended.
func (r *Runner) ended(ctx context.Context, u machines.Use, out *output, err error) (engine.MachineResult, error) {
	result := engine.MachineResult{Stdout: out.stdout.buffer.Bytes(), Stderr: out.stderr.buffer.Bytes()}
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &exit):
		result.Code = exit.ExitStatus() // as of a shell where a signal ended it: 128 and its number
		return result, nil
	case ctx.Err() != nil:
		return engine.MachineResult{}, errBroken{ctx.Err()}
	}
	return engine.MachineResult{}, errBroken{failed("the connection to the host of %s broke off before the command ended: whether it did all is not known", u.Machine.Name)}
}

// command is what the host's shell is given.
func command(c engine.MachineCommand) string {
	if c.List == nil {
		return c.Text
	}
	words := make([]string, len(c.List))
	for i, one := range c.List {
		words[i] = machines.Quote(one)
	}
	return strings.Join(words, " ")
}

// setEnv gives a session its environment. Most hosts take no variables that they were not told of:
// then it returns what sets them, to stand before a command.
func (r *Runner) setEnv(ctx context.Context, c *conn, s *ssh.Session, env map[string]string) (prefix string, err error) {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	c.mu.Lock()
	state := c.env
	c.mu.Unlock()
	for _, name := range names {
		if state == envRefused {
			prefix += "export " + name + "=" + machines.Quote(env[name]) + "; "
			continue
		}
		taken := true
		err := r.bounded(ctx, c, func() error {
			payload := ssh.Marshal(struct{ Name, Value string }{name, env[name]})
			ok, err := s.SendRequest("env", state == envUnknown, payload)
			taken = ok || state == envTaken
			return err
		})
		if err != nil {
			return "", err
		}
		if state = envTaken; !taken {
			state = envRefused
			prefix += "export " + name + "=" + machines.Quote(env[name]) + "; "
		}
		c.mu.Lock()
		c.env = state
		c.mu.Unlock()
	}
	return prefix, nil
}

// output is what a command puts out, up to a bound.
type output struct {
	most int
	sink func(stderr bool, piece []byte)
	full chan struct{} // closed when there was more

	mu             sync.Mutex
	bytes          int
	over           bool
	stdout, stderr stream
}

// stream is one of the two.
type stream struct {
	all    *output
	isErr  bool
	buffer bytes.Buffer
}

// Write implements io.Writer. Both streams are written at once.
func (s *stream) Write(piece []byte) (int, error) {
	o := s.all
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return 0, errFull
	}
	if o.bytes+len(piece) > o.most {
		o.over = true
		close(o.full)
		return 0, errFull
	}
	o.bytes += len(piece)
	s.buffer.Write(piece)
	if o.sink != nil {
		o.sink(s.isErr, piece)
	}
	return len(piece), nil
}

var errFull = errors.New("the command puts out too much")

func (o *output) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

func (o *output) exceeded() error {
	return value.Exceeded("value_size", int64(o.most), "the command puts out more than %d bytes: have it write to a file, and COPY that", o.most)
}
