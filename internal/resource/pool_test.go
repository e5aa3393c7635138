package resource

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/account/usage"
	"ql/internal/config"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/internal/network"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// node is a pool on a data folder, as the service has it.
type node struct {
	settings config.Settings
	accounts *account.Service
	pool     *Pool
	closers  []func() error // the last one first
}

// start opens the data folder of some settings.
func start(t *testing.T, change func(*config.Settings)) *node {
	t.Helper()
	s, err := config.Load(config.Sources{Flags: map[string]string{"listen": "127.0.0.1:0", "data": sqlitetest.Folder(t), "dev": "true"}})
	check(t, err)
	if change != nil {
		change(&s)
	}
	n := &node{settings: s}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	})
	_, _, err = sqlite.MakeFolder(s.Data)
	check(t, err)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Folder: s.Data, Own: true})
	check(t, err)
	n.closers = append(n.closers, store.Close)
	vault, err := seal.OpenVault(t.Context(), store.Accounts(), s.MasterKeyPath(), false)
	check(t, err)
	n.accounts = account.NewService(store.Accounts(), vault, account.Options{Dev: s.Dev, Limits: s.Limits})
	blobs, err := dir.OpenBlobs(filepath.Join(s.Data, sqlite.BlobFolder))
	check(t, err)
	n.closers = append(n.closers, blobs.Close)
	lock, err := sqlite.OpenBlobLock(s.Data)
	check(t, err)
	n.closers = append(n.closers, lock.Close)
	blobs.SetRemovalLock(lock.TryExclusive)
	_, err = blobs.RemoveUnfinished(time.Now())
	check(t, err)
	trees := files.NewTrees(store.Files(), blobs, time.Now)
	fetcher := NewFetcher(FetcherOptions{Policy: network.Policy{}, Plans: s.Plans, Dev: s.Dev, Done: func(string, time.Duration) {}})
	all, err := NewMachines(t.Context(), MachineOptions{Store: store.Machines(), Sealer: n.accounts.Sealer(), Guard: guard.New(nil, nil)})
	check(t, err)
	n.pool = New(Options{
		Folder: filepath.Join(s.Data, sqlite.AccountFolder), Usage: store.Files(), Trees: trees, Reclaims: true,
		Dev: s.Dev, Accounts: n.accounts, Shares: NewShares(store.Shares(), trees, "http://localhost", time.Now),
		Sessions: sessions.New(store.Sessions(), sessions.Options{}), Fetcher: fetcher, Machines: all, Tally: usage.NewTally(store.Usage(), time.Now),
	})
	n.closers = append(n.closers, n.pool.Close)
	return n
}

// stop closes all. A second call does nothing.
func (n *node) stop() (err error) {
	for i := len(n.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, n.closers[i]())
	}
	n.closers = nil
	return err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reach returns what scripts of the development account reach.
func reach(t *testing.T, a *node) engine.Resources {
	t.Helper()
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.pool.Open(t.Context(), dev, a.settings.Limits(dev.Plan), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	return r
}

// sql runs SQL on a database.
func sql(t *testing.T, r engine.Resources, name, text string) error {
	t.Helper()
	head, _, _ := strings.Cut(text, " ")
	_, err := r.Databases.Query(t.Context(), name, engine.Query{Statement: &bytecode.Statement{Head: head, Texts: []string{text}}})
	return err
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

// TestOpenDatabasesAreBounded: databases of accounts unused the longest are
// closed, and those in use are not.
func TestOpenDatabasesAreBounded(t *testing.T) {
	a := start(t, nil)
	r := a.pool
	busy := r.acquire(1)
	for id := range account.ID(3 * maxIdle) {
		r.release(r.acquire(id + 2))
	}
	if len(r.handles) > maxIdle {
		t.Errorf("%d are held", len(r.handles))
	}
	if r.handles[1] != busy {
		t.Error("one in use was closed")
	}
	if r.handles[3*maxIdle+1] == nil {
		t.Error("the last one used was closed")
	}
	r.release(busy)
}
