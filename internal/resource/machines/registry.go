package machines

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/redacted"
	"ql/lang/value"
)

// Sealer encrypts private keys.
type Sealer interface {
	SealMachineKey(id account.ID, machine string, plain []byte) ([]byte, error)
	OpenMachineKey(id account.ID, machine string, sealed []byte) ([]byte, error)
}

// Options are what a registry is made of.
type Options struct {
	Store  Store
	Sealer Sealer
	// Runners do the work of each kind. Machines of a kind without one can be defined and not used.
	Runners map[Kind]Runner
	// CheckHost says why a host cannot be reached, as far as its name tells; nil for any host.
	CheckHost func(host string, port uint16) error
	// Done is told of each RUN and COPY: how it ended is the code of its error, "ok" or "cut_off";
	// nil for nobody.
	Done   func(kind, how string, took time.Duration)
	Clock  func() time.Time
	Random io.Reader
}

// Registry defines the machines of accounts, and finds them.
type Registry struct{ o Options }

// New returns a registry.
func New(o Options) *Registry { return &Registry{o} }

// Close closes what the kinds have open.
func (r *Registry) Close() error {
	var errs []error
	for _, one := range r.o.Runners {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// Definition is what an owner says of a machine.
type Definition struct {
	Kind Kind

	// Of KindSSH.
	Address string        // user@host, or user@host:port
	Key     redacted.Text // the private key to log in by; "" for the one that it has, or a new one
	HostKey string        // that the host must show; "" for the one that it shows first
	Allow   []string

	// Of KindWASM.
	Module string
	Folder string
	Write  bool
}

const defaultPort = 22

// Put defines a machine of an account, in place of the one of its name.
func (r *Registry) Put(ctx context.Context, a account.Account, l account.Limits, name string, d Definition) (m Machine, created bool, err error) {
	if !names.IsName(name) {
		return m, false, fault.Invalid("name", "%v", names.ErrName)
	}
	if l.Machines == 0 {
		return m, false, fault.New(fault.LimitExceeded, "the plan of the account has no machines")
	}
	m = Machine{Account: a.ID, Name: name, Kind: d.Kind, Set: r.o.Clock()}
	var sealed []byte
	switch d.Kind {
	case KindSSH:
		sealed, err = r.defineSSH(ctx, &m, d, a.Username)
	case KindWASM:
		err = defineWASM(&m, d)
	default:
		err = fault.Invalid("kind", "there is no kind %q of machines: ssh and wasm fit", d.Kind)
	}
	if err != nil {
		return m, false, err
	}
	created, err = r.o.Store.Put(ctx, m, sealed, l.Machines)
	if errors.Is(err, ErrTooMany) {
		f := fault.New(fault.LimitExceeded, "the account has %d machines, which is as many as its plan allows: remove one first", l.Machines)
		f.Limit, f.Value = "machines", int64(l.Machines)
		return m, false, f
	}
	if err == nil {
		r.forget(m)
	}
	return m, created, err
}

// defineSSH fills in a host, and returns its sealed key.
func (r *Registry) defineSSH(ctx context.Context, m *Machine, d Definition, username string) (sealed []byte, err error) {
	if d.Module != "" || d.Folder != "" || d.Write {
		return nil, fault.Invalid("kind", "a machine of the kind ssh has no module and no folder")
	}
	if err := r.parseAddress(m, d.Address); err != nil {
		return nil, err
	}
	if err := checkAllow(d.Allow); err != nil {
		return nil, err
	}
	m.SSH.Allow = d.Allow
	if m.SSH.HostKey, err = readHostKey(d.HostKey); err != nil {
		return nil, err
	}
	private := []byte(d.Key)
	switch {
	case d.Key != "":
		m.SSH.PublicKey, err = readKey(d.Key)
	default:
		var before Machine
		before, sealed, err = r.o.Store.Machine(ctx, m.Account, m.Name)
		if err == nil && before.Kind == KindSSH && sealed != nil {
			m.SSH.PublicKey = before.SSH.PublicKey
			return sealed, nil
		}
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return nil, err
		}
		private, m.SSH.PublicKey, err = newKey(r.o.Random, "ql-"+username+"-"+m.Name)
	}
	if err != nil {
		return nil, err
	}
	return r.o.Sealer.SealMachineKey(m.Account, m.Name, private)
}

// parseAddress reads user@host:port.
func (r *Registry) parseAddress(m *Machine, address string) error {
	user, host, ok := cutLast(address, "@")
	if !ok || !isUser(user) {
		return fault.Invalid("address", "%s is no address such as user@example.com or user@example.com:22", value.Quote(short(address)))
	}
	port := uint16(defaultPort)
	h, p, err := hostname.ParseHostPort(host)
	if err != nil {
		h, err = hostname.Parse(host)
	} else if p != 0 {
		port = p
	}
	if err != nil {
		return fault.Invalid("address", "%s is no host such as example.com or example.com:22", value.Quote(short(host)))
	}
	m.SSH.User, m.SSH.Host, m.SSH.Port = user, h.String(), int(port)
	if r.o.CheckHost != nil {
		if err := r.o.CheckHost(m.SSH.Host, port); err != nil {
			return fault.Invalid("address", "%v", err)
		}
	}
	return nil
}

func cutLast(text, mark string) (before, after string, found bool) {
	i := strings.LastIndex(text, mark)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(mark):], true
}

// isUser tells whether a host may know a user by such a name.
func isUser(name string) bool {
	const most = 64
	if name == "" || len(name) > most || name[0] == '-' {
		return false
	}
	for _, c := range name {
		if c <= ' ' || c == 0x7f || strings.ContainsRune("@:/\\'\"", c) {
			return false
		}
	}
	return true
}

func short(text string) string {
	const most = 100
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// defineWASM fills in a module.
func defineWASM(m *Machine, d Definition) error {
	if d.Address != "" || d.Key != "" || d.HostKey != "" || len(d.Allow) > 0 {
		return fault.Invalid("kind", "a machine of the kind wasm has no address, no keys and no allowed commands")
	}
	for _, path := range []struct{ field, path string }{{"module", d.Module}, {"folder", d.Folder}} {
		if path.path == "" && path.field == "folder" {
			continue
		}
		if !strings.HasPrefix(path.path, "/") || len(path.path) > 1024 || strings.IndexByte(path.path, 0) >= 0 {
			return fault.Invalid(path.field, "it is a path of the account's files such as /tools/calc.wasm, not %s", value.Quote(short(path.path)))
		}
	}
	if d.Write && d.Folder == "" {
		return fault.Invalid("write", "there is no folder to write to: name one by folder")
	}
	m.WASM = WASM{Module: d.Module, Folder: d.Folder, Write: d.Write}
	return nil
}

func (r *Registry) forget(m Machine) {
	for _, one := range r.o.Runners {
		one.Forget(m.Account, m.Name)
	}
}

// Machine returns a machine of an account.
func (r *Registry) Machine(ctx context.Context, id account.ID, name string) (Machine, error) {
	m, _, err := r.o.Store.Machine(ctx, id, name)
	return m, missing(err, name)
}

// missing makes the error of a machine that is not there one with a code.
func missing(err error, name string) error {
	if errors.Is(err, account.ErrNotFound) {
		return fault.New(fault.NotFound, "the account has no machine %s", value.Quote(short(name)))
	}
	return err
}

// Machines returns the machines of an account by their names.
func (r *Registry) Machines(ctx context.Context, id account.ID) ([]Machine, error) {
	return r.o.Store.Machines(ctx, id)
}

// Remove forgets a machine, with its key.
func (r *Registry) Remove(ctx context.Context, id account.ID, name string) error {
	err := r.o.Store.Remove(ctx, id, name)
	if err == nil {
		r.forget(Machine{Account: id, Name: name})
	}
	return missing(err, name)
}

// For returns an account's machines, for one run, which shares its usage with others. What the
// account may use in a month is nil for any amount.
func (r *Registry) For(a account.Account, l account.Limits, files engine.Files, u *Usage, month Allowance) *Machines {
	return &Machines{registry: r, account: a, limits: l, files: files, usage: u, month: month}
}

// use finds a machine of an account, and what its kind needs of it.
func (r *Registry) use(ctx context.Context, a account.Account, l account.Limits, files engine.Files, name string) (Use, Runner, error) {
	m, sealed, err := r.o.Store.Machine(ctx, a.ID, name)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return Use{}, nil, value.Errorf("machine_not_found", "the account has no machine %s: ql machine add makes one", value.Quote(short(name)))
	case err != nil:
		return Use{}, nil, err
	}
	runner := r.o.Runners[m.Kind]
	if runner == nil {
		return Use{}, nil, value.Errorf("not_available", "machines of the kind %s are not available here", m.Kind)
	}
	return Use{Machine: m, Account: a, Limits: l, Files: files, Key: func(context.Context) ([]byte, error) {
		return r.o.Sealer.OpenMachineKey(a.ID, m.Name, sealed)
	}}, runner, nil
}

// Pin stores the key that a host showed first.
func (r *Registry) Pin(ctx context.Context, m Machine, hostKey string) error {
	return r.o.Store.Pin(ctx, m.Account, m.Name, m.Set, hostKey)
}
