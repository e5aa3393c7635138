// Package apptest boots a whole service for tests: a data folder of the test's
// own, a free port, everything real. What a test then calls and expects is its
// own business. It is linked into tests alone.
package apptest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/app"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/store/sqlite/sqlitetest"

	"go.uber.org/goleak"
)

// Password is that of every account that tests make.
const Password = "a rather long sentence"

// Service is a service that runs until its test ends.
type Service struct {
	*app.App
	Settings config.Settings
	Log      *Log

	t testing.TB
}

// Settings returns those of a service with a data folder of the test's own, on
// a free port, in development unless changed.
func Settings(t testing.TB, change ...func(*config.Settings)) config.Settings {
	t.Helper()
	s, err := config.Load(config.Sources{Flags: map[string]string{"listen": "127.0.0.1:0", "data": sqlitetest.Folder(t), "dev": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// Production switches development off.
func Production(s *config.Settings) { s.Dev, s.DevUsername, s.DevPassword = false, "", "" }

// Boot starts a service, which is stopped at the test's end.
func Boot(t testing.TB, change ...func(*config.Settings)) *Service {
	t.Helper()
	return Start(t, Settings(t, change...))
}

// Start is Boot with settings that are ready, on a node of about 2.5 GiB.
func Start(t testing.TB, s config.Settings) *Service {
	t.Helper()
	return StartWith(t, s, app.Options{})
}

// StartWith is Start with options, of which those of the node are filled in.
func StartWith(t testing.TB, s config.Settings, o app.Options) *Service {
	t.Helper()
	b := &Service{Settings: s, Log: &Log{}, t: t}
	before := goleak.IgnoreCurrent()
	o.Memory, o.CallMemory = 768<<20, 480<<20
	o.Log = slog.New(slog.NewJSONHandler(b.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.App = app.New(s, o)
	if err := b.App.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := b.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := b.Leftovers(); err != nil {
			t.Error(err)
		}
		// What a test's own clients and servers keep open between calls is theirs.
		if err := goleak.Find(before, ofHTTP("(*persistConn).readLoop"), ofHTTP("(*persistConn).writeLoop"), ofHTTP("(*conn).serve")); err != nil {
			t.Error(err)
		}
	})
	return b
}

// ofHTTP ignores goroutines of connections.
func ofHTTP(function string) goleak.Option { return goleak.IgnoreAnyFunction("net/http." + function) }

// Operate opens the data folder as the operator's commands do, beside the
// service.
func (b *Service) Operate(do func(*operator.Operator) error) {
	b.t.Helper()
	o, err := operator.Open(b.t.Context(), b.Settings, true)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := do(o); err != nil {
		b.t.Error(err)
	}
	if err := o.Close(); err != nil {
		b.t.Error(err)
	}
}

// Account makes an account, with Password, and returns its API key.
func (b *Service) Account(username string, plan account.Plan) (key string) {
	b.t.Helper()
	b.Operate(func(o *operator.Operator) error {
		_, made, err := o.Accounts.Create(b.t.Context(), account.New{
			Username: username, Email: username + "@example.com", Password: Password, Plan: plan, Verified: true,
		})
		key = made.Reveal()
		return err
	})
	return key
}

// Log is what a service has logged. It may be written and read at once.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Has reports whether the log has a text.
func (l *Log) Has(text string) bool { return strings.Contains(l.String(), text) }

// String returns the log so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
