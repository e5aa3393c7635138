package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/admit"
	"ql/internal/domainproof"
	"ql/internal/fault"
	"ql/internal/wire"
)

// Domains are the lists of domains whose pages may call as accounts. Accounts are named by their
// usernames; errors are coded.
type Domains interface {
	OwnDomains(ctx context.Context, name string) ([]account.OwnDomain, error)
	RequestDomain(ctx context.Context, name, entry string, publishedOnly bool) (account.OwnDomain, error)
	FindDomain(ctx context.Context, name, id string) (account.OwnDomain, error)
	DropDomain(ctx context.Context, name, id string) error
	AcceptDomain(ctx context.Context, d account.OwnDomain) (account.OwnDomain, error)
}

// DomainListing are the domains of an account.
type DomainListing struct {
	Meta
	Domains []wire.DomainEntry
}

// DomainAnswer is one domain of an account.
type DomainAnswer struct {
	Meta
	Domain wire.DomainEntry
}

func domainEntry(d *account.OwnDomain) wire.DomainEntry {
	e := wire.DomainEntry{ID: d.ID, Domain: d.Pattern.String(), PublishedOnly: d.PublishedOnly, Proven: d.Proven, AddedAt: d.Added}
	if !d.Proven {
		e.Proof = &wire.DomainProof{Record: d.Proof.Record, URL: d.Proof.URL, Value: d.Proof.Value}
	}
	return e
}

// domainEntries is how many entries of a listing a domain takes.
const domainEntries = 3

// Domains lists the domains of an account, those first that are proved.
func (s *Service) Domains(ctx context.Context, c Caller, p *Credentials) (DomainListing, error) {
	_, owner, meta, err := s.openAccount(ctx, c, p, access{"domains", passwordOrName, scope.Manage})
	l := DomainListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, domainEntries*owner.Account.Limits(s.o.Limits).Domains); err != nil {
		return l, err
	}
	domains, err := s.o.Domains.OwnDomains(ctx, owner.Account.Username)
	for i := range domains {
		l.Domains = append(l.Domains, domainEntry(&domains[i]))
	}
	return l, err
}

// AddDomain lists a domain once it is proved, and says how.
func (s *Service) AddDomain(ctx context.Context, c Caller, p *Credentials, n wire.NewDomain) (DomainAnswer, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "domains")
	if err != nil {
		return DomainAnswer{Meta: meta}, err
	}
	d, err := s.o.Domains.RequestDomain(ctx, owner.Account.Username, n.Domain, n.PublishedOnly)
	return DomainAnswer{meta, domainEntry(&d)}, err
}

// RemoveDomain takes a domain off the list: no call of its pages that begins after the answer is let
// in.
func (s *Service) RemoveDomain(ctx context.Context, c Caller, p *Credentials, id string) (Meta, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "domains")
	if err != nil {
		return meta, err
	}
	return meta, s.o.Domains.DropDomain(ctx, owner.Account.Username, id)
}

// proofsPerMinute is how often an account may have domains asked for proofs.
const proofsPerMinute = 10

// ProveDomain looks for the proof of a domain, and puts it on the list where it is there.
func (s *Service) ProveDomain(ctx context.Context, c Caller, p *Credentials, id string) (DomainAnswer, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "domains")
	a := DomainAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	d, err := s.o.Domains.FindDomain(ctx, owner.Account.Username, id)
	if err != nil {
		return a, err
	}
	if !d.Proven {
		if d, err = s.prove(ctx, &owner, d); err != nil {
			return a, err
		}
	}
	a.Domain = domainEntry(&d)
	return a, nil
}

// countProof counts that an account has a domain asked.
func (s *Service) countProof(owner *caller) error {
	const rate = "proofs"
	v := s.o.Limiter.Allow(admit.ByAccount(rate, int64(owner.Account.ID)), admit.Rate{Name: rate, Count: proofsPerMinute, Per: time.Minute})
	return v.Err()
}

func errProofsBusy() error {
	return fault.Retryable(fault.Overloaded, time.Second, "too many domains are being proved at once: try again in a moment")
}

func (s *Service) prove(ctx context.Context, owner *caller, d account.OwnDomain) (account.OwnDomain, error) {
	if err := s.countProof(owner); err != nil {
		return d, err
	}
	found, err := s.o.CheckDomain(ctx, d.Proof.Record, d.Proof.URL, d.Proof.Value)
	switch {
	case errors.Is(err, domainproof.ErrBusy):
		return d, errProofsBusy()
	case err != nil:
		return d, err
	case !found:
		return d, fault.New(fault.DomainNotProven, "%s is not proved yet: neither a TXT record of %s nor the file %s has %s", d.Pattern, d.Proof.Record, d.Proof.URL, d.Proof.Value)
	}
	return s.o.Domains.AcceptDomain(ctx, d)
}
