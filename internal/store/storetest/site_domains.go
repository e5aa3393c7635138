package storetest

import (
	"errors"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

func siteDomain(id account.ID, domain string) account.SiteDomain {
	return account.SiteDomain{Account: id, Domain: domain, Added: noon}
}

// addSite adds domains of an account's site.
func addSite(t *testing.T, s Stores, id account.ID, domains ...string) {
	t.Helper()
	for _, domain := range domains {
		_, err := s.Accounts.AddSiteDomain(t.Context(), siteDomain(id, domain), 0)
		must(t, err)
	}
}

// proveSite adds domains of an account's site, and proves them.
func proveSite(t *testing.T, s Stores, id account.ID, at time.Time, domains ...string) {
	t.Helper()
	addSite(t, s, id, domains...)
	for _, domain := range domains {
		_, err := s.Accounts.ProveSiteDomain(t.Context(), id, domain, at)
		must(t, err)
	}
}

func testSiteDomains(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	addSite(t, s, ada.ID, "b.example.com", "a.example.com")
	again := siteDomain(ada.ID, "b.example.com")
	again.Added = noon.Add(time.Hour)
	stored, err := s.Accounts.AddSiteDomain(t.Context(), again, 2)
	must(t, err)
	same(t, "one that is there", stored, siteDomain(ada.ID, "b.example.com"))
	_, err = s.Accounts.AddSiteDomain(t.Context(), siteDomain(ada.ID, "c.example.com"), 2)
	wantError(t, "one too many", err, account.ErrTooManyDomains)
	addSite(t, s, bob.ID, "a.example.com")

	list, err := s.Accounts.SiteDomains(t.Context(), ada.ID)
	must(t, err)
	same(t, "the list", list, []account.SiteDomain{siteDomain(ada.ID, "a.example.com"), siteDomain(ada.ID, "b.example.com")})
	_, _, err = s.Accounts.BySiteDomain(t.Context(), "a.example.com")
	wantError(t, "one that nobody has proved", err, account.ErrNotFound)

	// Who proves it has it, and others do not.
	want := siteDomain(ada.ID, "a.example.com")
	want.Proven, want.Checked = noon.Add(time.Minute), noon.Add(time.Minute)
	stored, err = s.Accounts.ProveSiteDomain(t.Context(), ada.ID, "a.example.com", want.Proven)
	must(t, err)
	same(t, "what is proved", stored, want)
	want.Checked = noon.Add(time.Hour)
	stored, err = s.Accounts.ProveSiteDomain(t.Context(), ada.ID, "a.example.com", want.Checked)
	must(t, err)
	same(t, "what is proved again", stored, want)
	var taken *account.Taken
	if _, err := s.Accounts.ProveSiteDomain(t.Context(), bob.ID, "a.example.com", noon); !errors.As(err, &taken) || taken.Field != "domain" {
		t.Errorf("another account proves it too: %v", err)
	}
	found, domain, err := s.Accounts.BySiteDomain(t.Context(), "a.example.com")
	must(t, err)
	same(t, "whose it is", found, ada)
	same(t, "the domain", domain, want)

	must(t, s.Accounts.RemoveSiteDomain(t.Context(), ada.ID, "a.example.com"))
	wantError(t, "a second Remove", s.Accounts.RemoveSiteDomain(t.Context(), ada.ID, "a.example.com"), account.ErrNotFound)
	_, _, err = s.Accounts.BySiteDomain(t.Context(), "a.example.com")
	wantError(t, "one that was removed", err, account.ErrNotFound)
	proveSite(t, s, bob.ID, noon, "a.example.com")
	must(t, s.Accounts.Delete(t.Context(), bob.ID))
	_, _, err = s.Accounts.BySiteDomain(t.Context(), "a.example.com")
	wantError(t, "one of an account that is gone", err, account.ErrNotFound)
	wantActs(t, "the log", auditLog(t, s, ada.ID)[1:],
		"service site_domain_requested b.example.com", "service site_domain_requested a.example.com", "service site_domain_proven a.example.com", "service site_domain_removed a.example.com")
}

func testSiteDomainChecks(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	proveSite(t, s, ada.ID, noon.Add(3*time.Hour), "c.example.com")
	proveSite(t, s, ada.ID, noon.Add(1*time.Hour), "a.example.com")
	proveSite(t, s, ada.ID, noon.Add(2*time.Hour), "b.example.com")
	addSite(t, s, ada.ID, "unproven.example.com")
	due := func(found, missing time.Duration, limit int, want ...string) {
		t.Helper()
		list, err := s.Accounts.DueSiteDomains(t.Context(), noon.Add(found), noon.Add(missing), limit)
		must(t, err)
		var got []string
		for _, d := range list {
			got = append(got, d.Domain)
		}
		same(t, "what is due", got, want)
	}
	due(0, 9*time.Hour, 10)
	due(2*time.Hour, 9*time.Hour, 10, "a.example.com", "b.example.com")
	due(9*time.Hour, 9*time.Hour, 2, "a.example.com", "b.example.com")

	// Of one that is missing it is asked sooner.
	_, d, err := s.Accounts.BySiteDomain(t.Context(), "c.example.com")
	must(t, err)
	before := d.Checked
	d.Checked, d.Missing = noon.Add(4*time.Hour), noon.Add(4*time.Hour)
	must(t, s.Accounts.RecordSiteProof(t.Context(), d, before))
	wantError(t, "another has looked since", s.Accounts.RecordSiteProof(t.Context(), d, before), account.ErrConflict)
	due(0, 9*time.Hour, 10, "c.example.com")
	due(0, 3*time.Hour, 10)
	_, stored, err := s.Accounts.BySiteDomain(t.Context(), "c.example.com")
	must(t, err)
	same(t, "one that is missing", stored, d)

	// One that is lost is to be proved anew.
	lost := d
	lost.Proven, lost.Checked = time.Time{}, noon.Add(5*time.Hour)
	must(t, s.Accounts.RecordSiteProof(audit.By(t.Context(), audit.Actor{By: audit.ByService}), lost, d.Checked))
	_, _, err = s.Accounts.BySiteDomain(t.Context(), "c.example.com")
	wantError(t, "one that is lost", err, account.ErrNotFound)
	wantError(t, "of one that is lost", s.Accounts.RecordSiteProof(t.Context(), lost, lost.Checked), account.ErrConflict)
	log := auditLog(t, s, ada.ID)
	wantActs(t, "the log's end", log[len(log)-1:], "service site_domain_lost c.example.com")
	stored, err = s.Accounts.ProveSiteDomain(t.Context(), ada.ID, "c.example.com", noon.Add(6*time.Hour))
	must(t, err)
	if !stored.Missing.IsZero() || !stored.Proven.Equal(noon.Add(6*time.Hour)) {
		t.Errorf("proved anew it is %+v", stored)
	}
}

func testSiteDomainRace(t *testing.T, s Stores) {
	ids := make([]account.ID, 16)
	for i := range ids {
		ids[i] = create(t, s.Accounts, person(numbered("user", i))).ID
		addSite(t, s, ids[i], "shop.example.com")
	}
	errs := atOnce(len(ids), func(i int) error {
		_, err := s.Accounts.ProveSiteDomain(t.Context(), ids[i], "shop.example.com", noon)
		return err
	})
	won := winners(t, errs, func(err error) bool {
		var taken *account.Taken
		return errors.As(err, &taken)
	})
	if len(won) != 1 {
		t.Errorf("%d accounts have it", len(won))
	}
}

func testCertificateOrders(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	proveSite(t, s, ada.ID, noon, "a.example.com", "b.example.com", "c.example.com")
	proveSite(t, s, bob.ID, noon, "d.example.com", "e.example.com")
	addSite(t, s, bob.ID, "unproven.example.com")
	most := account.OrderLimits{PerHour: 4, NewPerDay: 2}
	begin := func(domain string, after time.Duration, renewal bool, want error) {
		t.Helper()
		err := s.Accounts.BeginOrder(t.Context(), account.CertificateOrder{Domain: domain, At: noon.Add(after), Renewal: renewal}, most)
		if !errors.Is(err, want) {
			t.Errorf("%s after %s: %v, want %v", domain, after, err, want)
		}
	}
	begin("unproven.example.com", 0, false, account.ErrNotFound)
	begin("nobody.example.com", 0, false, account.ErrNotFound)
	begin("a.example.com", 0, false, nil)
	begin("a.example.com", time.Hour-time.Microsecond, false, account.ErrTooManyOrders) // too soon
	begin("a.example.com", time.Hour-time.Microsecond, true, account.ErrTooManyOrders)
	begin("a.example.com", time.Hour, false, nil)
	begin("b.example.com", time.Hour, false, nil)
	begin("c.example.com", 2*time.Hour, false, account.ErrTooManyOrders) // a third one of the day
	begin("a.example.com", 3*time.Hour, false, nil)                      // counts once
	begin("c.example.com", 3*time.Hour, true, nil)
	begin("d.example.com", 3*time.Hour, false, nil) // another account's
	begin("b.example.com", 3*time.Hour, true, nil)
	begin("e.example.com", 3*time.Hour, true, account.ErrTooManyOrders) // too many of all
	begin("e.example.com", 4*time.Hour, true, nil)

	// What was removed and proved again has not been forgotten.
	must(t, s.Accounts.RemoveSiteDomain(t.Context(), ada.ID, "a.example.com"))
	proveSite(t, s, ada.ID, noon, "a.example.com", "f.example.com", "g.example.com")
	begin("a.example.com", 3*time.Hour+time.Minute, false, account.ErrTooManyOrders)
	begin("f.example.com", 5*time.Hour, false, nil)
	begin("g.example.com", 5*time.Hour, false, account.ErrTooManyOrders)
	begin("g.example.com", 3*time.Hour+account.OrdersCounted, false, nil)
}
