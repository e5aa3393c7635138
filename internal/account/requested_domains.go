package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"ql/internal/account/names"
	"ql/internal/fault"
)

// OwnDomain is a domain as the owner of an account sees it: an entry of the list, or one that is to
// be proved first.
type OwnDomain struct {
	Domain
	ID     string
	Proven bool
	Proof  Proof // where Proven is false
}

// Proof is what shows that whoever lists a domain may speak for it: a value in a record of its DNS, or
// in a file of its site. The value is the account's alone.
type Proof struct {
	Record string // the name of a TXT record
	URL    string // of a file
	Value  string
}

const (
	proofRecord = "_ql-domain."
	proofPath   = "/.well-known/ql-domain"
	proofPrefix = "ql-domain="
	domainID    = 16 // digits
)

// DomainID names an entry of an account's list.
func DomainID(p names.Pattern) string {
	sum := sha256.Sum256([]byte(p.String()))
	return hex.EncodeToString(sum[:])[:domainID]
}

// proof is how the owner of an account proves an entry. That of a wildcard is at the domain above.
func (s *Service) proof(id ID, p names.Pattern) Proof {
	at := p
	at.Host = strings.TrimPrefix(p.Host, "*.")
	return Proof{Record: proofRecord + at.Host, URL: at.String() + proofPath, Value: proofPrefix + s.vault.Token(int64(id), "domain "+p.String())}
}

func (s *Service) ownDomain(d Domain, proven bool) OwnDomain {
	o := OwnDomain{Domain: d, ID: DomainID(d.Pattern), Proven: proven}
	if !proven {
		o.Proof = s.proof(d.Account, d.Pattern)
	}
	return o
}

// OwnDomains returns the account's list, and then what is to be proved.
func (s *Service) OwnDomains(ctx context.Context, name string) ([]OwnDomain, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	var list []OwnDomain
	entries, err := s.store.Domains(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range entries {
		list = append(list, s.ownDomain(d, true))
	}
	requests, err := s.store.RequestedDomains(ctx, a.ID)
	for _, d := range requests {
		list = append(list, s.ownDomain(d, false))
	}
	return list, err
}

// RequestDomain puts an entry on the account's list once it is proved. Where one person alone uses the
// service, it is there at once; so is a change of one that is.
func (s *Service) RequestDomain(ctx context.Context, name, entry string, publishedOnly bool) (OwnDomain, error) {
	p, err := s.parseEntry(entry)
	if err != nil {
		return OwnDomain{}, err
	}
	d := Domain{Pattern: p, PublishedOnly: publishedOnly, Added: s.now()}
	proven := s.o.Dev
	err = s.with(ctx, name, func(a Account) error {
		d.Account = a.ID
		entries, err := s.store.Domains(ctx, a.ID)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Pattern == p {
				proven, d.Added = true, e.Added
			}
		}
		if proven {
			return s.store.AddDomain(ctx, d)
		}
		most := a.Limits(s.o.Limits).Domains
		err = s.store.RequestDomain(ctx, d, most)
		if errors.Is(err, ErrTooManyDomains) {
			f := fault.New(fault.LimitExceeded, "the account lists %d domains, which is as many as its plan allows: remove one first", most)
			f.Limit, f.Value = "domains", int64(most)
			return f
		}
		return err
	})
	return s.ownDomain(d, proven), err
}

// FindDomain returns an entry of the account's list, or one that is to be proved, by its ID.
func (s *Service) FindDomain(ctx context.Context, name, id string) (OwnDomain, error) {
	list, err := s.OwnDomains(ctx, name)
	if err != nil {
		return OwnDomain{}, err
	}
	for _, d := range list {
		if d.ID == id {
			return d, nil
		}
	}
	return OwnDomain{}, fault.New(fault.NotFound, "the account lists no domain of this id")
}

// DropDomain takes an entry off the account's list, or one that is to be proved, by its ID.
func (s *Service) DropDomain(ctx context.Context, name, id string) error {
	d, err := s.FindDomain(ctx, name, id)
	if err != nil {
		return err
	}
	return missing(s.store.RemoveDomain(ctx, d.Account, d.Pattern), "the account lists no domain of this id")
}

// AcceptDomain puts an entry that was proved on the account's list.
func (s *Service) AcceptDomain(ctx context.Context, d OwnDomain) (OwnDomain, error) {
	entry, err := s.store.ProveDomain(ctx, d.Account, d.Pattern)
	if err != nil {
		return d, s.refused(missing(err, "the account lists no domain of this id"), "")
	}
	return s.ownDomain(entry, true), nil
}
