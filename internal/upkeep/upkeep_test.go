package upkeep

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
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
	"ql/internal/record"
	"ql/internal/resource"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// node is an upkeep on a data folder, as the service has it, that is not started.
type node struct {
	settings config.Settings
	accounts *account.Service
	store    *sqlite.Store
	recorder *record.Recorder
	growth   *Growth
	pool     *resource.Pool
	upkeep   *Upkeep
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
	bounds := []int64{}
	for plan := range s.Plans {
		bounds = append(bounds, s.Limits(plan).RecordsBytes)
	}
	n := &node{settings: s, growth: NewGrowth(bounds)}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	})
	_, _, err = sqlite.MakeFolder(s.Data)
	check(t, err)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Folder: s.Data, Own: true, Grown: n.growth.Add})
	check(t, err)
	n.store = store
	n.closers = append(n.closers, store.Close)
	log := slog.New(slog.DiscardHandler)
	tasks := guard.New(log, nil)
	n.recorder = record.NewRecorder(store.Jobs(), record.Options{Guard: tasks})
	n.closers = append(n.closers, func() error { return n.recorder.Close(context.Background()) })
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
	fetcher := resource.NewFetcher(resource.FetcherOptions{Policy: network.Policy{}, Plans: s.Plans, Dev: s.Dev, Done: func(string, time.Duration) {}})
	n.pool = resource.New(resource.Options{
		Folder: filepath.Join(s.Data, sqlite.AccountFolder), Usage: store.Files(), Trees: trees, Reclaims: true,
		Dev: s.Dev, Accounts: n.accounts, Shares: resource.NewShares(store.Shares(), trees, "http://localhost", time.Now),
		Sessions: sessions.New(store.Sessions(), sessions.Options{}), Fetcher: fetcher, Tally: usage.NewTally(store.Usage(), time.Now),
	})
	n.closers = append(n.closers, n.pool.Close)
	n.upkeep = New(Options{
		Accounts: n.accounts, AccountStore: store.Accounts(), Jobs: store.Jobs(), Queue: store.Queue(), Deliveries: store.Deliveries(), Mails: store.Mails(), Shares: store.Shares(),
		Files: store.Files(), Blobs: blobs, Resources: n.pool, Store: store, Data: s.Data, Growth: n.growth, Limits: s.Limits,
		PurgeDevelopment: !s.Dev && s.DevUsername != "", Began: time.Now(), Guard: tasks, Log: log,
	})
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

// TestSweepScripts: versions of published scripts that have ended are removed.
func TestSweepScripts(t *testing.T) {
	n := start(t, nil)
	a, err := n.accounts.EnsureDevelopment(t.Context())
	check(t, err)
	for _, text := range []string{"EMIT 1", "EMIT 2", "EMIT 3"} {
		_, _, err := n.accounts.PublishScript(t.Context(), a, account.Publication{
			Name: "x", Text: text, Switches: account.Switches{Callers: account.CallersKeys}, Keep: account.DefaultKeep,
		})
		check(t, err)
	}
	left := func() (versions int) {
		t.Helper()
		list, err := n.store.Accounts().PublishedVersions(t.Context(), a.ID, "x", time.Time{}, 10)
		check(t, err)
		return len(list)
	}
	check(t, n.upkeep.Run(t.Context(), time.Now()))
	if got := left(); got != 3 {
		t.Errorf("%d versions are left of those that are answered", got)
	}
	check(t, n.upkeep.Run(t.Context(), time.Now().Add(account.DefaultKeep)))
	if got := left(); got != 1 {
		t.Errorf("%d versions are left", got)
	}
}

// TestPruneSites: content that was sent for a deploy that never came is removed after a day.
func TestPruneSites(t *testing.T) {
	n := start(t, nil)
	a, err := n.accounts.EnsureDevelopment(t.Context())
	check(t, err)
	tree, release := n.pool.Tree(a.ID, n.settings.Limits(a.Plan))
	defer release()
	_, err = tree.StoreContent(t.Context(), sha256.Sum256([]byte("x")), strings.NewReader("x"), 1)
	check(t, err)
	left := func() int64 {
		u, err := n.store.Files().Usage(t.Context(), a.ID)
		check(t, err)
		return u.Releases
	}
	check(t, n.upkeep.Run(t.Context(), time.Now()))
	if left() == 0 {
		t.Error("content that was just sent is gone")
	}
	check(t, n.upkeep.Run(t.Context(), time.Now().Add(files.StagedTime+time.Minute)))
	if got := left(); got != 0 {
		t.Errorf("%d bytes are left after a day", got)
	}
}
