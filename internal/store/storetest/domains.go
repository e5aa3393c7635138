package storetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
)

func pattern(t *testing.T, text string) names.Pattern {
	t.Helper()
	p, err := names.ParsePattern(text, true)
	must(t, err)
	return p
}

func domain(t *testing.T, id account.ID, text string) account.Domain {
	t.Helper()
	return account.Domain{Account: id, Pattern: pattern(t, text), Added: noon}
}

func testDomains(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	var want []account.Domain
	for i, text := range []string{"shop.example.com", "*.example.com", "http://shop.example.com", "https://shop.example.com:8443", "http://localhost:3000", "http://[::1]:80"} {
		d := domain(t, a.ID, text)
		d.PublishedOnly = i%2 == 0
		d.Added = noon.Add(time.Duration(i) * time.Second)
		must(t, s.Accounts.AddDomain(t.Context(), d))
		want = append(want, d)
	}
	slices.SortFunc(want, func(a, b account.Domain) int { return cmp.Compare(a.Pattern.String(), b.Pattern.String()) })
	got, err := s.Accounts.Domains(t.Context(), a.ID)
	must(t, err)
	same(t, "the entries", got, want)

	again := want[0]
	again.Added = noon.Add(time.Hour)
	again.PublishedOnly = !again.PublishedOnly
	must(t, s.Accounts.AddDomain(t.Context(), again))
	want[0].PublishedOnly = again.PublishedOnly
	got, err = s.Accounts.Domains(t.Context(), a.ID)
	must(t, err)
	same(t, "after an entry came again", got, want)

	for host, hosts := range map[string][]string{
		"shop.example.com":  {"*.example.com", "shop.example.com", "shop.example.com", "shop.example.com"},
		"other.example.com": {"*.example.com"},
		"a.b.example.com":   {"*.example.com"},
		"example.com":       nil,
		"localhost":         {"localhost"},
		"[::1]":             {"[::1]"},
		"com":               nil,
	} {
		entries, err := s.Accounts.DomainsOf(t.Context(), host)
		must(t, err)
		var found []string
		for _, d := range entries {
			found = append(found, d.Pattern.Host)
			if !slices.Contains(want, d) {
				t.Errorf("%s: the entry %v", host, d)
			}
		}
		slices.Sort(found)
		same(t, host, found, hosts)
	}

	must(t, s.Accounts.RemoveDomain(t.Context(), a.ID, want[0].Pattern))
	wantError(t, "a second Remove", s.Accounts.RemoveDomain(t.Context(), a.ID, want[0].Pattern), account.ErrNotFound)
	got, err = s.Accounts.Domains(t.Context(), a.ID)
	must(t, err)
	same(t, "the rest", got, want[1:])
}

// testDomainOverlap tries every pair of entries, one for each of two accounts,
// and asks the patterns whether they overlap.
func testDomainOverlap(t *testing.T, s Stores) {
	texts := []string{
		"example.com", "shop.example.com", "a.shop.example.com", "*.example.com", "*.shop.example.com",
		"http://shop.example.com:8080", "myexample.com", "*.myexample.com", "example.com.evil.net", "xample.com",
		"*.example.org", "example-com.net",
	}
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	for _, first := range texts {
		must(t, s.Accounts.AddDomain(t.Context(), domain(t, ada.ID, first)))
		for _, second := range texts {
			d := domain(t, bob.ID, second)
			err := s.Accounts.AddDomain(t.Context(), d)
			var taken *account.Taken
			isTaken := errors.As(err, &taken) && taken.Field == "domain"
			if err != nil && !isTaken {
				t.Fatal(err)
			}
			if want := d.Pattern.Overlaps(pattern(t, first)); isTaken != want {
				t.Errorf("%s beside %s: %v", second, first, err)
			}
			if err == nil {
				must(t, s.Accounts.RemoveDomain(t.Context(), bob.ID, d.Pattern))
			}
		}
		must(t, s.Accounts.RemoveDomain(t.Context(), ada.ID, pattern(t, first)))
	}
}

func testDomainRace(t *testing.T, s Stores) {
	texts := []string{"shop.example.com", "*.example.com"}
	ids := make([]account.ID, 16)
	for i := range ids {
		ids[i] = create(t, s.Accounts, person(numbered("user", i))).ID
	}
	domains := make([]account.Domain, len(ids))
	for i, id := range ids {
		domains[i] = domain(t, id, texts[i%2])
	}
	errs := atOnce(len(ids), func(i int) error { return s.Accounts.AddDomain(t.Context(), domains[i]) })
	won := winners(t, errs, func(err error) bool {
		var taken *account.Taken
		return errors.As(err, &taken)
	})
	if len(won) != 1 {
		t.Errorf("%d accounts have it", len(won))
	}
}

func testRequestedDomains(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	first, second := domain(t, ada.ID, "a.example.com"), domain(t, ada.ID, "*.b.example.com")
	first.PublishedOnly = true
	must(t, s.Accounts.RequestDomain(t.Context(), first, 2))
	must(t, s.Accounts.RequestDomain(t.Context(), second, 2))
	wantError(t, "one too many", s.Accounts.RequestDomain(t.Context(), domain(t, ada.ID, "c.example.com"), 2), account.ErrTooManyDomains)
	again := second
	again.PublishedOnly, again.Added = true, noon.Add(time.Hour)
	must(t, s.Accounts.RequestDomain(t.Context(), again, 2))
	second.PublishedOnly = true
	must(t, s.Accounts.RequestDomain(t.Context(), domain(t, bob.ID, "a.example.com"), 0))

	requests, err := s.Accounts.RequestedDomains(t.Context(), ada.ID)
	must(t, err)
	same(t, "the requests", requests, []account.Domain{second, first})
	entries, err := s.Accounts.Domains(t.Context(), ada.ID)
	must(t, err)
	covered, err := s.Accounts.DomainsOf(t.Context(), "a.example.com")
	must(t, err)
	if len(entries)+len(covered) > 0 {
		t.Errorf("requests are on lists: %v, %v", entries, covered)
	}

	// Who proves it has it, and others do not.
	proven, err := s.Accounts.ProveDomain(t.Context(), ada.ID, first.Pattern)
	must(t, err)
	same(t, "what is proved", proven, first)
	entries, err = s.Accounts.Domains(t.Context(), ada.ID)
	must(t, err)
	same(t, "the list", entries, []account.Domain{first})
	_, err = s.Accounts.ProveDomain(t.Context(), ada.ID, first.Pattern)
	wantError(t, "proved again", err, account.ErrNotFound)
	var taken *account.Taken
	if _, err = s.Accounts.ProveDomain(t.Context(), bob.ID, first.Pattern); !errors.As(err, &taken) {
		t.Errorf("another account proves it too: %v", err)
	}
	wantError(t, "entries count", s.Accounts.RequestDomain(t.Context(), domain(t, ada.ID, "c.example.com"), 2), account.ErrTooManyDomains)

	// What is removed, or listed by the operator, is requested no more.
	must(t, s.Accounts.RemoveDomain(t.Context(), bob.ID, first.Pattern))
	must(t, s.Accounts.AddDomain(t.Context(), second))
	for _, id := range []account.ID{ada.ID, bob.ID} {
		requests, err = s.Accounts.RequestedDomains(t.Context(), id)
		must(t, err)
		if len(requests) > 0 {
			t.Errorf("there are requests: %v", requests)
		}
	}
	must(t, s.Accounts.RequestDomain(t.Context(), domain(t, bob.ID, "d.example.com"), 0))
	must(t, s.Accounts.Delete(t.Context(), bob.ID))
	requests, err = s.Accounts.RequestedDomains(t.Context(), bob.ID)
	must(t, err)
	if len(requests) > 0 {
		t.Errorf("an account that is gone requests %v", requests)
	}
}

// setSecret stores a secret, whatever others there are.
func setSecret(ctx context.Context, s Stores, secret account.Secret) error {
	_, err := s.Accounts.SetSecret(ctx, secret, 0)
	return err
}

func testSecrets(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	secret := func(id account.ID, name, sealed string) account.Secret {
		return account.Secret{Account: id, Name: name, Sealed: []byte(sealed), Set: noon}
	}
	for _, v := range []account.Secret{secret(ada.ID, "b", "1"), secret(ada.ID, "a", "2\x00"), secret(bob.ID, "a", "3"), secret(ada.ID, "b", "4")} {
		must(t, setSecret(t.Context(), s, v))
	}
	for _, want := range []account.Secret{secret(ada.ID, "a", "2\x00"), secret(ada.ID, "b", "4"), secret(bob.ID, "a", "3")} {
		got, err := s.Accounts.Secret(t.Context(), want.Account, want.Name)
		must(t, err)
		same(t, want.Name, got, want)
	}
	list, err := s.Accounts.Secrets(t.Context(), ada.ID)
	must(t, err)
	same(t, "the list", list, []account.Secret{{Account: ada.ID, Name: "a", Set: noon}, {Account: ada.ID, Name: "b", Set: noon}})
	_, err = s.Accounts.Secret(t.Context(), bob.ID, "b")
	wantError(t, "another's secret", err, account.ErrNotFound)
	must(t, s.Accounts.RemoveSecret(t.Context(), ada.ID, "a"))
	wantError(t, "a second Remove", s.Accounts.RemoveSecret(t.Context(), ada.ID, "a"), account.ErrNotFound)
	_, err = s.Accounts.Secret(t.Context(), bob.ID, "a")
	must(t, err)

	// Bounds are of new names: ada has b.
	created, err := s.Accounts.SetSecret(t.Context(), secret(ada.ID, "c", "5"), 2)
	must(t, err)
	changed, err := s.Accounts.SetSecret(t.Context(), secret(ada.ID, "c", "6"), 1)
	must(t, err)
	if !created || changed {
		t.Errorf("a new secret is created: %t, and one that is there: %t", created, changed)
	}
	_, err = s.Accounts.SetSecret(t.Context(), secret(ada.ID, "d", "7"), 2)
	wantError(t, "one too many", err, account.ErrTooManySecrets)
}

func testWebhookSecrets(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	create(t, s.Accounts, person("bob"))
	secret := func(number int64) account.WebhookSecret {
		return account.WebhookSecret{Account: a.ID, Number: number, Sealed: []byte(numbered("sealed", int(number))), Made: noon.Add(time.Duration(number) * time.Hour)}
	}
	at := func(now time.Time, want ...account.WebhookSecret) {
		t.Helper()
		got, err := s.Accounts.WebhookSecrets(t.Context(), a.ID, now)
		must(t, err)
		same(t, now.String(), got, want)
	}
	keep := noon.Add(24 * time.Hour)
	at(noon)
	wantError(t, "the second first", s.Accounts.RotateWebhookSecret(t.Context(), secret(2), keep), account.ErrConflict)
	must(t, s.Accounts.RotateWebhookSecret(t.Context(), secret(1), keep))
	at(noon.Add(1000*time.Hour), secret(1))
	wantError(t, "the first again", s.Accounts.RotateWebhookSecret(t.Context(), secret(1), keep), account.ErrConflict)

	must(t, s.Accounts.RotateWebhookSecret(t.Context(), secret(2), keep))
	first := secret(1)
	first.Until = keep
	at(keep.Add(-time.Microsecond), secret(2), first)
	at(keep, secret(2))

	must(t, s.Accounts.RotateWebhookSecret(t.Context(), secret(3), keep.Add(time.Hour)))
	second := secret(2)
	second.Until = keep.Add(time.Hour)
	at(noon, secret(3), second) // the first is gone, though its time was not over
}

func testWebhookSecretRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for number := int64(1); number <= 3; number++ {
		errs := atOnce(8, func(i int) error {
			return s.Accounts.RotateWebhookSecret(t.Context(), account.WebhookSecret{Account: a.ID, Number: number, Sealed: []byte(numbered("s", i)), Made: noon}, noon.Add(time.Hour))
		})
		won := winners(t, errs, func(err error) bool { return errors.Is(err, account.ErrConflict) })
		got, err := s.Accounts.WebhookSecrets(t.Context(), a.ID, noon)
		must(t, err)
		if len(won) != 1 || len(got) != min(int(number), 2) || string(got[0].Sealed) != numbered("s", won[0]) {
			t.Errorf("rotation %d: %v won, and %d stand", number, won, len(got))
		}
	}
}
