// Package wasm runs modules of WebAssembly that accounts have among their files, by wazero, in the
// process. A module is a program for WASI preview 1: it has arguments, an environment, standard
// input and output, and a folder. It reaches neither the network nor any file of the node.
//
// A stranger wrote it. So it is read and written anew before wazero sees it (rewrite.go): all that
// it declares is bounded, it stops now and then for others to have their turn, and it asks before
// its stack grows. What it calls (wasi.go) is bounded likewise. All memory is reserved first.
package wasm

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Options are what a Runner is made of.
type Options struct {
	// Ledger counts what modules take; nil counts nothing.
	Ledger *admit.Ledger
	// Cache is how many bytes of compiled modules there may be at once.
	Cache int64
}

// Runner runs modules. It may be used by any number of runs at once.
type Runner struct {
	o       Options
	runtime wazero.Runtime
	cache   *cache
	// lane lets accounts compile one after the other, in turns.
	lane *admit.Gate
}

var _ machines.Runner = (*Runner)(nil)

// New returns a runner that has compiled nothing yet.
func New(ctx context.Context, o Options) (*Runner, error) {
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	r := &Runner{o: o, runtime: wazero.NewRuntimeWithConfig(ctx, config), cache: newCache(o.Cache), lane: admit.NewGate(admit.GateOptions{Slots: 1, MaxSharing: 1, Wait: time.Minute})}
	if err := instantiateHost(ctx, r.runtime); err != nil {
		return nil, errors.Join(err, r.runtime.Close(ctx))
	}
	return r, nil
}

// Run implements machines.Runner. The first word of a command is the name by which the module is
// called, the others are its arguments.
func (r *Runner) Run(ctx context.Context, u machines.Use, run engine.MachineRun) (engine.MachineResult, error) {
	args, env, err := arguments(run)
	if err != nil {
		return engine.MachineResult{}, err
	}
	held := r.o.Ledger.Open(admit.AccountHolder(int64(u.Account.ID)))
	defer held.Release()
	m, err := r.load(ctx, u, &held)
	if err != nil {
		return engine.MachineResult{}, err
	}
	defer r.cache.release(m)
	p := &process{args: args, env: env, input: run.Input, output: run.Output, most: run.Most, reservation: &held, memoryLimit: u.Limits.Memory}
	var files engine.Files
	if u.Machine.WASM.Folder != "" {
		files = u.Files
	}
	p.volume = newVolume(files, u.Machine.WASM.Folder, u.Machine.WASM.Write, p.charge)
	defer p.volume.release()
	p.top = &node{folder: true, inode: 1}
	p.open = []*descriptor{{stream: streamIn, read: true}, {stream: streamOut, write: true}, {stream: streamError, write: true}, topFolder: {node: p.top, read: true}}
	return p.run(ctx, r.runtime, m)
}

// arguments returns a run's arguments and its environment.
func arguments(run engine.MachineRun) (args, env []string, err error) {
	args = run.Command.List
	if args == nil {
		if args, err = machines.Words(run.Command.Text); err != nil {
			return nil, nil, err
		}
	}
	if len(args) == 0 {
		return nil, nil, value.Errorf(value.BadArgument, "RUN takes a command: the name to call the module by, and its arguments")
	}
	for name, text := range run.Env {
		env = append(env, name+"="+text)
	}
	slices.Sort(env)
	size := 0
	for _, text := range slices.Concat(args, env) {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, nil, value.Errorf(value.BadArgument, "an argument of RUN holds the character U+0000, which ends arguments")
		}
		size += len(text) + 1
	}
	if size > maxArguments {
		return nil, nil, value.Errorf(value.BadArgument, "the arguments of RUN have %d bytes, and may have %d: give more by INPUT", size, maxArguments)
	}
	return args, env, nil
}

// Test implements machines.Runner: it compiles the module.
func (r *Runner) Test(ctx context.Context, u machines.Use) error {
	held := r.o.Ledger.Open(admit.AccountHolder(int64(u.Account.ID)))
	defer held.Release()
	m, err := r.load(ctx, u, &held)
	if err != nil {
		return err
	}
	r.cache.release(m)
	if folder := u.Machine.WASM.Folder; folder != "" {
		// The first entry tells whether there is such a folder.
		u.Files.List(ctx, folder, "")(func(_ engine.FileInfo, first error) bool {
			err = first
			return false
		})
	}
	return err
}

// CopyTo implements machines.Runner: what a machine with a folder has of files is in that.
func (r *Runner) CopyTo(ctx context.Context, u machines.Use, path string, from io.Reader) error {
	at, err := inFolder(u, path)
	if err != nil {
		return err
	}
	if !u.Machine.WASM.Write {
		return value.Errorf("machine_failed", "the machine %s may not change its folder: define it with the right to write", value.Quote(u.Machine.Name))
	}
	engine.Yield(ctx)
	return u.Files.WriteStream(ctx, at, func(w io.Writer) error { _, err := io.Copy(w, from); return err }, func() context.Context { return ctx })
}

// CopyFrom implements machines.Runner.
func (r *Runner) CopyFrom(ctx context.Context, u machines.Use, path string, to io.Writer) (err error) {
	at, err := inFolder(u, path)
	if err != nil {
		return err
	}
	engine.Yield(ctx)
	held, err := u.Files.Hold(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	_, err = io.Copy(to, held)
	return err
}

// inFolder returns the path among the account's files of one of a machine.
func inFolder(u machines.Use, path string) (string, error) {
	if u.Machine.WASM.Folder == "" {
		return "", value.Errorf("machine_failed", "the machine %s has no folder to copy files to or from", value.Quote(u.Machine.Name))
	}
	at, e := resolve("", []byte(strings.TrimPrefix(path, "/")))
	if e != success || at == "" {
		return "", value.Errorf("invalid_path", "the path %s cannot be used on the machine %s", value.Quote(path), value.Quote(u.Machine.Name))
	}
	return strings.TrimSuffix(u.Machine.WASM.Folder, "/") + "/" + at, nil
}

// Forget implements machines.Runner. Modules are kept by their content, so there is nothing of a
// machine's own.
func (r *Runner) Forget(account.ID, string) {}

// Close implements machines.Runner. No module may run any more.
func (r *Runner) Close() error { return r.runtime.Close(context.Background()) }
