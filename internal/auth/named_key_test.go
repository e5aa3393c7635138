package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/account/accounttest"
	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/principal"
)

// addKey gives an account a named key of so many letters.
func addKey(t testing.TB, s account.Store, a account.ID, letter string, expires time.Time) (account.Key, account.NamedKeyID) {
	t.Helper()
	key, err := account.NewNamedKey(strings.NewReader(strings.Repeat(letter, 32)))
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.CreateNamedKey(context.Background(), account.NamedKey{
		Account: a, Name: "key-" + letter, Hash: key.Hash(), Shown: key.Shown(), Scopes: scope.Of(scope.Run), Expires: expires,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key, id
}

func TestNamedKey(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Unthrottled = true })
	key, id := addKey(t, f.store, f.ada.ID, "a", time.Time{})
	ending, _ := addKey(t, f.store, f.ada.ID, "e", f.now.Add(time.Hour))
	p, err := f.NamedKey(t.Context(), key.Reveal(), home)
	if err != nil || p.By != principal.ByNamedKey || p.Account.ID != f.ada.ID || p.Key != (principal.Key{ID: id, Name: "key-a"}) || !p.MayRun("") || p.Scopes.Has(scope.Jobs) {
		t.Errorf("%+v, %v", p, err)
	}
	for text, says := range map[string]string{
		"":                        "qln_",
		"x":                       "qln_",
		f.key.Reveal():            "API key",
		key.Reveal() + "x":        "revoked",
		key.Reveal()[:40]:         "revoked",
		"qln_":                    "revoked",
		strings.ToUpper("qln_aa"): "qln_",
	} {
		_, err := f.NamedKey(t.Context(), text, home)
		wantCode(t, text, err, fault.BadCredentials)
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := f.Key(t.Context(), "ada", key.Reveal(), home); err == nil {
		t.Error("it is taken for the API key")
	}
	_, err = f.Password(t.Context(), "ada", key.Reveal(), home)
	wantCode(t, "as a password", err, fault.BadCredentials)
	if !strings.Contains(err.Error(), "Bearer") {
		t.Errorf("as a password: %v", err)
	}

	if _, err := f.NamedKey(t.Context(), ending.Reveal(), home); err != nil {
		t.Errorf("before its end: %v", err)
	}
	f.mu.Lock()
	f.now = f.now.Add(time.Hour)
	f.mu.Unlock()
	_, err = f.NamedKey(t.Context(), ending.Reveal(), home)
	wantCode(t, "at its end", err, fault.BadCredentials)

	failure := errors.New("the disk is gone")
	broken, err := New(failing{f.store.Memory, failure}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broken.NamedKey(t.Context(), key.Reveal(), home); !errors.Is(err, failure) {
		t.Errorf("where the store fails: %v", err)
	}
	if err := f.store.SetFlag(t.Context(), f.ada.ID, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	_, err = f.NamedKey(t.Context(), key.Reveal(), home)
	wantCode(t, "of a disabled account", err, fault.BadCredentials)
}

type failing struct {
	*accounttest.Memory
	err error
}

func (f failing) ByNamedKey(context.Context, account.KeyHash) (account.Account, account.NamedKey, error) {
	return account.Account{}, account.NamedKey{}, f.err
}

// TestDevelopmentNamedKey: anybody who knows the shared credentials may have made it.
func TestDevelopmentNamedKey(t *testing.T) {
	store := &accounttest.Memory{}
	id, err := store.Create(t.Context(), account.Account{Username: account.Development, Plan: account.Free})
	if err != nil {
		t.Fatal(err)
	}
	key, _ := addKey(t, store, id, "d", time.Time{})
	own := hostname.Origin{Scheme: "http", Host: "localhost", Port: 8080}
	for name, test := range map[string]struct {
		development *Development
		page        string
		code        fault.Code
	}{
		"where there is none":       {nil, "", fault.BadCredentials},
		"where others know of it":   {&Development{Account: id, Username: "dev", Password: "dev"}, "", fault.BadCredentials},
		"of one developer":          {&Development{Account: id, Username: "dev", Password: "dev", NamedKeys: true}, "", ""},
		"from a page of their own":  {&Development{Account: id, Username: "dev", Password: "dev", NamedKeys: true}, "http://127.0.0.1:8080", ""},
		"from a page of another's":  {&Development{Account: id, Username: "dev", Password: "dev", NamedKeys: true}, "https://evil.example", fault.OriginNotAllowed},
		"from a page of no address": {&Development{Account: id, Username: "dev", Password: "dev", NamedKeys: true}, "null", fault.OriginNotAllowed},
	} {
		a, err := New(store, Options{Development: test.development, Own: []hostname.Origin{own}})
		if err != nil {
			t.Fatal(err)
		}
		from := home
		if test.page != "" {
			from.Origin = ReadOrigin([]string{test.page})
		}
		p, err := a.NamedKey(t.Context(), key.Reveal(), from)
		switch {
		case test.code == "" && (err != nil || !p.Development):
			t.Errorf("%s: %+v, %v", name, p, err)
		case test.code != "":
			wantCode(t, name, err, test.code)
		}
	}
}

// TestWrongNamedKeys: wrong keys are counted with wrong API keys, and right ones are let in.
func TestWrongNamedKeys(t *testing.T) {
	f := newFixture(t, nil)
	key, _ := addKey(t, f.store, f.ada.ID, "a", time.Time{})
	for i := range sourceAllowance.count {
		if i%2 == 0 {
			_, err := f.NamedKey(t.Context(), "qln_x", home)
			wantCode(t, "a wrong named key", err, fault.BadCredentials)
			continue
		}
		_, err := f.Key(t.Context(), "ada", "qlk_x", home)
		wantCode(t, "a wrong API key", err, fault.BadCredentials)
	}
	_, err := f.NamedKey(t.Context(), "qln_x", home)
	wantCode(t, "one too many", err, fault.RateLimited)
	if _, err := f.NamedKey(t.Context(), key.Reveal(), home); err != nil {
		t.Errorf("the right one: %v", err)
	}
	if _, err := f.Password(t.Context(), "ada", secret, home); err != nil {
		t.Errorf("the password: %v", err)
	}
}

// countedUses is a store that counts how often uses are stored, and may hold them up.
type countedUses struct {
	*accounttest.Memory
	mu     sync.Mutex
	writes int
	hold   chan struct{}
	panics bool
}

func (c *countedUses) RecordUses(ctx context.Context, uses map[account.NamedKeyID]time.Time) error {
	c.mu.Lock()
	c.writes += len(uses)
	panics := c.panics
	c.mu.Unlock()
	if panics {
		panic("a use")
	}
	if c.hold != nil {
		<-c.hold
	}
	return c.Memory.RecordUses(ctx, uses)
}

// TestKeyUses: a use is stored at most once a minute, beside the call, which does not wait for it.
func TestKeyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &countedUses{Memory: &accounttest.Memory{}, hold: make(chan struct{})}
		id, err := store.Create(t.Context(), account.Account{Username: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		one, first := addKey(t, store, id, "a", time.Time{})
		two, second := addKey(t, store, id, "b", time.Time{})
		a, err := New(store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		call := func(k account.Key) {
			t.Helper()
			if _, err := a.NamedKey(t.Context(), k.Reveal(), home); err != nil {
				t.Fatal(err)
			}
		}
		used := func(id account.NamedKeyID) (at time.Time) {
			keys, _ := store.NamedKeys(t.Context(), 1)
			for _, k := range keys {
				if k.ID == id {
					at = k.Used
				}
			}
			return at
		}
		began := time.Now()
		call(one) // the store holds it up, and the calls go on
		call(two)
		for range 10 {
			call(one)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.FlushUses(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("all is stored: %v", err)
		}
		close(store.hold)
		if err := a.FlushUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !used(first).Equal(began) || !used(second).Equal(began) || store.writes != 2 {
			t.Errorf("used at %v and %v in %d writes, not at %v", used(first), used(second), store.writes, began)
		}
		time.Sleep(useInterval / 2)
		call(one)
		if err := a.FlushUses(t.Context()); err != nil || !used(first).Equal(began) {
			t.Errorf("after half a minute: %v, %v", used(first), err)
		}
		time.Sleep(useInterval / 2)
		store.panics = true
		call(one)
		_ = a.FlushUses(t.Context())
		store.panics = false
		time.Sleep(useInterval)
		call(one)
		if err := a.FlushUses(t.Context()); err != nil || !used(first).Equal(time.Now()) || !used(second).Equal(began) {
			t.Errorf("after a panic and a minute: %v, %v", used(first), err)
		}
	})
}
