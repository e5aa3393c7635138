package storetest

import (
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/sessions"
	"ql/lang/value"
)

func key(a account.ID, id string) sessions.Key {
	return sessions.Key{Account: a, Hash: sha256.Sum256([]byte(id))}
}

// never lets every session be.
var never = sessions.Expiry{Most: 1 << 20}

func testSessionRows(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	k := key(ada.ID, "x")
	load := func(want sessions.Row) sessions.Row {
		t.Helper()
		got, found, err := s.Sessions.Load(t.Context(), k)
		must(t, err)
		if !found {
			t.Fatal("it is not there")
		}
		version := got.Version
		got.Version, want.Version = 0, 0
		same(t, "the session", got, want)
		got.Version = version
		return got
	}
	missing := func(k sessions.Key) {
		t.Helper()
		if _, found, err := s.Sessions.Load(t.Context(), k); err != nil || found {
			t.Errorf("found %t, %v", found, err)
		}
	}
	missing(k)
	must(t, s.Sessions.Create(t.Context(), k, noon, never))
	want := sessions.Row{Data: "{}", Created: noon, Touched: noon}
	first := load(want)
	missing(key(bob.ID, "x"))
	missing(key(ada.ID, "y"))

	want.Touched = noon.Add(time.Minute)
	must(t, s.Sessions.Touch(t.Context(), k, want.Touched))
	load(want)

	want.Data, want.Touched = `{"a":"`+strings.Repeat("ä", 40_000)+`"}`, noon.Add(2*time.Minute)
	done, err := s.Sessions.Replace(t.Context(), k, first.Version, want.Data, want.Touched)
	must(t, err)
	second := load(want)
	if !done || second.Version == first.Version {
		t.Errorf("replaced %t, from version %d to %d", done, first.Version, second.Version)
	}
	for name, try := range map[string]struct {
		key     sessions.Key
		version int64
	}{
		"an old version":  {k, first.Version},
		"another account": {key(bob.ID, "x"), second.Version},
	} {
		done, err := s.Sessions.Replace(t.Context(), try.key, try.version, "{}", noon)
		if err != nil || done {
			t.Errorf("%s: %t, %v", name, done, err)
		}
	}
	load(want)

	must(t, s.Sessions.Remove(t.Context(), key(bob.ID, "x")))
	load(want)
	must(t, s.Sessions.Remove(t.Context(), k))
	must(t, s.Sessions.Remove(t.Context(), k))
	must(t, s.Sessions.Touch(t.Context(), k, noon))
	missing(k)
	wantError(t, "a session of nobody", s.Sessions.Create(t.Context(), key(12345, "x"), noon, never), account.ErrNotFound)
}

func testSessionExpiry(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	left := func(a account.ID, ids ...string) (found []string) {
		t.Helper()
		for _, id := range ids {
			_, ok, err := s.Sessions.Load(t.Context(), key(a, id))
			must(t, err)
			if ok {
				found = append(found, id)
			}
		}
		return found
	}
	for i, id := range []string{"a", "b", "c", "d"} {
		at := noon.Add(time.Duration(i) * time.Hour)
		must(t, s.Sessions.Create(t.Context(), key(ada.ID, id), at, never))
		must(t, s.Sessions.Create(t.Context(), key(bob.ID, id), at, never))
	}
	must(t, s.Sessions.Touch(t.Context(), key(ada.ID, "a"), noon.Add(10*time.Hour)))

	unused := sessions.Expiry{Touched: noon.Add(2 * time.Hour), Most: 100}
	must(t, s.Sessions.Create(t.Context(), key(ada.ID, "e"), noon.Add(4*time.Hour), unused))
	same(t, "after the unused went", left(ada.ID, "a", "b", "c", "d", "e"), []string{"a", "c", "d", "e"})

	old := sessions.Expiry{Created: noon.Add(time.Microsecond), Most: 100}
	must(t, s.Sessions.Create(t.Context(), key(ada.ID, "f"), noon.Add(5*time.Hour), old))
	same(t, "after the old went", left(ada.ID, "a", "c", "d", "e", "f"), []string{"c", "d", "e", "f"})

	must(t, s.Sessions.Create(t.Context(), key(ada.ID, "g"), noon.Add(6*time.Hour), sessions.Expiry{Most: 2}))
	same(t, "with two left", left(ada.ID, "c", "d", "e", "f", "g"), []string{"e", "f", "g"})
	same(t, "another's", left(bob.ID, "a", "b", "c", "d"), []string{"a", "b", "c", "d"})

	// The one that is unused for longest goes, however young it is.
	must(t, s.Sessions.Touch(t.Context(), key(ada.ID, "e"), noon.Add(7*time.Hour)))
	must(t, s.Sessions.Remove(t.Context(), key(ada.ID, "f")))
	must(t, s.Sessions.Create(t.Context(), key(ada.ID, "h"), noon.Add(8*time.Hour), sessions.Expiry{Most: 2}))
	same(t, "with room left by one that ended", left(ada.ID, "e", "g", "h"), []string{"e", "g", "h"})
	must(t, s.Sessions.Create(t.Context(), key(ada.ID, "i"), noon.Add(9*time.Hour), sessions.Expiry{Most: 2}))
	same(t, "by their use", left(ada.ID, "e", "g", "h", "i"), []string{"e", "h", "i"})
}

// testSessionOrder adds to one session from many runs: none is lost.
func testSessionOrder(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	store := sessions.New(s.Sessions, sessions.Options{})
	first := store.For(a.ID, "")
	held, err := first.Start(t.Context())
	must(t, err)
	must(t, held.Set(t.Context(), "n", value.Int(0)))
	must(t, held.Release())
	const runs, rounds = 16, 10
	errs := atOnce(runs, func(int) error {
		for range rounds {
			held, err := store.For(a.ID, first.ID()).Start(t.Context())
			if err != nil {
				return err
			}
			v, err := held.Get(t.Context(), "n")
			if err == nil {
				err = held.Set(t.Context(), "n", value.Int(v.Int64()+1))
			}
			if err = errors.Join(err, held.Release()); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, errors.Join(errs...))
	held, err = first.Start(t.Context())
	must(t, err)
	v, err := held.Get(t.Context(), "n")
	must(t, err)
	if v.Int64() != runs*rounds {
		t.Errorf("the sum is %d", v.Int64())
	}
	must(t, held.End(t.Context()))
	if _, found, err := s.Sessions.Load(t.Context(), key(a.ID, first.ID())); err != nil || found {
		t.Errorf("after its end: %t, %v", found, err)
	}
}

// testSessionRace lets many replace one version: one does.
func testSessionRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	k := key(a.ID, "x")
	must(t, s.Sessions.Create(t.Context(), k, noon, never))
	row, _, err := s.Sessions.Load(t.Context(), k)
	must(t, err)
	var mu sync.Mutex
	var won []string
	errs := atOnce(16, func(i int) error {
		data := numbered("data", i)
		done, err := s.Sessions.Replace(t.Context(), k, row.Version, data, noon)
		if done {
			mu.Lock()
			defer mu.Unlock()
			won = append(won, data)
		}
		return err
	})
	must(t, errors.Join(errs...))
	row, _, err = s.Sessions.Load(t.Context(), k)
	must(t, err)
	if len(won) != 1 || row.Data != won[0] {
		t.Errorf("%v won, and %s stands", won, row.Data)
	}
}
