package storetest

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/signin"
)

// signIn returns a sign-in to an account, not stored.
func signIn(a account.ID, n int, at time.Time) signin.SignIn {
	return signin.SignIn{Account: a, Hash: signin.Hash{byte(n), byte(n >> 8), 1}, Created: at, Used: at, Confirmed: at}
}

// startSignIn stores one, where the account has any number of others.
func startSignIn(t *testing.T, s Stores, one signin.SignIn) signin.SignIn {
	t.Helper()
	id, err := s.SignIns.Create(t.Context(), one, 1, signin.Expiry{}, 1000)
	must(t, err)
	one.ID = id
	return one
}

// signedIn returns whether a sign-in is stored, and checks that it is found by both of its names.
func signedIn(t *testing.T, s Stores, one signin.SignIn) bool {
	t.Helper()
	_, byHash, err := s.SignIns.ByHash(t.Context(), one.Hash)
	_, byID, idErr := s.SignIns.ByID(t.Context(), one.ID)
	if err != nil || idErr != nil {
		wantError(t, "by its hash", err, account.ErrNotFound)
		wantError(t, "by its id", idErr, account.ErrNotFound)
		return false
	}
	same(t, "the one by its id", byID, byHash)
	return true
}

func testSignIns(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	one := signIn(ada.ID, 1, noon)
	one.ID = 77 // which is the store's to give
	one = startSignIn(t, s, one)
	never := signIn(bob.ID, 2, noon)
	never.Confirmed = time.Time{}
	never = startSignIn(t, s, never)
	if one.ID == 0 || one.ID == 77 || one.ID == never.ID {
		t.Errorf("the ids are %d and %d", one.ID, never.ID)
	}
	for _, want := range []signin.SignIn{one, never} {
		a, got, err := s.SignIns.ByHash(t.Context(), want.Hash)
		must(t, err)
		same(t, "the sign-in", got, want)
		owner, err := s.Accounts.ByID(t.Context(), want.Account)
		must(t, err)
		same(t, "its account", a, owner)
		signedIn(t, s, want)
	}
	before, _ := s.Versions.AccountsVersion()
	later := noon.Add(time.Hour)
	must(t, s.SignIns.Touch(t.Context(), one.ID, later))
	must(t, s.SignIns.Touch(t.Context(), one.ID, noon)) // a late writer
	must(t, s.SignIns.Touch(t.Context(), 12345, later))
	must(t, s.SignIns.Confirm(t.Context(), one.ID, later))
	wantError(t, "confirming none", s.SignIns.Confirm(t.Context(), 12345, later), account.ErrNotFound)
	one.Used, one.Confirmed = later, later
	_, got, err := s.SignIns.ByID(t.Context(), one.ID)
	must(t, err)
	same(t, "the one that was used", got, one)
	if after, ok := s.Versions.AccountsVersion(); !ok || after != before {
		t.Errorf("a use makes version %d of %d", after, before)
	}
	must(t, s.SignIns.Remove(t.Context(), one.ID))
	must(t, s.SignIns.Remove(t.Context(), one.ID))
	if signedIn(t, s, one) || !signedIn(t, s, never) {
		t.Error("another one was removed")
	}
	if renewed := startSignIn(t, s, one); renewed.ID <= one.ID {
		t.Errorf("the id %d was given after %d", renewed.ID, one.ID)
	}
	_, _, err = s.SignIns.ByHash(t.Context(), signin.Hash{})
	wantError(t, "the zero hash", err, account.ErrNotFound)

	for what, test := range map[string]struct {
		account account.ID
		epoch   int64
		want    error
	}{
		"an epoch before":   {ada.ID, 0, account.ErrConflict},
		"an account of old": {12345, 1, account.ErrNotFound},
	} {
		_, err := s.SignIns.Create(t.Context(), signIn(test.account, 9, noon), test.epoch, signin.Expiry{}, 10)
		wantError(t, what, err, test.want)
	}
}

// testSignInEnds: what changes an account's password, disables or deletes it ends its sign-ins, and
// nothing else does.
func testSignInEnds(t *testing.T, s Stores) {
	for n, test := range []struct {
		what string
		do   func(a account.Account) error
		ends bool
	}{
		{"a new password", func(a account.Account) error { return s.Accounts.SetPassword(t.Context(), a.ID, "other") }, true},
		{"the same password", func(a account.Account) error {
			return s.Accounts.SetPassword(t.Context(), a.ID, a.PasswordHash)
		}, true},
		{"disabled", func(a account.Account) error {
			return s.Accounts.SetFlag(t.Context(), a.ID, account.FlagDisabled, true)
		}, true},
		{"marked as deleted", func(a account.Account) error { return s.Accounts.MarkDeleted(t.Context(), a.ID, noon) }, true},
		{"deleted", func(a account.Account) error { return s.Accounts.Delete(t.Context(), a.ID) }, true},
		{"a stronger hash", func(a account.Account) error {
			return s.Accounts.Rehash(t.Context(), a.ID, a.PasswordHash, "stronger")
		}, false},
		{"a rotated key", func(a account.Account) error {
			return s.Accounts.RotateKey(t.Context(), a.ID, account.KeyHash{byte(99)}, nil)
		}, false},
		{"enabled", func(a account.Account) error {
			return s.Accounts.SetFlag(t.Context(), a.ID, account.FlagDisabled, false)
		}, false},
	} {
		a, other := create(t, s.Accounts, person(numbered("a", n))), create(t, s.Accounts, person(numbered("b", n)))
		one, others := startSignIn(t, s, signIn(a.ID, 2*n, noon)), startSignIn(t, s, signIn(other.ID, 2*n+1, noon))
		must(t, test.do(a))
		if signedIn(t, s, one) == test.ends || !signedIn(t, s, others) {
			t.Errorf("%s: the sign-in is there: %t", test.what, !test.ends)
		}
		if !test.ends {
			continue
		}
		// Whoever proved themselves before does not sign in afterwards.
		if _, err := s.SignIns.Create(t.Context(), signIn(a.ID, 500+n, noon), 1, signin.Expiry{}, 10); err == nil {
			t.Errorf("%s: somebody signs in by what was proved before", test.what)
		}
	}
}

func testSignInBounds(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	const count, most = 20, 5
	var all []signin.SignIn
	for n := range count {
		one := signIn(ada.ID, n, noon.Add(time.Duration(n)*time.Minute))
		id, err := s.SignIns.Create(t.Context(), one, 1, signin.Expiry{}, most)
		must(t, err)
		one.ID = id
		all = append(all, one)
	}
	bobs := startSignIn(t, s, signIn(bob.ID, 100, noon))
	for n, one := range all {
		if signedIn(t, s, one) != (n >= count-most) {
			t.Errorf("number %d is there: %t", n, n < count-most)
		}
	}
	// That which was used last stays.
	must(t, s.SignIns.Touch(t.Context(), all[count-most].ID, noon.Add(time.Hour)))
	newest := signIn(ada.ID, count, noon.Add(30*time.Minute))
	var err error
	newest.ID, err = s.SignIns.Create(t.Context(), newest, 1, signin.Expiry{}, most)
	must(t, err)
	if !signedIn(t, s, all[count-most]) || signedIn(t, s, all[count-most+1]) {
		t.Error("the one that was used last made room")
	}
	// Those that are over go first, of this account alone.
	over := signin.Expiry{Used: noon.Add(18 * time.Minute), Created: noon.Add(10 * time.Minute)}
	another := signIn(ada.ID, count+1, noon.Add(40*time.Minute))
	_, err = s.SignIns.Create(t.Context(), another, 1, over, most)
	must(t, err)
	for n, want := range map[int]bool{15: true, 16: false, 17: false, 18: true, 19: true} {
		if signedIn(t, s, all[n]) != want {
			t.Errorf("number %d is there: %t", n, !want)
		}
	}
	if !signedIn(t, s, bobs) {
		t.Error("another account's is gone")
	}
	// Of all accounts, by batches, by either moment.
	n, err := s.SignIns.Sweep(t.Context(), signin.Expiry{Used: noon.Add(19 * time.Minute), Created: noon.Add(16 * time.Minute)}, 2)
	must(t, err)
	m, err := s.SignIns.Sweep(t.Context(), signin.Expiry{Used: noon.Add(19 * time.Minute), Created: noon.Add(16 * time.Minute)}, 2)
	must(t, err)
	if n != 2 || m != 1 || signedIn(t, s, bobs) || signedIn(t, s, all[18]) || signedIn(t, s, all[15]) || !signedIn(t, s, all[19]) || !signedIn(t, s, newest) {
		t.Errorf("%d and %d were swept", n, m)
	}
}

// testSignInRace: many sign in at once, and no more are left than may be.
func testSignInRace(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	const count, most = 24, 4
	errs := atOnce(count, func(i int) error {
		_, err := s.SignIns.Create(t.Context(), signIn(ada.ID, i, noon), 1, signin.Expiry{}, most)
		return err
	})
	winners(t, errs, func(error) bool { return false })
	left := 0
	for i := range count {
		if _, _, err := s.SignIns.ByHash(t.Context(), signIn(ada.ID, i, noon).Hash); err == nil {
			left++
		}
	}
	if left != most {
		t.Errorf("%d are left, want %d", left, most)
	}
}
