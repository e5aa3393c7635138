package principal_test

import (
	"testing"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/account/scope"
	"ql/internal/principal"
)

func TestScopes(t *testing.T) {
	a := account.Account{ID: 1}
	limited := principal.NamedKey(a, account.NamedKey{ID: 3, Name: "shop", Scopes: scope.Set{Kinds: scope.Manage, Programs: []string{"greet"}}})
	any := principal.NamedKey(a, account.NamedKey{ID: 4, Name: "ci", Scopes: scope.Of(scope.Run)})
	for name, test := range map[string]struct {
		who                   principal.Principal
		owner, acts           bool
		sends, greets, others bool // what it may run
	}{
		"key":                  {principal.Owner(a, principal.ByKey), true, true, true, true, true},
		"password":             {principal.Owner(a, principal.ByPassword), true, true, true, true, true},
		"a key of one program": {limited, false, true, false, true, false},
		"a key of all":         {any, false, true, true, true, true},
		"page":                 {principal.Page(a, account.Domain{Account: 1}), false, false, true, false, false},
		"anyone":               {principal.Anyone(a), false, false, false, false, false},
		"nobody":               {principal.Principal{}, false, false, false, false, false},
	} {
		if got := test.who.IsOwner(); got != test.owner {
			t.Errorf("%s is the owner: %v", name, got)
		}
		if got := test.who.ActsForOwner(); got != test.acts {
			t.Errorf("%s acts for the owner: %v", name, got)
		}
		for program, want := range map[string]bool{"": test.sends, "greet": test.greets, "other": test.others} {
			if got := test.who.MayRun(program); got != want {
				t.Errorf("%s may run %q: %v", name, program, got)
			}
		}
	}
	if limited.Key != (principal.Key{ID: 3, Name: "shop"}) || limited.By != principal.ByNamedKey {
		t.Errorf("it is %+v", limited.Key)
	}
}

// TestKeySpaces: an idempotency key belongs to a principal. The texts are hashed into what is
// stored, and so stay as they are.
func TestKeySpaces(t *testing.T) {
	pattern := func(text string) account.Domain {
		p, err := names.ParsePattern(text, false)
		if err != nil {
			t.Fatal(err)
		}
		return account.Domain{Account: 1, Pattern: p}
	}
	a := account.Account{ID: 1}
	byKey, byPassword := principal.Owner(a, principal.ByKey), principal.Owner(a, principal.ByPassword)
	shop, site := principal.Page(a, pattern("shop.example.com")), principal.Page(a, pattern("*.site.example.com"))
	for _, test := range []struct {
		who  principal.Principal
		want string
	}{
		{byKey, ""},
		{byPassword, ""},
		{principal.NamedKey(a, account.NamedKey{ID: 12, Name: "ci", Scopes: scope.All()}), "\x00key\x0012\x00"},
		{principal.Anyone(a), "\x00anyone\x00"},
		{shop, "\x00page\x00" + shop.Domain.Pattern.String() + "\x00"},
		{site, "\x00page\x00" + site.Domain.Pattern.String() + "\x00"},
	} {
		if got := test.who.KeySpace(); got != test.want {
			t.Errorf("the keys of %s begin with %q, want %q", test.who.By, got, test.want)
		}
	}
}
