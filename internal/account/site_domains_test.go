package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
)

// records are TXT records, of which some cannot be looked up.
type records struct {
	values map[string][]string
	broken bool
	asked  int
}

var errNoDNS = errors.New("no name server answers")

func (r *records) look(_ context.Context, record, value string) (bool, error) {
	r.asked++
	if r.broken {
		return false, errNoDNS
	}
	for _, v := range r.values[record] {
		if v == value {
			return true, nil
		}
	}
	return false, nil
}

func (r *records) set(d account.OwnSiteDomain, others ...string) {
	r.values = map[string][]string{d.Record: append(others, d.Value)}
}

func TestNamesOfSiteDomains(t *testing.T) {
	f := newFixture(t, account.Options{OwnHosts: []string{"api.example.com", "sites.example.net"}})
	f.create(t, "ada")
	for text, want := range map[string]string{
		"shop.example.org": "shop.example.org", "Shop.Example.ORG.": "shop.example.org", "example.org": "example.org", "bücher.example": "xn--bcher-kva.example",
		"example.com": "example.com", "myapi.example.com": "myapi.example.com", "me.github.io": "me.github.io",
	} {
		d, err := f.RequestSiteDomain(t.Context(), "ada", text)
		if err != nil || d.Domain != want || d.Record != "_ql."+want || !strings.HasPrefix(d.Value, "ql-site=") || d.State() != account.SiteDomainRequested {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	for _, text := range []string{
		"", "localhost", "ada.localhost", "example", "com", "co.uk", "github.io", "192.0.2.7", "[2001:db8::1]", "127.1", "*.example.org", "https://example.org", "example.org:443", "example.org/x",
		"a b.example.org", "my_shop.example.org", "example..org", strings.Repeat("a.", 124) + "org",
		"api.example.com", "API.example.com.", "x.api.example.com", "sites.example.net", "bob.sites.example.net",
	} {
		_, err := f.RequestSiteDomain(t.Context(), "ada", text)
		wantField(t, err, "domain")
	}
	list, err := f.SiteDomains(t.Context(), "ada")
	if err != nil || len(list) != 6 { // two are spellings of one
		t.Errorf("the list is %v, %v", list, err)
	}
	wantNotFound(t, f.RemoveSiteDomain(t.Context(), "ada", "other.example.org"))
	if err := f.RemoveSiteDomain(t.Context(), "ada", "SHOP.example.org."); err != nil {
		t.Error(err)
	}
}

func TestLimitOfSiteDomains(t *testing.T) {
	f := newFixture(t, account.Options{Limits: func(account.Plan) account.Limits { return account.Limits{Domains: 1} }})
	f.create(t, "ada")
	for range 2 {
		if _, err := f.RequestSiteDomain(t.Context(), "ada", "a.example.org"); err != nil {
			t.Fatal(err)
		}
	}
	var refused *fault.Error
	if _, err := f.RequestSiteDomain(t.Context(), "ada", "b.example.org"); !errors.As(err, &refused) || refused.Code != fault.LimitExceeded || refused.Limit != "domains" {
		t.Errorf("one too many: %v", err)
	}
}

// TestSiteDomainsAreProved follows a domain from one account to the next: as long as the first one's
// proof is there, and for a week after, it is the first one's.
func TestSiteDomainsAreProved(t *testing.T) {
	f, dns := newFixture(t, account.Options{}), &records{}
	f.create(t, "ada")
	f.create(t, "bob")
	request := func(name string) account.OwnSiteDomain {
		t.Helper()
		d, err := f.RequestSiteDomain(t.Context(), name, "shop.example.org")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	prove := func(name, want string) account.OwnSiteDomain {
		t.Helper()
		d, err := f.ProveSiteDomain(t.Context(), name, "shop.example.org", dns.look)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s proves it: %v, want %q", name, err, want)
		}
		return d
	}
	has := func(want bool) {
		t.Helper()
		if got, err := f.HasSite(t.Context(), "shop.example.org"); got != want || err != nil {
			t.Errorf("it is proved: %t, %v", got, err)
		}
	}
	adas, bobs := request("ada"), request("bob")
	if adas.Value == bobs.Value {
		t.Fatal("two accounts have one value")
	}
	dns.set(bobs)
	prove("ada", "no TXT record of _ql.shop.example.org has "+adas.Value)
	dns.broken = true
	prove("ada", errNoDNS.Error())
	dns.broken = false
	has(false)
	dns.set(adas, "other", bobs.Value)
	if d := prove("ada", ""); d.State() != account.SiteDomainProven {
		t.Errorf("it is %s", d.State())
	}
	has(true)
	prove("bob", "whose value is in the record too")

	// The domain is sold.
	dns.set(bobs)
	f.now = f.now.Add(time.Hour)
	free := f.now.Add(7 * 24 * time.Hour)
	prove("bob", "it is free at "+free.Format(time.RFC3339))
	f.now = free.Add(-time.Second)
	prove("bob", "it is free at "+free.Format(time.RFC3339))
	dns.broken = true
	f.now = free
	prove("bob", errNoDNS.Error())
	dns.broken = false
	if d := prove("bob", ""); d.State() != account.SiteDomainProven {
		t.Errorf("it is %s", d.State())
	}
	list, err := f.SiteDomains(t.Context(), "ada")
	if err != nil || len(list) != 1 || list[0].State() != account.SiteDomainLost {
		t.Errorf("the seller has %v, %v", list, err)
	}

	if err := f.MarkDeleted(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	has(false)
}

func TestProofsAreLookedForAgain(t *testing.T) {
	f, dns := newFixture(t, account.Options{}), &records{}
	f.create(t, "ada")
	d, err := f.RequestSiteDomain(t.Context(), "ada", "shop.example.org")
	if err != nil {
		t.Fatal(err)
	}
	dns.set(d)
	if _, err := f.ProveSiteDomain(t.Context(), "ada", "shop.example.org", dns.look); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	for _, step := range []struct {
		after         time.Duration
		found, broken bool
		asked         int
		want          account.SiteDomainState
	}{
		{6 * day, false, false, 0, account.SiteDomainProven}, // not due yet
		{day, true, false, 1, account.SiteDomainProven},
		{7 * day, false, false, 1, account.SiteDomainMissing},
		{day / 2, true, false, 0, account.SiteDomainMissing},
		{day / 2, true, false, 1, account.SiteDomainProven}, // it is there again
		{7 * day, false, true, 1, account.SiteDomainProven}, // nobody knows
		{7 * day, false, false, 1, account.SiteDomainMissing},
		{6 * day, false, false, 1, account.SiteDomainMissing},
		{day, false, true, 1, account.SiteDomainMissing}, // it is lost when that is known
		{day, false, false, 1, account.SiteDomainLost},
		{7 * day, true, false, 0, account.SiteDomainLost}, // it is to be proved by its owner
	} {
		f.now = f.now.Add(step.after)
		dns.broken, dns.asked, dns.values = step.broken, 0, nil
		if step.found {
			dns.set(d)
		}
		if err := f.CheckSites(dns.look)(t.Context(), f.now); err != nil {
			t.Fatal(err)
		}
		list, err := f.SiteDomains(t.Context(), "ada")
		if err != nil || len(list) != 1 || list[0].State() != step.want || dns.asked != step.asked {
			t.Errorf("at %s: %v, %v, asked %d times, want %s and %d", f.now, list, err, dns.asked, step.want, step.asked)
		}
	}
	if d, err := f.ProveSiteDomain(t.Context(), "ada", "shop.example.org", dns.look); err != nil || d.State() != account.SiteDomainProven {
		t.Errorf("proved anew: %s, %v", d.State(), err)
	}
}

// TestCertificatesAreCounted has an account order more certificates in a day than it may.
func TestCertificatesAreCounted(t *testing.T) {
	f := newFixture(t, account.Options{Dev: true}) // where domains need no proof
	f.create(t, "ada")
	domains := []string{"a.example.org", "b.example.org", "c.example.org", "d.example.org", "e.example.org", "f.example.org"}
	for _, domain := range domains {
		if d, err := f.RequestSiteDomain(t.Context(), "ada", domain); err != nil || d.State() != account.SiteDomainProven {
			t.Fatal(d, err)
		}
	}
	for i, domain := range domains {
		err := f.OrderCertificate(t.Context(), domain, false)
		if last := i == 5; last != errors.Is(err, account.ErrTooManyOrders) || !last && err != nil {
			t.Errorf("%s: %v", domain, err)
		}
	}
	if err := f.OrderCertificate(t.Context(), "g.example.org", true); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("of a domain that nobody has: %v", err)
	}
	f.now = f.now.Add(account.OrdersCounted)
	if err := f.OrderCertificate(t.Context(), "f.example.org", false); err != nil {
		t.Errorf("a day later: %v", err)
	}
}
