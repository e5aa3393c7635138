package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

const (
	siteDomainColumns = "site_domains.account, site_domains.domain, site_domains.added, site_domains.proven, site_domains.checked, site_domains.missing"
	oneSiteDomain     = "SELECT " + siteDomainColumns + " FROM site_domains WHERE account = ? AND domain = ?"
)

func readSiteDomain(r row, at int) account.SiteDomain {
	return account.SiteDomain{
		Account: account.ID(r.int(at)), Domain: r.text(at + 1), Added: r.time(at + 2),
		Proven: r.time(at + 3), Checked: r.time(at + 4), Missing: r.time(at + 5),
	}
}

// AddSiteDomain implements account.SiteDomains.
func (s Accounts) AddSiteDomain(ctx context.Context, d account.SiteDomain, most int) (stored account.SiteDomain, err error) {
	err = s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(d.Account)()
		if err := t.requireAccount(d.Account); err != nil {
			return err
		}
		found, err := t.one(oneSiteDomain, func(r row) { stored = readSiteDomain(r, 0) }, int64(d.Account), d.Domain)
		if err != nil || found {
			return err
		}
		others := 0
		if _, err := t.one("SELECT count(*) FROM site_domains WHERE account = ?", func(r row) { others = int(r.int(0)) }, int64(d.Account)); err != nil {
			return err
		}
		if most > 0 && others >= most {
			return account.ErrTooManyDomains
		}
		if _, err := t.exec("INSERT INTO site_domains (account, domain, added) VALUES (?, ?, ?)", int64(d.Account), d.Domain, d.Added.UnixMicro()); err != nil {
			return err
		}
		stored = account.SiteDomain{Account: d.Account, Domain: d.Domain, Added: d.Added}
		return t.audit(ctx, audit.Event{Account: d.Account, Act: audit.SiteDomainRequested, On: d.Domain})
	})
	return stored, err
}

// RemoveSiteDomain implements account.SiteDomains.
func (s Accounts) RemoveSiteDomain(ctx context.Context, id account.ID, domain string) error {
	return s.auditChange(ctx, audit.Event{Account: id, Act: audit.SiteDomainRemoved, On: domain},
		"DELETE FROM site_domains WHERE account = ? AND domain = ?", int64(id), domain)
}

// SiteDomains implements account.SiteDomains.
func (s Accounts) SiteDomains(ctx context.Context, id account.ID) (list []account.SiteDomain, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+siteDomainColumns+" FROM site_domains WHERE account = ? ORDER BY domain", func(r row) { list = append(list, readSiteDomain(r, 0)) }, int64(id))
	})
	return list, err
}

// ProveSiteDomain implements account.SiteDomains.
func (s Accounts) ProveSiteDomain(ctx context.Context, id account.ID, domain string, now time.Time) (d account.SiteDomain, err error) {
	err = s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		found, err := t.one(oneSiteDomain, func(r row) { d = readSiteDomain(r, 0) }, int64(id), domain)
		if err == nil && !found {
			err = account.ErrNotFound
		}
		if err != nil {
			return err
		}
		isNew := d.Proven.IsZero()
		if isNew {
			d.Proven = now
		}
		d.Checked, d.Missing = now, time.Time{}
		_, err = t.exec("UPDATE site_domains SET proven = ?, checked = ?, missing = NULL WHERE account = ? AND domain = ?", d.Proven, d.Checked, int64(id), domain)
		switch {
		case isDuplicate(err):
			return &account.Taken{Field: "domain"}
		case err != nil || !isNew:
			return err
		}
		return t.audit(ctx, audit.Event{Account: id, Act: audit.SiteDomainProven, On: domain})
	})
	return d, err
}

// BySiteDomain implements account.SiteDomains.
func (s Accounts) BySiteDomain(ctx context.Context, domain string) (a account.Account, d account.SiteDomain, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT "+accountColumns+", "+siteDomainColumns+" FROM site_domains JOIN accounts ON accounts.id = account WHERE domain = ? AND proven IS NOT NULL", func(r row) {
			a, d = readAccount(r), readSiteDomain(r, accountColumnCount)
		}, domain)
		if err == nil && !found {
			err = account.ErrNotFound
		}
		return err
	})
	return a, d, err
}

// DueSiteDomains implements account.SiteDomains.
func (s Accounts) DueSiteDomains(ctx context.Context, found, missing time.Time, limit int) (list []account.SiteDomain, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+siteDomainColumns+" FROM site_domains WHERE proven IS NOT NULL AND checked <= ?2 AND (missing IS NOT NULL OR checked <= ?1) ORDER BY checked LIMIT ?3",
			func(r row) { list = append(list, readSiteDomain(r, 0)) }, found, missing, limit)
	})
	return list, err
}

// RecordSiteProof implements account.SiteDomains.
func (s Accounts) RecordSiteProof(ctx context.Context, d account.SiteDomain, before time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(d.Account)()
		n, err := t.exec("UPDATE site_domains SET proven = ?, checked = ?, missing = ? WHERE account = ? AND domain = ? AND checked = ? AND proven IS NOT NULL",
			d.Proven, d.Checked, d.Missing, int64(d.Account), d.Domain, before)
		switch {
		case err != nil:
			return err
		case n == 0:
			return account.ErrConflict
		case !d.Proven.IsZero():
			return nil
		}
		return t.audit(ctx, audit.Event{Account: d.Account, Act: audit.SiteDomainLost, On: d.Domain})
	})
}

// BeginOrder implements account.SiteDomains.
func (s Accounts) BeginOrder(ctx context.Context, o account.CertificateOrder, most account.OrderLimits) error {
	return s.store.write(ctx, func(t tx) error {
		var id, last, hour, day int64
		ago := func(d time.Duration) int64 { return o.At.Add(-d).UnixMicro() }
		found, err := t.one(`SELECT account, coalesce((SELECT at FROM certificate_orders WHERE domain = ?1), 0),
				(SELECT count(*) FROM certificate_orders WHERE at > ?2),
				(SELECT count(*) FROM certificate_orders WHERE account = site_domains.account AND renewal = 0 AND at > ?3 AND domain <> ?1)
			FROM site_domains WHERE domain = ?1 AND proven IS NOT NULL`,
			func(r row) { id, last, hour, day = r.int(0), r.int(1), r.int(2), r.int(3) }, o.Domain, ago(time.Hour), ago(account.OrdersCounted))
		switch {
		case err != nil:
			return err
		case !found:
			return account.ErrNotFound
		case last > ago(time.Hour), hour >= int64(most.PerHour), !o.Renewal && day >= int64(most.NewPerDay):
			return account.ErrTooManyOrders
		}
		if _, err := t.exec("DELETE FROM certificate_orders WHERE at <= ?", ago(account.OrdersCounted)); err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO certificate_orders (domain, account, at, renewal) VALUES (?, ?, ?, ?) ON CONFLICT (domain) DO UPDATE SET account = excluded.account, at = excluded.at, renewal = excluded.renewal",
			o.Domain, id, o.At.UnixMicro(), o.Renewal)
		return err
	})
}
