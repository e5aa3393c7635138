// Package resource opens what the scripts of an account reach, its files, databases,
// sessions, secrets, links, machines and the network, and accounts for the storage that files and
// databases share. Each kind of resource is a package below this one; which store and
// which network stand behind them is told by who makes the pool.
package resource

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
	"ql/internal/resource/machines"
	"ql/internal/resource/sessions"
	"ql/internal/resource/shares"
	"ql/lang/value"
)

// Options are what a pool is made of. One that opens no more than files and databases
// needs Folder, Usage and, for files, Trees.
type Options struct {
	Folder string // that holds a folder for each account
	Usage  files.Store
	Trees  *files.Trees
	// Ship says where databases last, with Guard to look after what is merged there; nil where that is in
	// Folder.
	Ship  *ship.Options
	Guard *guard.Guard
	// Reclaims says that this process is the one that removes dead content.
	Reclaims bool

	Dev bool // the node is one person's own
	// Mount is a real folder among the files of the development account; nil for none.
	Mount    *files.Mount
	Accounts *account.Service
	Shares   *shares.Shares
	Sessions *sessions.Manager
	Fetcher  *Fetcher
	Machines *machines.Registry // nil for none
	Mails    *Mailing           // nil for none
	Tally    *usage.Tally
}

// Pool opens the resources of accounts. Databases of accounts that were used lately stay
// open.
type Pool struct {
	o Options

	mu      sync.Mutex
	handles map[account.ID]*handle
	closing map[account.ID]chan struct{} // of those that are being closed; closed when they are
	clock   int64                        // grows with each use

	shipper *ship.Shipper // nil where databases last in files
	stop    func()        // what the shipper does
	leaving chan struct{} // closed when the homes of databases are left
}

// New returns a pool that has nothing open yet.
func New(o Options) *Pool {
	p := &Pool{o: o, handles: map[account.ID]*handle{}, closing: map[account.ID]chan struct{}{}, stop: func() {}, leaving: make(chan struct{})}
	if o.Ship != nil {
		p.shipper = ship.New(*o.Ship)
		ctx, cancel := context.WithCancel(context.Background())
		var loops sync.WaitGroup
		if o.Guard == nil { // a command, which ships nothing
			cancel()
			return p
		}
		for name, loop := range map[string]func(context.Context){"merging of databases": p.shipper.Run, "homes of databases": p.leaveHomes} {
			loops.Add(1)
			o.Guard.Go(name, func() {
				defer loops.Done()
				o.Guard.Loop(ctx, name, loop)
			})
		}
		p.stop = func() {
			cancel()
			loops.Wait()
		}
	}
	return p
}

// handle is an account's open databases, and the storage that they share with its files.
type handle struct {
	account   account.ID
	databases *databases.Databases
	storage   *storage
	origin    *ship.Origin // nil where the databases last here
	outgoing  outgoing     // calls to other servers
	commands  machines.Usage
	users     int
	lastUse   int64
	used      time.Time // when it was released last
}

const (
	// maxIdle is how many accounts' databases stay open while nobody uses them.
	maxIdle = 128
	// maxOpen is how many databases of one account do.
	maxOpen = 4
)

// Open implements execution.Host.Resources.
func (p *Pool) Open(_ context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
	h := p.acquire(a.ID)
	q := quotaOf(l) // all that lasts as long as the run
	files := p.files(h, a, l)
	return engine.Resources{
		Files:     files,
		Databases: h.databases,
		Sessions:  p.o.Sessions.For(a.ID, session).WithBounds(sessions.Bounds{Bytes: l.SessionBytes, Keys: l.SessionKeys, Sessions: l.Sessions}),
		Secrets:   secrets{p.o.Accounts, a.ID},
		Shares:    p.o.Shares.For(a.ID, p.shareLimits(a, l)),
		Network:   p.o.Fetcher.open(a, l, &h.outgoing, p.o.Tally),
		Machines:  p.machines(h, a, l, files),
		Mails:     p.mails(a, l),
		Quota:     func(ctx context.Context) (value.Value, error) { return p.quota(ctx, h, q) },
		Release:   func() { p.release(h) },
	}, nil
}

// Tree returns an account's files. Release lets go of them.
func (p *Pool) Tree(id account.ID, l account.Limits) (tree *files.Tree, release func()) {
	h := p.acquire(id)
	return p.tree(h, l), func() { p.release(h) }
}

// tree returns an account's files, which share their storage with its databases.
func (p *Pool) tree(h *handle, l account.Limits) *files.Tree {
	h.storage.setLimits(l.StorageBytes, l.Databases)
	return p.o.Trees.For(h.account, files.Quota{Bytes: l.StorageBytes, File: l.FileBytes, Nodes: int64(l.Files), Storage: h.storage})
}

// files are what the scripts of an account have for files.
func (p *Pool) files(h *handle, a account.Account, l account.Limits) engine.Files {
	tree := p.tree(h, l)
	if m := p.MountOf(a); m != nil {
		return m.Over(tree)
	}
	return tree
}

// MountOf returns the real folder among the files of an account; nil for none.
func (p *Pool) MountOf(a account.Account) *files.Mount {
	if !isDevelopment(a) {
		return nil
	}
	return p.o.Mount
}

// SiteVersions returns what tells whether the site of an account is still as it was, by what tells that of the
// store. Nothing tells it of a real folder.
func (p *Pool) SiteVersions(stored func(account.ID) (uint64, bool)) func(account.Account) (uint64, bool) {
	return func(a account.Account) (version uint64, ok bool) {
		if p.MountOf(a) != nil {
			return 0, false
		}
		return stored(a.ID)
	}
}

// Links returns an account's links, for its owner.
func (p *Pool) Links(a account.Account, l account.Limits) *shares.Links {
	return p.o.Shares.For(a.ID, p.shareLimits(a, l))
}

// Owned returns an account's databases for its owner, past scripts. Release lets go of them.
func (p *Pool) Owned(id account.ID, l account.Limits) (all *databases.Databases, release func()) {
	h := p.acquire(id)
	h.storage.setLimits(l.StorageBytes, l.Databases)
	return h.databases, func() { p.release(h) }
}

// Databases opens an account's databases apart from those of the pool. They are closed by
// the caller.
func (p *Pool) Databases(id account.ID, l account.Limits) *databases.Databases {
	h := p.newHandle(id)
	h.storage.setLimits(l.StorageBytes, l.Databases)
	return h.databases
}

func (p *Pool) acquire(id account.ID) *handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.closing[id] != nil {
		closed := p.closing[id]
		p.mu.Unlock()
		<-closed
		p.mu.Lock()
	}
	h := p.handles[id]
	if h == nil {
		h = p.newHandle(id)
		p.handles[id] = h
	}
	h.users++
	return h
}

func (p *Pool) newHandle(id account.ID) *handle {
	s := &storage{usage: func(ctx context.Context) (files.Usage, error) { return p.o.Usage.Usage(ctx, id) }}
	o := databases.Options{Folder: p.databaseFolder(id), MaxOpen: maxOpen, Storage: s}
	h := &handle{account: id, storage: s}
	if p.shipper != nil {
		h.origin = p.shipper.Of(id)
		o.Origin = h.origin
	}
	all := databases.New(o)
	h.databases = all
	if p.o.Reclaims {
		s.reclaim = func(ctx context.Context, bytes int64) error {
			all.CheckpointIdle()
			_, err := p.o.Trees.Reclaim(ctx, id, bytes)
			return err
		}
	}
	s.measure = all.Measure
	return h
}

func (p *Pool) release(h *handle) {
	p.mu.Lock()
	p.clock++
	h.lastUse = p.clock
	p.mu.Unlock()
	p.releaseUnused(h)
}

// releaseUnused is release by who used nothing: it keeps no account's databases open.
func (p *Pool) releaseUnused(h *handle) {
	p.mu.Lock()
	h.users--
	h.used = time.Now()
	evicted := p.evict()
	p.mu.Unlock()
	if evicted != nil {
		p.closeHandle(evicted)
	}
}

// closeHandle closes what was taken out. Nobody opens the copies of shipped databases meanwhile: they are used by one at
// a time.
func (p *Pool) closeHandle(h *handle) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	// The files are sound whether or not closing them succeeds, and a home that was not left is this node's still.
	_ = p.closeWithin(ctx, h)
}

// closeWithin is closeHandle, as long as the context has it.
func (p *Pool) closeWithin(ctx context.Context, h *handle) error {
	defer func() { // also after a panic, or the account would wait forever
		p.mu.Lock()
		defer p.mu.Unlock()
		if closed := p.closing[h.account]; closed != nil {
			delete(p.closing, h.account)
			close(closed)
		}
	}()
	return h.close(ctx)
}

// takeOut takes out a handle that is to be closed. p.mu is held.
func (p *Pool) takeOut(h *handle) {
	delete(p.handles, h.account)
	if h.origin != nil {
		p.closing[h.account] = make(chan struct{})
	}
}

// close closes the databases, which another node may have from then on.
func (h *handle) close(ctx context.Context) error {
	err := h.databases.Close()
	if h.origin != nil {
		err = errors.Join(err, h.origin.Leave(ctx))
	}
	return err
}

// evict takes out what was unused the longest, where too much is open. p.mu is held.
func (p *Pool) evict() *handle {
	if len(p.handles) <= maxIdle {
		return nil
	}
	var oldest *handle
	for _, h := range p.handles {
		if h.users == 0 && (oldest == nil || h.lastUse < oldest.lastUse) {
			oldest = h
		}
	}
	if oldest != nil {
		p.takeOut(oldest)
	}
	return oldest
}

// ClearDatabases removes an account's databases. Scripts that use one are waited for.
func (p *Pool) ClearDatabases(ctx context.Context, id account.ID) error {
	h := p.acquire(id)
	defer p.release(h)
	return h.databases.DropAll(ctx)
}

// RemoveFolder removes an account's folder, with all that is in it.
func (p *Pool) RemoveFolder(id account.ID) error { return os.RemoveAll(p.AccountFolder(id)) }

// DeleteReceipts removes the receipts of jobs from an account's databases, of which ended
// says that nobody asks for them any more.
func (p *Pool) DeleteReceipts(ctx context.Context, id account.ID, ended func(context.Context, [16]byte) (bool, error)) error {
	if _, err := os.Stat(p.databaseFolder(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	h := p.acquire(id)
	defer p.releaseUnused(h)
	err := h.databases.SweepReceipts(ctx, ended)
	var elsewhere *ship.ElsewhereError
	if errors.As(err, &elsewhere) {
		return nil // who has them does it
	}
	return err
}

// Close closes all databases, and what machines have open. Databases in use are closed when their
// scripts release them.
func (p *Pool) Close() error {
	p.stop()
	p.mu.Lock()
	open := slices.Collect(maps.Values(p.handles))
	for _, h := range open {
		p.takeOut(h)
	}
	p.mu.Unlock()
	// All of them together have the time of one: where the store does not answer, that is so for each.
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	var err error
	for _, h := range open {
		err = errors.Join(err, p.closeWithin(ctx, h))
	}
	if p.o.Machines != nil {
		err = errors.Join(err, p.o.Machines.Close())
	}
	return err
}

// Machines returns the machines of accounts, for their owners; nil for none.
func (p *Pool) Machines() *machines.Registry { return p.o.Machines }

// AccountFolder is where an account has what is stored in files of its own.
func (p *Pool) AccountFolder(id account.ID) string {
	return filepath.Join(p.o.Folder, strconv.FormatInt(int64(id), 10))
}

func (p *Pool) databaseFolder(id account.ID) string { return databaseFolder(p.o.Folder, id) }

func databaseFolder(accounts string, id account.ID) string {
	return filepath.Join(accounts, strconv.FormatInt(int64(id), 10), "databases")
}

// secrets are the secrets of one account.
type secrets struct {
	accounts *account.Service
	id       account.ID
}

// Secret implements engine.Secrets.
func (s secrets) Secret(ctx context.Context, name string) (string, bool, error) {
	text, err := s.accounts.Secret(ctx, s.id, name)
	if errors.Is(err, account.ErrNotFound) {
		return "", false, nil
	}
	return text.Reveal(), err == nil, err
}

func isDevelopment(a account.Account) bool { return a.Username == account.Development }
