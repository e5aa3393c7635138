package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/engine"
	"ql/internal/resource/databases"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/internal/resource/shares"
	"ql/internal/store/sqlite"
	"ql/lang/value"
)

// resources opens what scripts of an account reach. Databases of accounts that
// were used lately stay open.
type resources struct {
	data     string
	dev      bool // the node is one person's own
	sweeps   bool // this process is the one that removes dead content
	accounts *account.Service
	usage    files.Rows
	trees    *files.Trees
	shares   *shares.Shares
	sessions *sessions.Store
	fetcher  *fetcher
	tally    *usage.Tally

	mu    sync.Mutex
	held  map[account.ID]*holding
	clock int64 // grows with each use
}

// holding are an account's open databases, and the room that they share with
// its files.
type holding struct {
	account   account.ID
	databases *databases.Databases
	storage   *storage
	outgoing  outgoing // calls to other servers
	users     int
	lastUse   int64
}

const (
	// maxHeld is how many accounts' databases stay open while nobody uses them.
	maxHeld = 128
	// maxOpen is how many databases of one account do.
	maxOpen = 4
)

// open implements execution.Host.Resources.
func (r *resources) open(_ context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
	h := r.acquire(a.ID)
	q := quotaOf(l) // all that lasts as long as the run
	return engine.Resources{
		Files:     r.tree(h, l),
		Databases: h.databases,
		Sessions:  r.sessions.For(a.ID, session).Bound(sessions.Bounds{Bytes: l.SessionBytes, Keys: l.SessionKeys, Sessions: l.Sessions}),
		Secrets:   secrets{r.accounts, a.ID},
		Shares:    r.shares.For(a.ID, r.shareLimits(a, l)),
		Network:   r.fetcher.open(a, l, &h.outgoing, r.tally),
		Quota:     func(ctx context.Context) (value.Value, error) { return r.quota(ctx, h, q) },
		Release:   func() { r.release(h) },
	}, nil
}

func (r *resources) acquire(id account.ID) *holding {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[id]
	if h == nil {
		h = r.hold(id)
		r.held[id] = h
	}
	h.users++
	return h
}

func (r *resources) hold(id account.ID) *holding {
	room := &storage{usage: func(ctx context.Context) (files.Usage, error) { return r.usage.Usage(ctx, id) }}
	all := databases.New(databases.Options{Folder: r.databaseFolder(id), MaxOpen: maxOpen, Storage: room})
	if r.sweeps {
		room.reclaim = func(ctx context.Context, bytes int64) error {
			all.CheckpointIdle()
			_, err := r.trees.Reclaim(ctx, id, bytes)
			return err
		}
	}
	room.measure = all.Measure
	return &holding{account: id, databases: all, storage: room}
}

func (r *resources) databaseFolder(id account.ID) string {
	return databaseFolder(r.data, id)
}

func databaseFolder(data string, id account.ID) string {
	return filepath.Join(accountFolder(data, id), "databases")
}

func (r *resources) release(h *holding) {
	r.mu.Lock()
	r.clock++
	h.lastUse = r.clock
	r.mu.Unlock()
	r.leave(h)
}

// leave is release by who used nothing: it keeps no account's databases open.
func (r *resources) leave(h *holding) {
	r.mu.Lock()
	h.users--
	oldest := r.takeOldest()
	r.mu.Unlock()
	if oldest != nil {
		// The files are sound whether or not closing them succeeds.
		_ = oldest.databases.Close()
	}
}

// takeOldest takes out what was unused the longest, where too much is held.
// r.mu is held.
func (r *resources) takeOldest() *holding {
	if len(r.held) <= maxHeld {
		return nil
	}
	var oldest *holding
	for _, h := range r.held {
		if h.users == 0 && (oldest == nil || h.lastUse < oldest.lastUse) {
			oldest = h
		}
	}
	if oldest != nil {
		delete(r.held, oldest.account)
	}
	return oldest
}

// clear removes an account's databases. Scripts that use one are waited for.
func (r *resources) clear(ctx context.Context, id account.ID) error {
	h := r.acquire(id)
	defer r.release(h)
	return h.databases.DropAll(ctx)
}

// forgetEnded removes what jobs left in an account's databases, of which ended
// says that nobody asks for it any more.
func (r *resources) forgetEnded(ctx context.Context, id account.ID, ended func(context.Context, [16]byte) (bool, error)) error {
	if _, err := os.Stat(r.databaseFolder(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	h := r.acquire(id)
	defer r.leave(h)
	return h.databases.SweepReceipts(ctx, ended)
}

// close closes all databases. Those in use are closed when their scripts let
// go of them.
func (r *resources) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, h := range r.held {
		err = errors.Join(err, h.databases.Close())
	}
	clear(r.held)
	return err
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
	return text, err == nil, err
}

// accountFolder is where an account keeps what has files of its own.
func accountFolder(data string, id account.ID) string {
	return filepath.Join(data, sqlite.AccountFolder, strconv.FormatInt(int64(id), 10))
}
