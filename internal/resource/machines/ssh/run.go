package ssh

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"golang.org/x/crypto/ssh"
)

// Run implements machines.Runner.
func (r *Runner) Run(ctx context.Context, u machines.Use, run engine.MachineRun) (result engine.MachineResult, err error) {
	err = r.withSession(ctx, u, sessionBytes, func(c *conn, s *ssh.Session, held *admit.Reservation) error {
		result, err = r.run(ctx, u, c, s, run, held)
		return err
	})
	return result, err
}

// errBroken marks an error of a connection that is of no use any more.
type errBroken struct{ error }

// Unwrap returns the error.
func (e errBroken) Unwrap() error { return e.error }

// sessionBytes is what a session takes: what the host may send before it is read, 2 MiB, and a packet.
const sessionBytes = 2<<20 + 64<<10

// withSession opens a session on a connection that there is, or on a new one, and does something by
// it, which takes so many bytes at first.
func (r *Runner) withSession(ctx context.Context, u machines.Use, takes int64, do func(*conn, *ssh.Session, *admit.Reservation) error) error {
	held := r.o.Ledger.Open(admit.AccountHolder(int64(u.Account.ID)))
	defer held.Release()
	if err := held.Grow(ctx, takes); err != nil {
		var refused *admit.Refused
		if errors.As(err, &refused) {
			return failed("this node has no memory free for a command now: %s", refused.Error())
		}
		return err
	}
	for fresh := false; ; fresh = true {
		c, err := r.pool.acquire(ctx, u, fresh)
		if err != nil {
			return err
		}
		s, err := r.open(ctx, c)
		if err != nil {
			// One that was used before may be dead since: nothing was run on it.
			again := c.reused.Load() && !fresh && ctx.Err() == nil
			r.pool.release(u, c, true)
			if again {
				continue
			}
			return r.lost(ctx, u)
		}
		err = do(c, s, &held)
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
	within := r.o.Handshake
	if c.reused.Load() {
		within = r.o.Grace // it may be dead, and another be made
	}
	err := r.bounded(ctx, c, within, func() (err error) {
		s, err = c.client.NewSession()
		return err
	})
	return s, err
}

// bounded does what waits for an answer of the host, which has a while for that: then the connection
// is closed.
func (r *Runner) bounded(ctx context.Context, c *conn, within time.Duration, do func() error) error {
	done := make(chan struct{})
	defer close(done)
	r.o.Guard.Go("ssh answer", func() {
		timer := time.NewTimer(within)
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
func (r *Runner) run(ctx context.Context, u machines.Use, c *conn, s *ssh.Session, run engine.MachineRun, held *admit.Reservation) (engine.MachineResult, error) {
	text := command(run.Command)
	prefix, err := r.setEnv(ctx, c, s, run.Env)
	if err != nil {
		return engine.MachineResult{}, errBroken{r.lost(ctx, u)}
	}
	text = prefix + text
	out := &output{most: run.Most, sink: run.Output, wire: c.wire, held: held, full: make(chan struct{})}
	s.Stdout, s.Stderr = &out.stdout, &out.stderr
	out.stdout.all, out.stderr.all = out, out
	out.stderr.isErr = true
	// A command need not read its input: what is left of it is no error then.
	input, err := s.StdinPipe()
	if err != nil {
		return engine.MachineResult{}, err
	}
	if err := r.bounded(ctx, c, r.o.Handshake, func() error { return s.Start(text) }); err != nil {
		return r.ended(ctx, u, out, err) // the host may have begun it
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
	if over := out.exceeded(); over != nil {
		return engine.MachineResult{}, over
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
	result := engine.MachineResult{Stdout: out.stdout.bytes, Stderr: out.stderr.bytes}
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
		err := r.bounded(ctx, c, r.o.Handshake, func() error {
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
	wire *wire
	held *admit.Reservation
	full chan struct{} // closed when there was more

	mu             sync.Mutex
	bytes          int
	over           error // why no more is taken
	stdout, stderr stream
}

// stream is one of the two.
type stream struct {
	all   *output
	isErr bool
	bytes []byte
}

// Write implements io.Writer. Both streams are written at once.
func (s *stream) Write(piece []byte) (int, error) {
	o := s.all
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over != nil {
		return 0, o.over
	}
	o.wire.useful.Add(int64(len(piece)))
	if o.bytes+len(piece) > o.most {
		o.over = value.Exceeded("value_size", int64(o.most), "the command puts out more than %d bytes: have it write to a file, and COPY that", o.most)
	} else if !s.grow(len(piece)) {
		o.over = failed("this node has no memory free for what the command puts out")
	}
	if o.over != nil {
		close(o.full)
		return 0, o.over
	}
	o.bytes += len(piece)
	s.bytes = append(s.bytes, piece...)
	if o.sink != nil {
		o.sink(s.isErr, piece)
	}
	return len(piece), nil
}

// grow makes room for so many bytes more, and reports false where there is none.
func (s *stream) grow(more int) bool {
	need := len(s.bytes) + more
	if need <= cap(s.bytes) {
		return true
	}
	size := max(need, min(2*cap(s.bytes), cap(s.bytes)+1<<20), 512)
	if !s.all.held.TryGrow(int64(size)) { // while it is copied there is both
		return false
	}
	grown := append(make([]byte, 0, size), s.bytes...)
	s.all.held.Shrink(int64(cap(s.bytes)))
	s.bytes = grown
	return true
}

// exceeded is why no more of the output was taken; nil where all was.
func (o *output) exceeded() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}
