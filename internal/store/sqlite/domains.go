package sqlite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"ql/internal/account"
)

const domainColumns = "account, scheme, host, port, published_only, added"

func readDomain(r row) account.Domain {
	return account.Domain{
		Account:       account.ID(r.int(0)),
		Pattern:       account.Pattern{Scheme: r.text(1), Host: r.text(2), Port: uint16(r.int(3))},
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

// AddDomain implements account.Domains.
func (s Accounts) AddDomain(ctx context.Context, d account.Domain) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.requireAccount(d.Account); err != nil {
			return err
		}
		taken, err := t.isDomainOfAnother(d)
		if err != nil {
			return err
		}
		if taken {
			return &account.Taken{Field: "domain"}
		}
		_, err = t.exec(`INSERT INTO domains (account, scheme, host, port, reversed, published_only, added) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (account, scheme, host, port) DO UPDATE SET published_only = excluded.published_only`,
			int64(d.Account), d.Pattern.Scheme, d.Pattern.Host, int64(d.Pattern.Port), backwards(d.Pattern.Host), d.PublishedOnly, d.Added.UnixMicro())
		return err
	})
}

// isDomainOfAnother reports whether an entry overlaps one of another account.
func (t tx) isDomainOfAnother(d account.Domain) (bool, error) {
	for _, key := range account.HostKeys(d.Pattern.Host) {
		taken, err := t.has("SELECT 1 FROM domains WHERE host = ? AND account <> ?", key, int64(d.Account))
		if err != nil || taken {
			return taken, err
		}
	}
	above, isWildcard := strings.CutPrefix(d.Pattern.Host, "*")
	if !isWildcard {
		return false, nil
	}
	// All that starts with "moc.elpmaxe." comes before "moc.elpmaxe/".
	from := backwards(above)
	to := from[:len(from)-1] + string(rune('.'+1))
	return t.has("SELECT 1 FROM domains WHERE reversed >= ? AND reversed < ? AND account <> ?", from, to, int64(d.Account))
}

// RemoveDomain implements account.Domains.
func (s Accounts) RemoveDomain(ctx context.Context, id account.ID, p account.Pattern) error {
	return s.change(ctx, "DELETE FROM domains WHERE account = ? AND scheme = ? AND host = ? AND port = ?", int64(id), p.Scheme, p.Host, int64(p.Port))
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
		for _, key := range account.HostKeys(host) {
			if err := t.each("SELECT "+domainColumns+" FROM domains WHERE host = ?", func(r row) { list = append(list, readDomain(r)) }, key); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
