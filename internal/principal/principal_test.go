package principal_test

import (
	"testing"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/principal"
)

func TestScopes(t *testing.T) {
	a := account.Account{ID: 1}
	for name, test := range map[string]struct {
		who   principal.Principal
		owner bool
	}{
		"key":      {principal.Owner(a, principal.ByKey), true},
		"password": {principal.Owner(a, principal.ByPassword), true},
		"page":     {principal.Page(a, account.Domain{Account: 1}), false},
		"nobody":   {principal.Principal{}, false},
	} {
		if got := test.who.IsOwner(); got != test.owner {
			t.Errorf("%s is the owner: %v", name, got)
		}
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
		{shop, "\x00page\x00" + shop.Domain.Pattern.String() + "\x00"},
		{site, "\x00page\x00" + site.Domain.Pattern.String() + "\x00"},
	} {
		if got := test.who.KeySpace(); got != test.want {
			t.Errorf("the keys of %s begin with %q, want %q", test.who.By, got, test.want)
		}
	}
}
