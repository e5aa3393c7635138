package app

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"sync"

	"ql/internal/account"
	"ql/internal/api"
	"ql/internal/resource/databases"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/lang/value"
)

// resources opens what scripts of an account reach. Databases of accounts that
// were used lately stay open.
type resources struct {
	data     string
	accounts *account.Service
	usage    files.Rows
	trees    *files.Trees
	sessions *sessions.Store

	mu    sync.Mutex
	held  map[holdingKey]*holding
	clock int64 // grows with each use
}

// holdingKey is an account, with the bound that its databases were opened
// under: a plan that changes opens them anew.
type holdingKey struct {
	account  account.ID
	maxBytes int64
}

// holding are an account's open databases.
type holding struct {
	databases *databases.Databases
	users     int
	lastUse   int64
}

const (
	// maxHeld is how many accounts' databases stay open while nobody uses them.
	maxHeld = 128
	// maxOpen is how many databases of one account do.
	maxOpen = 4
)

// open implements api.Options.Resources.
func (r *resources) open(_ context.Context, a account.Account, l account.Limits, session string) (api.Resources, error) {
	key := holdingKey{a.ID, unlimited(l.StorageBytes)}
	h := r.acquire(key)
	return api.Resources{
		Files:     r.trees.For(a.ID, files.Quota{Bytes: l.StorageBytes, File: l.FileBytes, Nodes: int64(l.Files)}),
		Databases: h.databases,
		Session:   r.sessions.For(a.ID, session).Bound(l.SessionBytes, l.SessionKeys),
		Secrets:   secrets{r.accounts, a.ID},
		Quota:     func(ctx context.Context) (value.Value, error) { return r.quota(ctx, a.ID, l) },
		Release:   func() { r.release(h) },
	}, nil
}

// unlimited makes a bound of none.
func unlimited(bytes int64) int64 {
	if bytes == 0 {
		return math.MaxInt64 / 2
	}
	return bytes
}

func (r *resources) acquire(key holdingKey) *holding {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[key]
	if h == nil {
		h = &holding{databases: databases.New(databases.Options{
			Folder: r.databaseFolder(key.account), MaxBytes: key.maxBytes, MaxOpen: maxOpen,
		})}
		r.held[key] = h
	}
	h.users++
	return h
}

func (r *resources) databaseFolder(id account.ID) string {
	return filepath.Join(accountFolder(r.data, id), "databases")
}

func (r *resources) release(h *holding) {
	r.mu.Lock()
	h.users--
	r.clock++
	h.lastUse = r.clock
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
	var key holdingKey
	for k, h := range r.held {
		if h.users == 0 && (oldest == nil || h.lastUse < oldest.lastUse) {
			oldest, key = h, k
		}
	}
	if oldest != nil {
		delete(r.held, key)
	}
	return oldest
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

// quota is what !QUOTA holds.
func (r *resources) quota(ctx context.Context, id account.ID, l account.Limits) (value.Value, error) {
	usage, err := r.usage.Usage(ctx, id)
	if err != nil {
		return value.Null, err
	}
	stored, err := folderBytes(r.databaseFolder(id))
	if err != nil {
		return value.Null, err
	}
	storage := value.NewMap(nil, 2)
	storage.SetText("used", value.Int(usage.Bytes+stored))
	storage.SetText("limit", bound(l.StorageBytes))
	all := value.NewMap(nil, 1)
	all.SetText("storage", storage.Value())
	return all.Value(), nil
}

// bound is a limit as scripts see it: null for none.
func bound(limit int64) value.Value {
	if limit == 0 {
		return value.Null
	}
	return value.Int(limit)
}

// folderBytes returns how much the files of a folder hold, 0 without one.
func folderBytes(folder string) (bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile
		}
		return err
	})
	return bytes, err
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
	return filepath.Join(data, "accounts", strconv.FormatInt(int64(id), 10))
}
