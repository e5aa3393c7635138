package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/account/usage"
)

// TestWhatAnotherCommitsIsSeenAtOnce changes an account through a second store of
// the same folder, as another process does, between two readings.
func TestWhatAnotherCommitsIsSeenAtOnce(t *testing.T) {
	here := openTest(t, Options{Own: true})
	id := benchmarkAccount(t, here, "ada")
	there := openTest(t, Options{Folder: here.folder(t)})
	alias := names.Alias{Kind: names.Username, Name: "ada"}
	cached := here.Aggregate().CacheAccounts().Accounts
	read := func() account.Account {
		t.Helper()
		a, err := cached.ByAlias(t.Context(), alias)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for i := range 200 {
		before := read()
		if i%3 == 0 { // a commit of its own, which keeps what is kept
			useCall(t, here, id)
		}
		if kept := read(); kept.Epoch != before.Epoch {
			t.Fatalf("round %d: it changes by itself", i)
		}
		store := []*Store{here, there}[i%2]
		if err := store.Accounts().SetPassword(t.Context(), id, "hash"); err != nil {
			t.Fatal(err)
		}
		if after := read(); after.Epoch != before.Epoch+1 {
			t.Fatalf("round %d: epoch %d after %d", i, after.Epoch, before.Epoch)
		}
	}
	if err := there.Accounts().Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := cached.ByAlias(t.Context(), alias); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("after its end: %v", err)
	}
}

// TestPublishedByAnotherIsSeenAtOnce publishes and takes back a script through a second store
// of the same folder, as ql script does beside a server.
func TestPublishedByAnotherIsSeenAtOnce(t *testing.T) {
	here := openTest(t, Options{Own: true})
	id := benchmarkAccount(t, here, "ada")
	there := openTest(t, Options{Folder: here.folder(t)})
	cached := here.Aggregate().CacheAccounts().Accounts
	read := func() (version int64) {
		t.Helper()
		p, err := cached.PublishedScript(t.Context(), id, "x", 0)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			t.Fatal(err)
		}
		return p.Version
	}
	for round := range 50 {
		store := []*Store{here, there}[round%2].Accounts()
		for version := int64(1); version <= 3; version++ {
			text := fmt.Sprint(version)
			_, _, err := store.Publish(t.Context(), account.Published{Account: id, Name: "x", Text: text, Hash: account.HashScript(text)}, time.Unix(1, 0), account.PublishedLimits{})
			must(t, err)
			if got := read(); got != version {
				t.Fatalf("round %d: version %d is read, not %d", round, got, version)
			}
			useCall(t, here, id) // a commit of its own, which keeps what is kept
			if got := read(); got != version {
				t.Fatalf("round %d: version %d is read again, not %d", round, got, version)
			}
		}
		must(t, store.Unpublish(t.Context(), id, "x"))
		if got := read(); got != 0 {
			t.Fatalf("round %d: version %d is read after it was taken back", round, got)
		}
	}
}

// TestVersionOverOtherCommits: the version stays over commits of the same process that
// change no account, and over no others.
func TestVersionOverOtherCommits(t *testing.T) {
	here := openTest(t, Options{Own: true})
	id := benchmarkAccount(t, here, "ada")
	there := openTest(t, Options{Folder: here.folder(t)})
	for _, c := range []struct {
		name string
		do   func()
		kept bool
	}{
		{"nothing", func() {}, true},
		{"a call was counted", func() { useCall(t, here, id) }, true},
		{"two were", func() { useCall(t, here, id); useCall(t, here, id) }, true},
		{"another process counted one", func() { useCall(t, there, id) }, false},
		{"another process, then this one", func() { useCall(t, there, id); useCall(t, here, id) }, false},
		{"the account changed", func() { must(t, here.Accounts().SetPassword(t.Context(), id, "hash")) }, false},
		{"another account changed", func() { benchmarkAccount(t, here, "bob") }, false},
		{"a write failed", func() {
			failed := errors.New("no")
			err := here.write(t.Context(), func(t tx) error {
				if _, err := t.exec("UPDATE accounts SET epoch = epoch + 1"); err != nil {
					return err
				}
				return failed
			})
			if !errors.Is(err, failed) {
				t.Errorf("the write: %v", err)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := here.AccountsVersion()
			c.do()
			if after, ok := here.AccountsVersion(); !ok || (after == before) != c.kept {
				t.Errorf("version %d after %d, %t", after, before, ok)
			}
		})
	}
}

// TestNoticesWhatChangesAccounts has the writer see it also where rows go with
// others.
func TestNoticesWhatChangesAccounts(t *testing.T) {
	s := openTest(t, Options{Own: true})
	for sql, want := range map[string]bool{
		"INSERT INTO aliases VALUES ('ada', 'username', 1)":           true,
		"UPDATE accounts SET plan = 'x'":                              true,
		"DELETE FROM accounts":                                        true,
		"REPLACE INTO aliases SELECT canonical, kind, 1 FROM aliases": true,
		"DELETE FROM jobs":                                            false,
		"UPDATE usage SET calls = 1":                                  false,
		"SELECT * FROM accounts":                                      false,
		"UPDATE jobs SET held = 1":                                    false,
		"INSERT INTO departures VALUES (1, 2)":                        false,
		"DELETE FROM named_keys WHERE account = 1":                    true,
		"UPDATE named_keys SET expires = 1":                           true,
		"INSERT OR REPLACE INTO named_key_uses VALUES (1, 2)":         false,
		"DELETE FROM published_scripts":                               true,
		"UPDATE published_scripts SET ends = 1":                       true,
	} {
		for range 2 { // prepared, and found prepared
			s.writer.conn.changes = changed{}
			_, err := s.writer.conn.statement(t.Context(), sql)
			must(t, err)
			if got := s.writer.conn.changes.accounts; got != want {
				t.Errorf("%s: changes accounts %t", sql, got)
			}
		}
	}
}

func useCall(t *testing.T, s *Store, id account.ID) {
	t.Helper()
	must(t, s.Usage().Count(t.Context(), id, usage.DayOf(time.Now()), usage.Used{Calls: 1}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *Store) folder(t *testing.T) string {
	t.Helper()
	folder := ""
	err := s.read(t.Context(), func(t tx) error {
		_, err := t.one("PRAGMA database_list", func(r row) { folder = r.text(2) })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder[:len(folder)-len("/"+FileName)]
}
