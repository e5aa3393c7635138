package account

import (
	"context"
	"errors"
	"strings"

	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/hostname"
)

// AddDomain puts an entry on the account's whitelist, or changes whether it is
// for published scripts only.
func (s *Service) AddDomain(ctx context.Context, name, entry string, publishedOnly bool) (Domain, error) {
	p, err := s.parseEntry(entry)
	if err != nil {
		return Domain{}, err
	}
	d := Domain{Pattern: p, PublishedOnly: publishedOnly, Added: s.now()}
	err = s.with(ctx, name, func(a Account) error {
		d.Account = a.ID
		return s.store.AddDomain(ctx, d)
	})
	return d, err
}

// parseEntry reads an entry of a whitelist.
func (s *Service) parseEntry(entry string) (names.Pattern, error) {
	p, err := names.ParsePattern(entry, s.o.Dev)
	if err != nil {
		return p, fault.Invalid("domain", "%v", err)
	}
	if p.IsPublicSuffix() {
		host := strings.TrimPrefix(p.Host, "*.")
		return p, fault.Invalid("domain", "%s is nobody's own: anybody may have a domain below %s, so an entry names one, such as shop.%[2]s or *.shop.%[2]s", p.Host, host)
	}
	return p, nil
}

// RemoveDomain takes an entry off the account's whitelist.
func (s *Service) RemoveDomain(ctx context.Context, name, entry string) error {
	// What was listed with --dev may be removed without.
	p, err := names.ParsePattern(entry, true)
	if err != nil {
		return fault.Invalid("domain", "%v", err)
	}
	return s.with(ctx, name, func(a Account) error {
		return missing(s.store.RemoveDomain(ctx, a.ID, p), "the account's list has no %s", p)
	})
}

// Domains returns the account's whitelist.
func (s *Service) Domains(ctx context.Context, name string) ([]Domain, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.store.Domains(ctx, a.ID)
}

// Match finds the entry that an origin falls under: the one of its very host,
// or else the wildcard closest above it.
func Match(entries []Domain, o hostname.Origin) (Domain, bool) {
	var best Domain
	found := false
	for _, d := range entries {
		if !d.Pattern.Matches(o) {
			continue
		}
		if !found || d.Pattern.Host == o.Host || best.Pattern.Host != o.Host && len(d.Pattern.Host) > len(best.Pattern.Host) {
			best, found = d, true
		}
	}
	return best, found
}

// missing gives a code to what a store answers about a thing of an account.
func missing(err error, format string, args ...any) error {
	if errors.Is(err, ErrNotFound) {
		return fault.New(fault.NotFound, format, args...)
	}
	return err
}
