package storetest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
)

// namedKey returns a key of an account, not stored.
func namedKey(a account.ID, name string) account.NamedKey {
	k := account.NamedKey{Account: a, Name: name, Shown: "qln_" + name, Scopes: scope.Of(scope.Run), Created: noon}
	copy(k.Hash[:], strings.Repeat(name+" ", 16))
	return k
}

// createKey stores a key.
func createKey(t *testing.T, s account.Store, k account.NamedKey) account.NamedKey {
	t.Helper()
	id, err := s.CreateNamedKey(t.Context(), k, 0)
	must(t, err)
	k.ID = id
	return k
}

func testNamedKeys(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	full := namedKey(ada.ID, "full")
	full.Scopes = scope.Set{Kinds: scope.Jobs | scope.Manage, Programs: []string{"a", "b.c"}}
	full.Expires = noon.Add(time.Hour)
	full.ID, full.Used = 77, noon // both are the store's to give
	full = createKey(t, s.Accounts, full)
	full.Used = time.Time{}
	bare := createKey(t, s.Accounts, namedKey(ada.ID, "bare"))
	other := namedKey(bob.ID, "full")
	other.Hash[0]++
	other = createKey(t, s.Accounts, other)
	if full.ID == 0 || bare.ID == 0 || full.ID == bare.ID || other.ID == full.ID {
		t.Errorf("the ids are %d, %d and %d", full.ID, bare.ID, other.ID)
	}
	for _, want := range []account.NamedKey{full, bare, other} {
		a, got, err := s.Accounts.ByNamedKey(t.Context(), want.Hash)
		must(t, err)
		same(t, want.Name, got, want)
		owner, err := s.Accounts.ByID(t.Context(), want.Account)
		must(t, err)
		same(t, "its account", a, owner)
	}
	list, err := s.Accounts.NamedKeys(t.Context(), ada.ID)
	must(t, err)
	same(t, "the list", list, []account.NamedKey{bare, full})

	_, _, err = s.Accounts.ByNamedKey(t.Context(), account.KeyHash{})
	wantError(t, "the zero hash", err, account.ErrNotFound)
	_, _, err = s.Accounts.ByNamedKey(t.Context(), ada.KeyHash)
	wantError(t, "the API key", err, account.ErrNotFound)
	_, err = s.Accounts.ByKeyHash(t.Context(), full.Hash)
	wantError(t, "an API key", err, account.ErrNotFound)

	again := namedKey(ada.ID, "bare")
	again.Hash[0]++
	_, err = s.Accounts.CreateNamedKey(t.Context(), again, 0)
	wantError(t, "its name again", err, account.ErrNameInUse)
	twin := namedKey(bob.ID, "twin")
	twin.Hash = full.Hash
	_, err = s.Accounts.CreateNamedKey(t.Context(), twin, 0)
	wantError(t, "another's hash", err, account.ErrConflict)
	third := namedKey(ada.ID, "third")
	_, err = s.Accounts.CreateNamedKey(t.Context(), third, 2)
	wantError(t, "one too many", err, account.ErrTooManyKeys)
	list, err = s.Accounts.NamedKeys(t.Context(), ada.ID)
	must(t, err)
	same(t, "the list after what failed", list, []account.NamedKey{bare, full})

	// One that has expired makes room, also for its name.
	_, err = s.Accounts.CreateNamedKey(t.Context(), third, 2)
	wantError(t, "one too many, again", err, account.ErrTooManyKeys)
	third.Created = full.Expires
	third = createKey(t, s.Accounts, third)
	list, err = s.Accounts.NamedKeys(t.Context(), ada.ID)
	must(t, err)
	same(t, "the list without the expired one", list, []account.NamedKey{bare, third})

	wantError(t, "revoking none", s.Accounts.RevokeNamedKey(t.Context(), ada.ID, "full"), account.ErrNotFound)
	must(t, s.Accounts.RevokeNamedKey(t.Context(), ada.ID, "third"))
	_, _, err = s.Accounts.ByNamedKey(t.Context(), third.Hash)
	wantError(t, "a revoked key", err, account.ErrNotFound)
	renewed := createKey(t, s.Accounts, third)
	if renewed.ID <= third.ID {
		t.Errorf("the id %d was given after %d", renewed.ID, third.ID)
	}

	must(t, s.Accounts.Delete(t.Context(), ada.ID))
	_, _, err = s.Accounts.ByNamedKey(t.Context(), bare.Hash)
	wantError(t, "the key of a deleted account", err, account.ErrNotFound)
	_, got, err := s.Accounts.ByNamedKey(t.Context(), other.Hash)
	must(t, err)
	same(t, "the other account's", got, other)
}

func testNamedKeyUses(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	one, two := createKey(t, s.Accounts, namedKey(ada.ID, "one")), createKey(t, s.Accounts, namedKey(ada.ID, "two"))
	before, _ := s.Versions.AccountsVersion()
	later := noon.Add(time.Minute)
	must(t, s.Accounts.RecordUses(t.Context(), map[account.NamedKeyID]time.Time{one.ID: later, two.ID: noon, 12345: noon}))
	must(t, s.Accounts.RecordUses(t.Context(), map[account.NamedKeyID]time.Time{one.ID: noon, two.ID: later}))
	must(t, s.Accounts.RecordUses(t.Context(), nil))
	if after, ok := s.Versions.AccountsVersion(); !ok || after != before {
		t.Errorf("a use makes version %d of %d", after, before)
	}
	one.Used, two.Used = later, later
	list, err := s.Accounts.NamedKeys(t.Context(), ada.ID)
	must(t, err)
	same(t, "the uses", list, []account.NamedKey{one, two})
	must(t, s.Accounts.RevokeNamedKey(t.Context(), ada.ID, "one"))
	must(t, s.Accounts.RecordUses(t.Context(), map[account.NamedKeyID]time.Time{one.ID: later.Add(time.Hour)}))
	list, err = s.Accounts.NamedKeys(t.Context(), ada.ID)
	must(t, err)
	same(t, "those that are left", list, []account.NamedKey{two})
}

// testNamedKeyRace lets many make keys at once, of one name and up to a bound.
func testNamedKeyRace(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	errs := atOnce(16, func(i int) error {
		k := namedKey(ada.ID, "same")
		k.Hash[31] = byte(i)
		_, err := s.Accounts.CreateNamedKey(t.Context(), k, 100)
		return err
	})
	if won := winners(t, errs, func(err error) bool { return errors.Is(err, account.ErrNameInUse) }); len(won) != 1 {
		t.Errorf("%d keys have the name", len(won))
	}
	errs = atOnce(16, func(i int) error {
		_, err := s.Accounts.CreateNamedKey(t.Context(), namedKey(ada.ID, numbered("key", i)), 5)
		return err
	})
	if won := winners(t, errs, func(err error) bool { return errors.Is(err, account.ErrTooManyKeys) }); len(won) != 4 {
		t.Errorf("%d more keys were made where 5 fit", len(won))
	}
}

// testRevocationAgainstLookup revokes keys while others look them up, as the service does, through
// the cache: once a revocation has returned, nobody finds the key.
func testRevocationAgainstLookup(t *testing.T, s Stores) {
	const keys, lookers = 40, 4
	cached := s.CacheAccounts().Accounts
	ada := create(t, s.Accounts, person("ada"))
	var mu sync.Mutex
	made, ending, dead := 0, 0, 0 // keys below these numbers
	done := make(chan struct{})
	var group sync.WaitGroup
	for range lookers {
		group.Go(func() {
			for n := 0; ; n = (n + 1) % keys {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				wasMade, isDead := n < made, n < dead
				mu.Unlock()
				want := namedKey(ada.ID, numbered("key", n))
				_, got, err := cached.ByNamedKey(t.Context(), want.Hash)
				mu.Lock()
				lives := n >= ending
				mu.Unlock()
				switch {
				case err == nil && isDead:
					t.Errorf("key %d was found after its end", n)
				case err == nil && got.Name != want.Name:
					t.Errorf("key %d is %q", n, got.Name)
				case errors.Is(err, account.ErrNotFound) && wasMade && lives:
					t.Errorf("key %d was not found, and lives", n)
				case err != nil && !errors.Is(err, account.ErrNotFound):
					t.Errorf("key %d: %v", n, err)
				}
			}
		})
	}
	for n := range keys {
		createKey(t, cached, namedKey(ada.ID, numbered("key", n)))
		mu.Lock()
		made = n + 1
		mu.Unlock()
		if n == 0 {
			continue
		}
		mu.Lock()
		ending = n
		mu.Unlock()
		must(t, cached.RevokeNamedKey(t.Context(), ada.ID, numbered("key", n-1)))
		mu.Lock()
		dead = n
		mu.Unlock()
	}
	close(done)
	group.Wait()
}
