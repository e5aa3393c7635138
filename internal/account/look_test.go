package account_test

import (
	"strings"
	"testing"

	"ql/internal/account"
)

func TestSetLook(t *testing.T) {
	s := newFixture(t, account.Options{})
	_, _, err := s.Create(t.Context(), account.New{Username: "ada", Email: "ada@example.com", Password: "a rather long sentence", Plan: account.Free})
	if err != nil {
		t.Fatal(err)
	}
	set := func(change account.LookChange) (account.Look, error) {
		a, err := s.SetLook(t.Context(), "ada", change)
		return a.Look, err
	}
	want := account.Look{DisplayName: "Ärzte & Söhne – 東京", Logo: "/brand/logo.png", Accent: "#1a56db"}
	got, err := set(account.LookChange{DisplayName: new(" Ärzte & Söhne – 東京 "), Logo: new("/brand/logo.png"), Accent: new("#1A56DB")})
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	want.Logo = ""
	if got, err = set(account.LookChange{Logo: new("")}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, test := range []struct {
		change account.LookChange
		why    string
	}{
		{account.LookChange{DisplayName: new(strings.Repeat("x", 61))}, "display_name"},
		{account.LookChange{DisplayName: new("two\nlines")}, "display_name"},
		{account.LookChange{DisplayName: new("moc.elpmaxe\u202e")}, "display_name"},
		{account.LookChange{DisplayName: new("zero\u200bwidth")}, "display_name"},
		{account.LookChange{DisplayName: new("\xff")}, "display_name"},
		{account.LookChange{Logo: new("logo.png")}, "logo"},
		{account.LookChange{Logo: new("/a\x00")}, "logo"},
		{account.LookChange{Logo: new("/" + strings.Repeat("a", 1024))}, "logo"},
		{account.LookChange{Accent: new("red")}, "accent"},
		{account.LookChange{Accent: new("#1a56db;}")}, "accent"},
		{account.LookChange{Accent: new("#777777")}, "a contrast of 4.47:1 with white"},
		{account.LookChange{Accent: new("#ffffff")}, "a contrast of 1.00:1 with white"},
	} {
		if got, err := set(test.change); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %+v, %v", test.why, got, err)
		}
	}
	if found, err := s.Find(t.Context(), "ada"); err != nil || found.Look != want {
		t.Errorf("after what was refused there is %+v, %v", found.Look, err)
	}
}
