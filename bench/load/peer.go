package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Peer is a server that somebody else wrote, with all the processes that it starts.
type Peer struct{ process *exec.Cmd }

// StartPeer starts a program, which is looked for where those of the system are too, and returns
// when it is ready.
func StartPeer(ctx context.Context, o Options, ready func() error, name string, args ...string) (*Peer, error) {
	program, err := exec.LookPath(name)
	if err != nil {
		if program, err = exec.LookPath(filepath.Join("/usr/sbin", name)); err != nil {
			return nil, err
		}
	}
	p := &Peer{exec.CommandContext(ctx, program, args...)}
	p.process.Stderr = o.Stderr
	p.process.Cancel = func() error { return p.process.Process.Signal(os.Interrupt) }
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	const patience, every = 20 * time.Second, 20 * time.Millisecond
	for began := time.Now(); ; {
		err := ready()
		if err == nil {
			return p, nil
		}
		if time.Since(began) > patience {
			return nil, errors.Join(fmt.Errorf("%s does not answer: %w", name, err), p.Stop())
		}
		if err := Pause(ctx, every); err != nil {
			return nil, errors.Join(err, p.Stop())
		}
	}
}

// Stop ends the program and waits for it.
func (p *Peer) Stop() error {
	if p == nil {
		return nil
	}
	if err := p.process.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := p.process.Wait()
	var ended *exec.ExitError
	if errors.As(err, &ended) { // by the signal
		return nil
	}
	return err
}

// Seconds returns how long the program and those that it started have had a processor.
func (p *Peer) Seconds() (float64, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	root := strconv.Itoa(p.process.Process.Pid)
	sum := 0.0
	for _, folder := range all {
		if filepath.Base(folder) != root && parent(folder) != root {
			continue
		}
		seconds, err := onProcessor(folder)
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	if sum == 0 {
		return 0, errors.New("the system does not tell how long a process had a processor")
	}
	return sum, nil
}

// parent returns which process started one; "" where it is there no more.
func parent(folder string) string {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return ""
	}
	// Its name stands in brackets, and may hold anything; its state and its parent follow.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return ""
	}
	return string(fields[1])
}

// onProcessor returns how long the threads of a process have had a processor.
func onProcessor(folder string) (seconds float64, err error) {
	threads, err := filepath.Glob(filepath.Join(folder, "task/*/schedstat"))
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", thread, err)
		}
		seconds += time.Duration(nanoseconds).Seconds()
	}
	return seconds, nil
}

// RunPeer runs a program to its end.
func RunPeer(ctx context.Context, o Options, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = o.Stderr, o.Stderr
	return c.Run()
}

// FreeAddress returns an address at which nobody listens.
func FreeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Listens tells by nil that somebody listens at an address.
func Listens(ctx context.Context, network, address string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return c.Close()
}
