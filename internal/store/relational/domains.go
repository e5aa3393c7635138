package relational

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/audit"
)

const domainColumns = "account, scheme, host, port, published_only, added"

func readDomain(r row) account.Domain {
	return account.Domain{
		Account:       account.ID(r.int(0)),
		Pattern:       names.Pattern{Scheme: r.text(1), Host: r.text(2), Port: uint16(r.int(3))},
		PublishedOnly: r.bool(4),
		Added:         r.time(5),
	}
}

// backwards returns a host, which is ASCII, from its end to its start.
func backwards(host string) string {
	b := []byte(host)
	slices.Reverse(b)
	return string(b)
}

// addDomain adds an entry, or changes one of the same account, where it covers none
// of another.
const addDomain = `INSERT INTO domains (account, scheme, host, port, reversed, published_only, added) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
	WHERE NOT EXISTS (SELECT 1 FROM domains WHERE reversed >= ?8 AND reversed < ?9 AND account <> ?1)
	ON CONFLICT (account, scheme, host, port) DO UPDATE SET published_only = excluded.published_only`

// AddDomain implements account.Domains.
func (s Accounts) AddDomain(ctx context.Context, d account.Domain) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(d.Account)()
		if err := t.requireAccount(d.Account); err != nil {
			return err
		}
		if err := t.addDomain(d); err != nil {
			return err
		}
		if _, err := t.dropRequest(d.Account, d.Pattern); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: d.Account, Act: audit.DomainAdded, On: d.Pattern.String()})
	})
}

// addDomain puts an entry on an account's list.
func (t tx) addDomain(d account.Domain) error {
	for _, covering := range names.HostKeys(d.Pattern.Host) {
		taken, err := t.has("SELECT 1 FROM domains WHERE host = ? AND account <> ?", covering, int64(d.Account))
		if err == nil && taken {
			err = &account.Taken{Field: "domain"}
		}
		if err != nil {
			return err
		}
	}
	var from, to string // nothing lies between
	if above, isWildcard := strings.CutPrefix(d.Pattern.Host, "*"); isWildcard {
		// All that starts with "moc.elpmaxe." comes before "moc.elpmaxe/".
		from = backwards(above)
		to = from[:len(from)-1] + string(rune('.'+1))
	}
	n, err := t.exec(addDomain, int64(d.Account), d.Pattern.Scheme, d.Pattern.Host, int64(d.Pattern.Port), backwards(d.Pattern.Host), d.PublishedOnly, d.Added.UnixMicro(),
		from, to)
	if err == nil && n == 0 {
		err = &account.Taken{Field: "domain"}
	}
	return err
}

// RemoveDomain implements account.Domains.
func (s Accounts) RemoveDomain(ctx context.Context, id account.ID, p names.Pattern) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		requested, err := t.dropRequest(id, p)
		if err != nil {
			return err
		}
		n, err := t.exec("DELETE FROM domains WHERE account = ? AND scheme = ? AND host = ? AND port = ?", int64(id), p.Scheme, p.Host, int64(p.Port))
		if err == nil && n == 0 && !requested {
			err = account.ErrNotFound
		}
		if err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: id, Act: audit.DomainRemoved, On: p.String()})
	})
}

// RequestDomain implements account.Domains.
func (s Accounts) RequestDomain(ctx context.Context, d account.Domain, most int) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.requireAccount(d.Account); err != nil {
			return err
		}
		id, p := int64(d.Account), d.Pattern
		n, err := t.exec("UPDATE domain_claims SET published_only = ? WHERE account = ? AND scheme = ? AND host = ? AND port = ?", d.PublishedOnly, id, p.Scheme, p.Host, int64(p.Port))
		if err != nil || n > 0 {
			return err
		}
		others := 0
		if _, err := t.one("SELECT (SELECT count(*) FROM domains WHERE account = ?1) + (SELECT count(*) FROM domain_claims WHERE account = ?1)",
			func(r row) { others = int(r.int(0)) }, id); err != nil {
			return err
		}
		if most > 0 && others >= most {
			return account.ErrTooManyDomains
		}
		if _, err := t.exec("INSERT INTO domain_claims (account, scheme, host, port, published_only, added) VALUES (?, ?, ?, ?, ?, ?)",
			id, p.Scheme, p.Host, int64(p.Port), d.PublishedOnly, d.Added.UnixMicro()); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: d.Account, Act: audit.DomainRequested, On: p.String()})
	})
}

// dropRequest removes a request, and reports whether there was one.
func (t tx) dropRequest(id account.ID, p names.Pattern) (bool, error) {
	if t.conn.Old.NoRequests {
		return false, nil
	}
	n, err := t.exec("DELETE FROM domain_claims WHERE account = ? AND scheme = ? AND host = ? AND port = ?", int64(id), p.Scheme, p.Host, int64(p.Port))
	return n > 0, err
}

// RequestedDomains implements account.Domains.
func (s Accounts) RequestedDomains(ctx context.Context, id account.ID) (list []account.Domain, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+domainColumns+" FROM domain_claims WHERE account = ?", func(r row) { list = append(list, readDomain(r)) }, int64(id))
	})
	slices.SortFunc(list, func(a, b account.Domain) int { return cmp.Compare(a.Pattern.String(), b.Pattern.String()) })
	return list, err
}

// ProveDomain implements account.Domains.
func (s Accounts) ProveDomain(ctx context.Context, id account.ID, p names.Pattern) (d account.Domain, err error) {
	err = s.store.write(ctx, func(t tx) error {
		found, err := t.one("SELECT "+domainColumns+" FROM domain_claims WHERE account = ? AND scheme = ? AND host = ? AND port = ?",
			func(r row) { d = readDomain(r) }, int64(id), p.Scheme, p.Host, int64(p.Port))
		if err == nil && !found {
			err = account.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := t.addDomain(d); err != nil {
			return err
		}
		if _, err := t.dropRequest(id, p); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: id, Act: audit.DomainProven, On: p.String()})
	})
	return d, err
}

// Domains implements account.Domains.
func (s Accounts) Domains(ctx context.Context, id account.ID) (list []account.Domain, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+domainColumns+" FROM domains WHERE account = ?", func(r row) { list = append(list, readDomain(r)) }, int64(id))
	})
	slices.SortFunc(list, func(a, b account.Domain) int { return cmp.Compare(a.Pattern.String(), b.Pattern.String()) })
	return list, err
}

// DomainsOf implements account.Domains.
func (s Accounts) DomainsOf(ctx context.Context, host string) (list []account.Domain, err error) {
	err = s.store.read(ctx, func(t tx) error {
		for _, key := range names.HostKeys(host) {
			if err := t.each("SELECT "+domainColumns+" FROM domains WHERE host = ?", func(r row) { list = append(list, readDomain(r)) }, key); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
