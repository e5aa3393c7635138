package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"ql/internal/fault"
	"ql/internal/hostname"
)

const (
	siteRecord = "_ql."
	sitePrefix = "ql-site="

	// proofEvery is how often the proof of a domain is looked for again, missingEvery how often one
	// that was not found, and proofGrace how long it may be missing before the domain is lost.
	proofEvery   = 7 * 24 * time.Hour
	missingEvery = 24 * time.Hour
	proofGrace   = 7 * 24 * time.Hour
)

// certificates are for how many domains of sites they are ordered: fewer than authorities allow a server,
// so that those of the service itself can be renewed. Let's Encrypt takes 300 orders in 3 hours, and a
// domain that leads elsewhere takes two.
var certificates = OrderLimits{PerHour: 45, NewPerDay: 5}

// SiteDomainState is how it stands with a domain of a site.
type SiteDomainState string

// The states.
const (
	SiteDomainRequested SiteDomainState = "requested" // to be proved
	SiteDomainProven    SiteDomainState = "proven"
	SiteDomainMissing   SiteDomainState = "missing" // proved, and the proof is not found any more
	SiteDomainLost      SiteDomainState = "lost"    // it was not found for too long
)

// OwnSiteDomain is a domain of a site as the owner of the account sees it.
type OwnSiteDomain struct {
	SiteDomain
	Record string // the name of the TXT record that proves it
	Value  string // of the record, the account's alone
}

// State is how it stands with the domain.
func (d *OwnSiteDomain) State() SiteDomainState {
	switch isMissing := !d.Missing.IsZero(); {
	case d.Proven.IsZero() && isMissing:
		return SiteDomainLost
	case d.Proven.IsZero():
		return SiteDomainRequested
	case isMissing:
		return SiteDomainMissing
	}
	return SiteDomainProven
}

// LooksUp tells whether a record has a value. An error says that it could not be found out.
type LooksUp func(ctx context.Context, record, value string) (bool, error)

func (s *Service) ownSiteDomain(d SiteDomain) OwnSiteDomain {
	return OwnSiteDomain{SiteDomain: d, Record: siteRecord + d.Domain, Value: sitePrefix + s.vault.Token(int64(d.Account), "site "+d.Domain)}
}

// parseSiteDomain reads the domain of a site, which is one of its owner's.
func (s *Service) parseSiteDomain(text string) (string, error) {
	domain, err := hostname.ParseDomain(strings.TrimSuffix(text, "."))
	if err != nil || !strings.Contains(domain, ".") || strings.HasSuffix(domain, ".localhost") || len(siteRecord+domain) > maxDomain {
		return "", fault.Invalid("domain", "%q is no domain such as shop.example.com: it is written in full, and has no scheme, port or path", text)
	}
	if suffix, _ := publicsuffix.PublicSuffix(domain); suffix == domain {
		return "", fault.Invalid("domain", "%s is nobody's own: anybody may have a domain below it, such as shop.%[1]s", domain)
	}
	for _, own := range s.o.OwnHosts {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return "", fault.Invalid("domain", "%s is a host of this service, or below one: a site has a domain of its owner's", domain)
		}
	}
	return domain, nil
}

// maxDomain is how long a name in the DNS can be.
const maxDomain = 253

// RequestSiteDomain has the account's site served at a domain once it is proved; where one person alone
// uses the service, at once. Of a domain that the account has it changes nothing.
func (s *Service) RequestSiteDomain(ctx context.Context, name, domain string) (OwnSiteDomain, error) {
	var d SiteDomain
	domain, err := s.parseSiteDomain(domain)
	if err != nil {
		return OwnSiteDomain{}, err
	}
	err = s.with(ctx, name, func(a Account) (err error) {
		most := a.Limits(s.o.Limits).Domains
		d, err = s.store.AddSiteDomain(ctx, SiteDomain{Account: a.ID, Domain: domain, Added: s.now()}, most)
		if errors.Is(err, ErrTooManyDomains) {
			f := fault.New(fault.LimitExceeded, "the account's site has %d domains, which is as many as its plan allows: remove one first", most)
			f.Limit, f.Value = "domains", int64(most)
			return f
		}
		if err == nil && s.o.Dev && d.Proven.IsZero() {
			d, err = s.store.ProveSiteDomain(ctx, a.ID, domain, s.now())
		}
		return err
	})
	return s.ownSiteDomain(d), err
}

// SiteDomains returns the domains of the account's site.
func (s *Service) SiteDomains(ctx context.Context, name string) ([]OwnSiteDomain, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	domains, err := s.store.SiteDomains(ctx, a.ID)
	list := make([]OwnSiteDomain, 0, len(domains))
	for _, d := range domains {
		list = append(list, s.ownSiteDomain(d))
	}
	return list, err
}

// findSiteDomain returns a domain of the account's site.
func (s *Service) findSiteDomain(ctx context.Context, name, domain string) (OwnSiteDomain, error) {
	list, err := s.SiteDomains(ctx, name)
	if err != nil {
		return OwnSiteDomain{}, err
	}
	canonical, err := hostname.ParseDomain(strings.TrimSuffix(domain, "."))
	for _, d := range list {
		if err == nil && d.Domain == canonical {
			return d, nil
		}
	}
	return OwnSiteDomain{}, noSiteDomain(domain)
}

func noSiteDomain(domain string) error {
	return fault.New(fault.NotFound, "the account's site has no domain %q", domain)
}

// RemoveSiteDomain has the account's site served at a domain no more.
func (s *Service) RemoveSiteDomain(ctx context.Context, name, domain string) error {
	d, err := s.findSiteDomain(ctx, name, domain)
	if err != nil {
		return err
	}
	return missing(s.store.RemoveSiteDomain(ctx, d.Account, d.Domain), "the account's site has no domain %q", domain)
}

// ProveSiteDomain looks for the proof of a domain. Where another account has the domain, its proof is
// looked for too: it is that account's until the proof has been missing for long enough.
func (s *Service) ProveSiteDomain(ctx context.Context, name, domain string, look LooksUp) (OwnSiteDomain, error) {
	d, err := s.findSiteDomain(ctx, name, domain)
	if err != nil {
		return d, err
	}
	found := s.o.Dev // where domains need no proof
	if !found {
		found, err = look(ctx, d.Record, d.Value)
	}
	switch {
	case err != nil:
		return d, err
	case !found:
		return d, fault.New(fault.DomainNotProven, "%s is not proved yet: no TXT record of %s has %s", d.Domain, d.Record, d.Value)
	}
	proven, err := s.store.ProveSiteDomain(ctx, d.Account, d.Domain, s.now())
	var taken *Taken
	if errors.As(err, &taken) {
		if err := s.contest(ctx, d.Domain, look); err != nil {
			return d, err
		}
		proven, err = s.store.ProveSiteDomain(ctx, d.Account, d.Domain, s.now())
	}
	if err != nil {
		return d, s.refused(missing(err, "the account's site has no domain %q", domain), "")
	}
	return s.ownSiteDomain(proven), nil
}

// contest looks for the proof of the account that has a domain, and says why it has it still.
func (s *Service) contest(ctx context.Context, domain string, look LooksUp) error {
	_, holder, err := s.store.BySiteDomain(ctx, domain)
	if errors.Is(err, ErrNotFound) {
		return nil // since a moment ago
	}
	if err != nil {
		return err
	}
	holder, err = s.checkSiteDomain(ctx, holder, look)
	switch {
	case err != nil:
		return err
	case holder.Proven.IsZero():
		return nil
	case holder.Missing.IsZero():
		return fault.Invalid("domain", "%s belongs to another account, whose value is in the record too: it is free 7 days after that value is gone", domain)
	}
	return fault.Invalid("domain", "%s belongs to another account, whose value is gone from the record: it is free at %s", domain, holder.Missing.Add(proofGrace).UTC().Format(time.RFC3339))
}

// checkSiteDomain looks for the proof of a domain that was proved, and stores what came of it.
func (s *Service) checkSiteDomain(ctx context.Context, d SiteDomain, look LooksUp) (SiteDomain, error) {
	own, before := s.ownSiteDomain(d), d.Checked
	found, err := look(ctx, own.Record, own.Value)
	if err != nil && ctx.Err() != nil {
		return d, err
	}
	d.Checked = s.now()
	switch {
	case err != nil: // whoever is at fault, nothing is known
	case found:
		d.Missing = time.Time{}
	case d.Missing.IsZero():
		d.Missing = d.Checked
	case d.Checked.Sub(d.Missing) >= proofGrace:
		d.Proven = time.Time{}
	}
	err = s.store.RecordSiteProof(ctx, d, before)
	if errors.Is(err, ErrConflict) {
		err = nil // somebody else has found out
	}
	return d, err
}

// How many proofs are looked for again at a time, and how long that may take.
const (
	mostProofs = 500
	proofsTime = time.Minute
)

// CheckSites returns what looks again for the proofs of domains that are due; what it does not get to is
// due the next time.
func (s *Service) CheckSites(look LooksUp) func(ctx context.Context, now time.Time) error {
	return func(ctx context.Context, now time.Time) error {
		if s.o.Dev { // where domains need none
			return nil
		}
		due, err := s.store.DueSiteDomains(ctx, now.Add(-proofEvery), now.Add(-missingEvery), mostProofs)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, proofsTime)
		defer cancel()
		for _, d := range due {
			if _, err := s.checkSiteDomain(limited, d, look); err != nil {
				if limited.Err() != nil && ctx.Err() == nil {
					return nil
				}
				return err
			}
		}
		return nil
	}
}

// HasSite tells whether a domain is proved by an account that may be called.
func (s *Service) HasSite(ctx context.Context, domain string) (bool, error) {
	a, _, err := s.store.BySiteDomain(ctx, domain)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && !a.Disabled, err
}

// OrderCertificate counts that a certificate is ordered for the domain of a site. The error says why it
// must not be.
func (s *Service) OrderCertificate(ctx context.Context, domain string, renewal bool) error {
	return s.store.BeginOrder(ctx, CertificateOrder{Domain: domain, At: s.now(), Renewal: renewal}, certificates)
}
