package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
)

// counted is a store of accounts that counts look-ups; of all others it has none.
type counted struct {
	account.Store
	reads  int
	during func() // runs while an account is read
	epoch  int64
	text   string
}

func (c *counted) ByAlias(_ context.Context, alias names.Alias) (account.Account, error) {
	c.reads++
	a := account.Account{Username: alias.Name, Epoch: c.epoch}
	if c.during != nil {
		c.during()
	}
	return a, nil
}

func (c *counted) ByKeyHash(_ context.Context, hash account.KeyHash) (account.Account, error) {
	c.reads++
	return account.Account{KeyHash: hash, Epoch: c.epoch}, nil
}

func (c *counted) ByNamedKey(_ context.Context, hash account.KeyHash) (account.Account, account.NamedKey, error) {
	c.reads++
	return account.Account{Epoch: c.epoch}, account.NamedKey{Hash: hash}, nil
}

func (c *counted) BySiteDomain(_ context.Context, domain string) (account.Account, account.SiteDomain, error) {
	c.reads++
	return account.Account{Epoch: c.epoch}, account.SiteDomain{Domain: domain}, nil
}

// versions is a version that the test sets.
type versions struct {
	number uint64
	unsure bool
	of     map[account.ID]uint64 // of accounts, where not all have changed
}

func (v *versions) AccountsVersion() (uint64, bool) { return v.number, !v.unsure }

func (v *versions) AccountVersion(id account.ID) uint64 {
	if v.of != nil {
		return v.of[id]
	}
	return v.number
}

func TestAccountCache(t *testing.T) {
	source, v := &counted{epoch: 1}, &versions{number: 7}
	accounts := Store{Accounts: source, Versions: v}.CacheAccounts().Accounts
	ada := names.Alias{Kind: names.Username, Name: "ada"}
	key := account.KeyHash{1}
	want := func(what string, reads int, epoch int64) {
		t.Helper()
		source.reads = 0
		a, err := accounts.ByAlias(t.Context(), ada)
		b, failed := accounts.ByKeyHash(t.Context(), key)
		c, named, lost := accounts.ByNamedKey(t.Context(), key)
		d, site, gone := accounts.BySiteDomain(t.Context(), "example.com")
		if err != nil || failed != nil || lost != nil || gone != nil || source.reads != reads || named.Hash != key || site.Domain != "example.com" {
			t.Errorf("%s: %d reads, %v, %v, %v, %v", what, source.reads, err, failed, lost, gone)
		}
		for _, found := range []account.Account{a, b, c, d} {
			if found.Epoch != epoch {
				t.Errorf("%s: the epoch is %d", what, found.Epoch)
			}
		}
	}
	want("at first", 4, 1)
	want("again", 0, 1)
	source.epoch, v.number = 2, 8
	want("after a change", 4, 2)
	want("and again", 0, 2)
	source.epoch, v.unsure = 3, true
	want("where the store cannot tell", 4, 3)
	v.unsure, v.number = false, 9
	want("where it can again", 4, 3)
	want("then", 0, 3)

	// A change that is made while an account is read: what was read may be old.
	v.number = 10
	source.during = func() { v.number, source.epoch, source.during = 11, 4, nil }
	if a, err := accounts.ByAlias(t.Context(), ada); err != nil || a.Epoch != 3 {
		t.Fatalf("%+v, %v", a, err)
	}
	want("after a change meanwhile", 4, 4)

	// Somebody who asked for the version earlier does not bring it back.
	v.number = 5
	want("an old version", 0, 4)
	v.number = 11
	want("the newest again", 0, 4)

	if n := testing.AllocsPerRun(100, func() {
		_, _ = accounts.ByAlias(t.Context(), ada)
		_, _ = accounts.ByKeyHash(t.Context(), key)
		_, _, _ = accounts.ByNamedKey(t.Context(), key)
	}); n > 0 {
		t.Errorf("a hit allocates %v times", n)
	}
	for i := range 3 * cachedAccounts {
		_, _ = accounts.ByAlias(t.Context(), names.Alias{Kind: names.Username, Name: fmt.Sprint(i)})
		_, _ = accounts.ByKeyHash(t.Context(), account.KeyHash{byte(i), byte(i >> 8), 1})
		_, _, _ = accounts.ByNamedKey(t.Context(), account.KeyHash{byte(i), byte(i >> 8), 2})
	}
	if c := accounts.(*accountCache); len(c.byAlias)+len(c.byKey)+len(c.byNamed) > cachedAccounts {
		t.Errorf("%d, %d and %d accounts are held", len(c.byAlias), len(c.byKey), len(c.byNamed))
	}
}

// TestOthersStayCached: what changes of one account leaves the others where they are.
func TestOthersStayCached(t *testing.T) {
	source, v := &counted{epoch: 1, text: "EMIT 1"}, &versions{number: 7, of: map[account.ID]uint64{}}
	accounts := Store{Accounts: source, Versions: v}.CacheAccounts().Accounts
	want := func(what string, reads int, epochs ...int64) {
		t.Helper()
		source.reads = 0
		for i, epoch := range epochs {
			id := account.ID(i + 1)
			a, err := accounts.ByID(t.Context(), id)
			p, failed := accounts.PublishedScript(t.Context(), id, "a", 0)
			if err != nil || failed != nil || a.ID != id || a.Epoch != epoch || p.Added.Unix() != epoch {
				t.Errorf("%s: %+v, %v, %+v, %v", what, a, err, p, failed)
			}
		}
		if source.reads != reads {
			t.Errorf("%s: %d reads, and not %d", what, source.reads, reads)
		}
	}
	want("at first", 4, 1, 1)
	source.epoch, v.number, v.of[2] = 2, 8, 8
	want("after a change of the second", 2, 1, 2)
	want("again", 0, 1, 2)
	source.epoch, v.number, v.of[1] = 3, 9, 9
	source.during = func() { v.number, v.of[1], source.epoch, source.during = 10, 10, 4, nil }
	if p, err := accounts.PublishedScript(t.Context(), 1, "a", 0); err != nil || p.Added.Unix() != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	want("after a change while it was read", 2, 4, 2)
}

func (c *counted) ByID(_ context.Context, id account.ID) (account.Account, error) {
	c.reads++
	return account.Account{ID: id, Epoch: c.epoch}, nil
}

func (c *counted) PublishedScript(_ context.Context, id account.ID, name string, version int64) (account.Published, error) {
	c.reads++
	p := account.Published{Account: id, Name: name, Version: version, Added: time.Unix(c.epoch, 0), Text: c.text}
	if c.during != nil {
		c.during()
	}
	return p, nil
}

func TestScriptCache(t *testing.T) {
	source, v := &counted{epoch: 1, text: "EMIT 1"}, &versions{number: 7}
	accounts := Store{Accounts: source, Versions: v}.CacheAccounts().Accounts
	read := func(id account.ID, name string, version int64) account.Published {
		t.Helper()
		p, err := accounts.PublishedScript(t.Context(), id, name, version)
		if err != nil || p.Account != id || p.Name != name || p.Version != version {
			t.Fatalf("%+v, %v", p, err)
		}
		return p
	}
	want := func(what string, reads int, epoch int64) {
		t.Helper()
		source.reads = 0
		if a, b := read(1, "a", 0), read(1, "a", 3); source.reads != reads || a.Added.Unix() != epoch || b.Added.Unix() != epoch {
			t.Errorf("%s: %d reads, of %v and %v", what, source.reads, a.Added, b.Added)
		}
	}
	want("at first", 2, 1)
	want("again", 0, 1)
	source.epoch, v.number = 2, 8
	want("after a change", 2, 2)
	source.epoch, v.unsure = 3, true
	want("where the store cannot tell", 2, 3)
	v.unsure, v.number = false, 9
	source.during = func() { v.number, source.epoch, source.during = 10, 4, nil }
	if p := read(1, "a", 0); p.Added.Unix() != 3 {
		t.Fatalf("%+v", p)
	}
	want("after a change meanwhile", 2, 4)
	if p := read(2, "a", 0); source.reads != 3 || p.Account != 2 {
		t.Errorf("the script of another: %+v", p)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = accounts.PublishedScript(t.Context(), 1, "a", 0) }); n > 0 {
		t.Errorf("a hit allocates %v times", n)
	}

	c := accounts.(*accountCache)
	source.text = strings.Repeat("x", 1<<20)
	for i := range 100 {
		read(1, fmt.Sprint(i), 0)
		if c.bytes > cachedScripts || c.bytes < 0 {
			t.Fatalf("%d bytes are held", c.bytes)
		}
	}
	source.text = strings.Repeat("x", cachedScripts)
	held := len(c.scripts)
	if read(1, "large", 0); len(c.scripts) != held {
		t.Error("a script that would push out all others is held")
	}
}
