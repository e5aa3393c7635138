package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/admit"
	"ql/internal/admit/admittest"
	"ql/internal/auth"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/hostname"
	"ql/internal/record"
	"ql/internal/resource/databases"
	ownedDatabases "ql/internal/resource/databases/owned"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/internal/resource/shares"
	"ql/internal/resource/shares/owned"
	"ql/internal/server"
	"ql/internal/server/asset"
	"ql/internal/server/download"
	"ql/internal/server/formapi"
	"ql/internal/server/formpage"
	"ql/internal/server/jsonapi"
	"ql/internal/server/openapi"
	"ql/internal/server/runapi"
	"ql/internal/service"
	"ql/internal/signin"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang"
)

// world is a whole service on a port of its own, with a store in a folder of
// the test's.
type world struct {
	t        testing.TB
	folder   string
	url      string
	client   *http.Client
	handler  *server.Handler
	service  *service.Service
	accounts *account.Service
	store    *sqlite.Store
	auth     *auth.Authenticator
	signIns  *signin.SignIns
	recorder *record.Recorder
	worker   *worker.Worker
	log      *buffer
	ahead    atomic.Int64 // by how much its clock is, in nanoseconds
}

// clock is that by which credentials are checked, and what belongs to them ends.
func (w *world) clock() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// settings change what boot makes.
type settings struct {
	accounts func(*account.Options)
	service  func(*service.Options)
	auth     func(*auth.Options)
	http     func(*server.Options)
}

const goodPassword = "a rather long sentence"

// boot starts a service.
func boot(t testing.TB, change ...settings) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{t: t, log: &buffer{}, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	folder := sqlitetest.Folder(t)
	w.folder = folder
	store, err := sqlite.Open(ctx, sqlite.Options{Folder: folder, Own: true})
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	w.store = store
	accounts := store.Aggregate().CacheAccounts().Accounts // as the service has it
	vault, err := seal.OpenVault(ctx, accounts, filepath.Join(folder, "master.key"), false)
	check(t, err)
	owners := account.Options{Now: w.clock}
	for _, c := range change {
		if c.accounts != nil {
			c.accounts(&owners)
		}
	}
	w.accounts = account.NewService(accounts, vault, owners)
	w.recorder = record.NewRecorder(store.Jobs(), record.Options{})
	t.Cleanup(func() { check(t, w.recorder.Close(ctx)) })

	dev, err := w.accounts.EnsureDevelopment(ctx)
	check(t, err)
	w.signIns = signin.New(store.SignIns(), w.accounts.Sealer(), w.clock)
	identities := auth.Options{
		Development: &auth.Development{Account: dev.ID, Username: "dev", Password: "dev"},
		Own:         []hostname.Origin{{Scheme: "http", Host: "localhost", Port: 8080}},
		Log:         store.Audit(),
		Dashboard:   hostname.Origin{Scheme: "http", Host: "localhost", Port: 8080},
		SignIns:     w.signIns,
		Now:         w.clock,
	}
	for _, c := range change {
		if c.auth != nil {
			c.auth(&identities)
		}
	}
	w.auth, err = auth.New(accounts, identities)
	check(t, err)
	t.Cleanup(func() { check(t, w.auth.FlushUses(ctx)) })

	blobs, err := dir.OpenBlobs(filepath.Join(folder, "blobs"))
	check(t, err)
	t.Cleanup(func() { check(t, blobs.Close()) })
	log := slog.New(slog.NewJSONHandler(w.log, nil))
	handedOut := shares.New(shares.Options{Store: store.Shares(), Clock: time.Now, Canonical: files.Canonical, URL: "http://ql.example", Open: func(c shares.Content) io.ReadSeekCloser {
		return tail{bytes.NewReader(c.Tail)}
	}})
	o := service.Options{
		Auth:           w.auth,
		Accounts:       accounts,
		Keys:           w.accounts,
		Owners:         w.accounts,
		Machines:       ownedMachines(store, w.accounts),
		Schedules:      store.Schedules(),
		ScheduleInputs: w.accounts.Sealer(),
		OnSchedule:     func() {},
		Domains:        w.accounts,
		CheckDomain:    func(context.Context, string, string, string) (bool, error) { return false, nil },
		SiteDomains:    w.accounts,
		CheckRecord:    func(context.Context, string, string) (bool, error) { return false, nil },
		Audit:          store.Audit(),
		Scripts:        w.accounts,
		Dashboard:      w.auth,
		SignIns:        w.signIns,
		SignUps:        w.accounts,
		Administration: w.accounts,
		AdminsInvite:   true,
		Node:           wire.Node{Version: "test", URL: "http://ql.example", SignUp: "invite", StartedAt: time.Now()},
		Clock:          w.clock,
		Limiter:        admit.NewLimiter(admit.LimiterOptions{}),
		Limits:         account.Plan.Limits,
		Gate:           admit.NewGate(admit.GateOptions{Slots: 4}),
		Host: &execution.Host{
			Programs: lang.NewCache(1 << 20), Clock: time.Now, Log: log,
			Token: w.accounts.Sealer().Token, Forms: "http://ql.example/form/", Confirms: "http://api.ql.example/v1/confirm/",
			Resources: (&folders{root: folder, accounts: w.accounts, sessions: sessions.New(store.Sessions(), sessions.Options{})}).open,
		},
		Files:     (&ownedTrees{trees: files.NewTrees(store.Files(), blobs, time.Now)}).open,
		Databases: (&folders{root: folder}).owned,
		Changes:   store.Jobs(),
		Webhooks:  service.Webhooks{History: store.Deliveries()},
		Mails:     service.Mails{History: store.Mails(), Sealer: w.accounts.Sealer()},
		Shares: owned.Links{Admin: shares.Admin{Store: store.Shares(), Clock: time.Now}, Of: func(a account.Account, l account.Limits) *shares.Links {
			return handedOut.For(a.ID, shares.Limits{Bounds: shares.Bounds{Bytes: l.StorageBytes}})
		}},
		Transfers: admit.NewTransferLimiter(admit.TransferOptions{Max: 16}),
		Records:   w.recorder,
		History:   store.Jobs(),
		URLs:      service.URLs{Base: "http://ql.example", API: "http://api.ql.example"},
		Log:       log,
	}
	// As on a node of 2.5 GiB.
	ledger := admit.NewLedger(admit.LedgerOptions{Budget: 480 << 20})
	o.Ledger, o.Host.Ledger = ledger, ledger
	h := server.Options{Log: log, OpenAPI: openapi.Document(), Ledger: ledger}
	for _, c := range change {
		if c.service != nil {
			c.service(&o)
		}
	}
	h.Gate = o.Gate
	t.Cleanup(func() { admittest.CheckIdle(t, o.Gate, ledger) }) // when all have stopped
	w.worker = worker.New(worker.Options{
		Queue: store.Queue().Parts(), Members: store.Members(), Accounts: accounts, Host: o.Host, Gate: o.Gate, Ledger: ledger, Sealer: w.accounts.Sealer(),
		Limits: o.Limits, Log: log, Clock: time.Now,
	})
	check(t, w.worker.Start(ctx))
	t.Cleanup(func() { check(t, w.worker.Stop(ctx)) })
	o.Jobs = w.worker
	w.service = service.New(o)
	h.Preflight = w.auth.Preflight
	h.Routes = slices.Concat(jsonapi.Routes(w.service), formapi.Routes(w.service), formpage.Routes(w.service), asset.Routes(), runapi.Routes(w.service), download.Routes(download.Options{Shares: handedOut, Page: ownPage}))
	for _, c := range change {
		if c.http != nil {
			c.http(&h)
		}
	}
	w.handler = server.New(h)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// tail is the content of a short file.
type tail struct{ *bytes.Reader }

func (tail) Close() error { return nil }

// folders keeps the files and databases of accounts in folders.
type folders struct {
	root     string
	accounts *account.Service
	sessions *sessions.Manager
}

func (f *folders) open(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
	folder := filepath.Join(f.root, "accounts", strconv.FormatInt(int64(a.ID), 10))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return engine.Resources{}, err
	}
	dir, err := files.OpenDir(folder, ".ql")
	if err != nil {
		return engine.Resources{}, err
	}
	db := databases.New(databases.Options{Folder: filepath.Join(folder, ".ql")})
	return engine.Resources{
		Files: dir, Databases: db, Secrets: secrets{f.accounts, a.ID},
		Sessions: f.sessions.For(a.ID, session).WithBounds(sessions.Bounds{Bytes: l.SessionBytes, Keys: l.SessionKeys, Sessions: l.Sessions}),
		Release:  func() { _, _ = db.Close(), dir.Close() },
	}, nil
}

// owned opens the databases that scripts of an account reach.
func (f *folders) owned(_ context.Context, a account.Account, _ account.Limits) (service.OwnedDatabases, func(), error) {
	db := databases.New(databases.Options{Folder: filepath.Join(f.root, "accounts", strconv.FormatInt(int64(a.ID), 10), ".ql")})
	return ownedDatabases.Databases{All: db}, func() { _ = db.Close() }, nil
}

type secrets struct {
	accounts *account.Service
	id       account.ID
}

func (s secrets) Secret(ctx context.Context, name string) (string, bool, error) {
	text, err := s.accounts.Secret(ctx, s.id, name)
	if errors.Is(err, account.ErrNotFound) {
		return "", false, nil
	}
	return text.Reveal(), err == nil, err
}

// member is an account of a test.
type member struct {
	account.Account
	name, password, key string
}

// member makes an account.
func (w *world) member(name string, plan account.Plan) member {
	w.t.Helper()
	a, key, err := w.accounts.Create(w.t.Context(), account.New{
		Username: name, Email: name + "@example.com", Password: goodPassword, Plan: plan, Verified: true,
	})
	check(w.t, err)
	return member{a, name, goodPassword, key.Reveal()}
}

// response is an answer, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// send sends a request. Headers come as pairs.
func (w *world) send(method, path, contentType, body string, headers ...string) response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	check(w.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := w.client.Do(req)
	check(w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	check(w.t, err)
	r := response{res.StatusCode, res.Header, string(text)}
	checkDescribed(w.t, req, r)
	checkExposed(w.t, req, r)
	return r
}

// query sends a script in the JSON convention; more holds further fields.
func (w *world) query(m member, script, more string, headers ...string) response {
	w.t.Helper()
	body := `{"auth":{"username":` + quote(m.name) + `,"password":` + quote(m.password) + `},"query":` + quote(script)
	if more != "" {
		body += "," + more
	}
	return w.send("POST", "/v1/query", "application/json", body+"}", headers...)
}

// form sends a script in the form convention; more holds further fields.
func (w *world) form(m member, script string, more url.Values, headers ...string) response {
	w.t.Helper()
	fields := url.Values{"identity": {m.name}, "password": {m.key}, "q": {script}}
	for name, values := range more {
		fields[name] = values
	}
	return w.send("POST", "/api", "application/x-www-form-urlencoded", fields.Encode(), headers...)
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// answer is a JSON answer of any kind.
type answer struct {
	Status         string           `json:"status"`
	JobID          string           `json:"job_id"`
	Result         *string          `json:"result"`
	ResultEncoding string           `json:"result_encoding"`
	ResultJSON     json.RawMessage  `json:"result_json"`
	Trace          []map[string]any `json:"trace"`
	Response       map[string]any   `json:"response"`
	Prompt         struct {
		ID        string         `json:"id"`
		Kind      string         `json:"kind"`
		To        string         `json:"to"`
		Message   string         `json:"message"`
		Schema    map[string]any `json:"schema"`
		ExpiresAt time.Time      `json:"expires_at"`
	} `json:"prompt"`
	ConfirmURL string    `json:"confirm_url"`
	FormURL    string    `json:"form_url"`
	PollURL    string    `json:"poll_url"`
	ResumeAt   time.Time `json:"resume_at"`
	Jobs       []struct {
		ID         string     `json:"job_id"`
		Status     string     `json:"status"`
		Mode       string     `json:"mode"`
		Convention string     `json:"convention"`
		By         string     `json:"by"`
		Key        *string    `json:"key"`
		Program    *string    `json:"program"`
		CreatedAt  time.Time  `json:"created_at"`
		FinishedAt *time.Time `json:"finished_at"`
		Steps      int64      `json:"steps"`
	} `json:"jobs"`
	Keys []struct {
		Name       string     `json:"name"`
		Prefix     string     `json:"prefix"`
		Scopes     []string   `json:"scopes"`
		CreatedAt  time.Time  `json:"created_at"`
		ExpiresAt  *time.Time `json:"expires_at"`
		LastUsedAt *time.Time `json:"last_used_at"`
	} `json:"keys"`
	Name  string `json:"name"`
	Key   string `json:"key"`
	Next  string `json:"next"`
	Error struct {
		Code    string            `json:"code"`
		Message string            `json:"message"`
		Field   string            `json:"field"`
		Limit   string            `json:"limit"`
		Value   int64             `json:"value"`
		Line    int               `json:"line"`
		Column  int               `json:"column"`
		Step    string            `json:"step"`
		ID      string            `json:"id"`
		Fields  map[string]string `json:"fields"`
		Details []map[string]any  `json:"details"`
	} `json:"error"`
}

// read reads a JSON answer.
func (r response) read(t testing.TB) answer {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("content type %q of %s", got, r.body)
	}
	var a answer
	if err := json.Unmarshal([]byte(r.body), &a); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return a
}

// wantError checks a refusal in JSON.
func (r response) wantError(t testing.TB, status int, code string) answer {
	t.Helper()
	a := r.read(t)
	if r.status != status || a.Error.Code != code {
		t.Fatalf("answer %d %s, want %d %s", r.status, r.body, status, code)
	}
	return a
}

func (r response) cookie(t testing.TB) *http.Cookie {
	t.Helper()
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if c.Name == "QLSESSID" {
			return c
		}
	}
	return nil
}

// buffer is a log that may be written and read at once.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
