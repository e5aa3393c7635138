// Package accounttest keeps accounts in memory, for tests of what stands on an
// account.Store. It follows the Store's rules by the plainest means; durable
// stores have a conformance suite of their own.
package accounttest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
)

// Memory is an account.Store in memory. The zero value is empty and ready.
type Memory struct {
	mu         sync.Mutex
	last       account.ID
	accounts   map[account.ID]account.Account
	lastKey    account.NamedKeyID
	keys       []account.NamedKey
	domains    []account.Domain
	requests   []account.Domain
	sites      []account.SiteDomain
	orders     map[string]order // by domain
	published  []account.Published
	secrets    []account.Secret
	webhooks   []account.WebhookSecret
	tombstones []account.Tombstone
	check      []byte
	invited    []account.SentInvitation
	numbered   int64 // invitations so far
	spent      map[account.InvitationHash]spent
}

// spent is an invitation that makes no account any more.
type spent struct {
	expires time.Time
	err     error
}

var _ account.Store = (*Memory)(nil)

// Create implements account.Store.
func (m *Memory) Create(_ context.Context, a account.Account) (account.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.create(a)
}

// CreateInvited implements account.Store.
func (m *Memory) CreateInvited(_ context.Context, a account.Account, invitation account.InvitationHash, expires time.Time) (account.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, is := m.spent[invitation]; is {
		return 0, was.err
	}
	id, err := m.create(a)
	if err == nil {
		m.invited = slices.DeleteFunc(m.invited, func(i account.SentInvitation) bool { return i.Hash == invitation })
		m.spend(invitation, spent{expires, account.ErrInvitationUsed})
	}
	return id, err
}

func (m *Memory) spend(invitation account.InvitationHash, as spent) {
	if m.spent == nil {
		m.spent = map[account.InvitationHash]spent{}
	}
	m.spent[invitation] = as
}

// AddInvitation implements account.Store.
func (m *Memory) AddInvitation(_ context.Context, i account.SentInvitation, most int) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.out(i.Created)) >= most {
		return 0, account.ErrTooManyInvitations
	}
	m.numbered++
	i.Number = m.numbered
	m.invited = append(m.invited, i)
	return i.Number, nil
}

// out are the invitations that are out, the newest first.
func (m *Memory) out(now time.Time) (list []account.SentInvitation) {
	for _, i := range slices.Backward(m.invited) {
		if i.Expires.After(now) {
			list = append(list, i)
		}
	}
	return list
}

// Invitations implements account.Store.
func (m *Memory) Invitations(_ context.Context, now time.Time, limit int) ([]account.SentInvitation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.out(now)
	return list[:min(len(list), limit)], nil
}

// RevokeInvitation implements account.Store.
func (m *Memory) RevokeInvitation(_ context.Context, number int64, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n, i := range m.invited {
		if i.Number == number && i.Expires.After(now) {
			m.invited = slices.Delete(m.invited, n, n+1)
			m.spend(i.Hash, spent{i.Expires, account.ErrInvitationRevoked})
			return nil
		}
	}
	return account.ErrNotFound
}

// SweepInvitations implements account.Store.
func (m *Memory) SweepInvitations(_ context.Context, now time.Time, limit int) (removed int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invited = slices.DeleteFunc(m.invited, func(i account.SentInvitation) bool {
		if i.Expires.After(now) || removed >= limit {
			return false
		}
		removed++
		return true
	})
	for hash, was := range m.spent {
		if !was.expires.After(now) && removed < 2*limit {
			delete(m.spent, hash)
			removed++
		}
	}
	return removed, nil
}

func (m *Memory) create(a account.Account) (account.ID, error) {
	for _, alias := range a.Aliases() {
		if _, ok := m.find(alias); ok {
			return 0, &account.Taken{Field: string(alias.Kind)}
		}
	}
	if a.KeyHash != (account.KeyHash{}) {
		for _, other := range m.accounts {
			if other.KeyHash == a.KeyHash {
				return 0, account.ErrConflict
			}
		}
	}
	if m.accounts == nil {
		m.accounts = map[account.ID]account.Account{}
	}
	m.last++
	a.ID, a.Epoch = m.last, 1
	m.accounts[a.ID] = a
	return a.ID, nil
}

func (m *Memory) find(alias names.Alias) (account.Account, bool) {
	for _, a := range m.accounts {
		if slices.Contains(a.Aliases(), alias) {
			return a, true
		}
	}
	return account.Account{}, false
}

// ByAlias implements account.Store.
func (m *Memory) ByAlias(_ context.Context, alias names.Alias) (account.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.find(alias)
	return a, found(ok)
}

// ByKeyHash implements account.Store.
func (m *Memory) ByKeyHash(_ context.Context, hash account.KeyHash) (account.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.accounts {
		if a.KeyHash == hash && hash != (account.KeyHash{}) {
			return a, nil
		}
	}
	return account.Account{}, account.ErrNotFound
}

// ByID implements account.Store.
func (m *Memory) ByID(_ context.Context, id account.ID) (account.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[id]
	return a, found(ok)
}

// List implements account.Store.
func (m *Memory) List(_ context.Context, after string, limit int) ([]account.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.SortedFunc(maps.Values(m.accounts), func(a, b account.Account) int { return strings.Compare(a.Username, b.Username) })
	list = slices.DeleteFunc(list, func(a account.Account) bool { return a.Username <= after })
	return list[:min(limit, len(list))], nil
}

// MarkDeleted implements account.Store.
func (m *Memory) MarkDeleted(_ context.Context, id account.ID, now time.Time) error {
	return m.change(id, func(a *account.Account) error {
		a.Disabled = true
		if !m.isDeleted(id) {
			m.tombstones = append(m.tombstones, account.Tombstone{Account: id, Since: now})
		}
		return nil
	})
}

func (m *Memory) isDeleted(id account.ID) bool {
	return slices.ContainsFunc(m.tombstones, func(d account.Tombstone) bool { return d.Account == id })
}

// Tombstones implements account.Store.
func (m *Memory) Tombstones(context.Context) ([]account.Tombstone, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(slices.Values(m.tombstones), func(a, b account.Tombstone) int { return int(a.Account - b.Account) }), nil
}

// DropTombstone implements account.Store.
func (m *Memory) DropTombstone(_ context.Context, id account.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.accounts[id]; !ok {
		m.tombstones = slices.DeleteFunc(m.tombstones, func(d account.Tombstone) bool { return d.Account == id })
	}
	return nil
}

// Purge implements account.Store: of all that it removes, published scripts alone are in
// memory.
func (m *Memory) Purge(_ context.Context, id account.ID, limit int) (removed int, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.published = slices.DeleteFunc(m.published, func(p account.Published) bool {
		remove := p.Account == id && removed < limit
		if remove {
			removed++
		}
		return remove
	})
	return removed, nil
}

// SetPurged implements account.Store.
func (m *Memory) SetPurged(_ context.Context, id account.ID, at time.Time) error {
	return m.change(id, func(a *account.Account) error {
		a.Purged = at
		return nil
	})
}

// Delete implements account.Store.
func (m *Memory) Delete(_ context.Context, id account.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.accounts[id]
	delete(m.accounts, id)
	m.keys = slices.DeleteFunc(m.keys, func(k account.NamedKey) bool { return k.Account == id })
	m.domains = slices.DeleteFunc(m.domains, func(d account.Domain) bool { return d.Account == id })
	m.requests = slices.DeleteFunc(m.requests, func(d account.Domain) bool { return d.Account == id })
	m.sites = slices.DeleteFunc(m.sites, func(d account.SiteDomain) bool { return d.Account == id })
	maps.DeleteFunc(m.orders, func(_ string, o order) bool { return o.account == id })
	m.published = slices.DeleteFunc(m.published, func(p account.Published) bool { return p.Account == id })
	m.secrets = slices.DeleteFunc(m.secrets, func(s account.Secret) bool { return s.Account == id })
	m.webhooks = slices.DeleteFunc(m.webhooks, func(s account.WebhookSecret) bool { return s.Account == id })
	return found(ok)
}

// change applies a change to an account.
func (m *Memory) change(id account.ID, do func(*account.Account) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[id]
	if !ok {
		return account.ErrNotFound
	}
	if err := do(&a); err != nil {
		return err
	}
	m.accounts[id] = a
	return nil
}

// SetPassword implements account.Store.
func (m *Memory) SetPassword(_ context.Context, id account.ID, phc string) error {
	return m.change(id, func(a *account.Account) error {
		a.PasswordHash = phc
		a.Epoch++
		return nil
	})
}

// ResetPassword implements account.Store.
func (m *Memory) ResetPassword(_ context.Context, id account.ID, epoch int64, phc string) error {
	return m.change(id, func(a *account.Account) error {
		if a.Epoch != epoch {
			return account.ErrConflict
		}
		a.PasswordHash = phc
		a.Epoch++
		return nil
	})
}

// Rehash implements account.Store.
func (m *Memory) Rehash(_ context.Context, id account.ID, old, phc string) error {
	return m.change(id, func(a *account.Account) error {
		if a.PasswordHash != old {
			return account.ErrConflict
		}
		a.PasswordHash = phc
		return nil
	})
}

// RotateKey implements account.Store.
func (m *Memory) RotateKey(_ context.Context, id account.ID, hash account.KeyHash, sealed []byte) error {
	return m.change(id, func(a *account.Account) error {
		a.KeyHash, a.SealedKey = hash, bytes.Clone(sealed)
		a.Epoch++
		return nil
	})
}

// SealKey implements account.Store.
func (m *Memory) SealKey(_ context.Context, id account.ID, hash account.KeyHash, sealed []byte) error {
	return m.change(id, func(a *account.Account) error {
		if a.KeyHash != hash {
			return account.ErrConflict
		}
		a.SealedKey = bytes.Clone(sealed)
		return nil
	})
}

// SetPlan implements account.Store.
func (m *Memory) SetPlan(_ context.Context, id account.ID, plan account.Plan) error {
	return m.change(id, func(a *account.Account) error {
		a.Plan = plan
		return nil
	})
}

// SetLimit implements account.Store.
func (m *Memory) SetLimit(_ context.Context, id account.ID, name string, value *int64) error {
	return m.change(id, func(a *account.Account) error {
		own := slices.DeleteFunc(slices.Clone(a.Overrides), func(o account.Override) bool { return o.Name == name })
		if value != nil {
			own = append(own, account.Override{Name: name, Value: *value})
		}
		slices.SortFunc(own, func(a, b account.Override) int { return strings.Compare(a.Name, b.Name) })
		if a.Overrides = own; len(own) == 0 {
			a.Overrides = nil
		}
		return nil
	})
}

// SetContact implements account.Store.
func (m *Memory) SetContact(_ context.Context, id account.ID, change account.ContactChange) error {
	return m.change(id, func(a *account.Account) error {
		change.Apply(a)
		for _, alias := range a.Aliases() {
			if other, ok := m.find(alias); ok && other.ID != id {
				return &account.Taken{Field: string(alias.Kind)}
			}
		}
		return nil
	})
}

// SetLook implements account.Store.
func (m *Memory) SetLook(_ context.Context, id account.ID, change account.LookChange) error {
	return m.change(id, func(a *account.Account) error {
		change.Apply(a)
		return nil
	})
}

// SetFlag implements account.Store.
func (m *Memory) SetFlag(_ context.Context, id account.ID, flag account.Flag, on bool) error {
	return m.change(id, func(a *account.Account) error {
		switch flag {
		case account.FlagAdmin:
			a.Admin = on
		case account.FlagDisabled:
			a.Disabled = on || m.isDeleted(id)
		case account.FlagRequireAuthOnJobs:
			a.RequireAuthOnJobs = on
		case account.FlagShowEffects:
			a.ShowEffects = on
		}
		return nil
	})
}

// CreateNamedKey implements account.Store.
func (m *Memory) CreateNamedKey(_ context.Context, k account.NamedKey, most int) (id account.NamedKeyID, err error) {
	err = m.change(k.Account, func(*account.Account) error {
		kept := slices.DeleteFunc(slices.Clone(m.keys), func(o account.NamedKey) bool { return o.Account == k.Account && o.HasExpired(k.Created) })
		count := 0
		for _, o := range kept {
			switch {
			case o.Hash == k.Hash:
				return account.ErrConflict
			case o.Account != k.Account:
				continue
			case o.Name == k.Name:
				return account.ErrNameInUse
			}
			count++
		}
		if most > 0 && count >= most {
			return account.ErrTooManyKeys
		}
		m.lastKey++
		id = m.lastKey
		k.ID, k.Used = id, time.Time{}
		m.keys = append(kept, k)
		return nil
	})
	return id, err
}

// ByNamedKey implements account.Store.
func (m *Memory) ByNamedKey(_ context.Context, hash account.KeyHash) (account.Account, account.NamedKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.keys {
		if k.Hash == hash {
			k.Used = time.Time{}
			return m.accounts[k.Account], k, nil
		}
	}
	return account.Account{}, account.NamedKey{}, account.ErrNotFound
}

// NamedKeys implements account.Store.
func (m *Memory) NamedKeys(_ context.Context, id account.ID) ([]account.NamedKey, error) {
	list := collect(m, &m.keys, func(k account.NamedKey) bool { return k.Account == id })
	slices.SortFunc(list, func(a, b account.NamedKey) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// RevokeNamedKey implements account.Store.
func (m *Memory) RevokeNamedKey(_ context.Context, id account.ID, name string) error {
	return remove(m, &m.keys, func(k account.NamedKey) bool { return k.Account == id && k.Name == name })
}

// RecordUses implements account.Store.
func (m *Memory) RecordUses(_ context.Context, uses map[account.NamedKeyID]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.keys {
		if at, ok := uses[m.keys[i].ID]; ok && at.After(m.keys[i].Used) {
			m.keys[i].Used = at
		}
	}
	return nil
}

// AddDomain implements account.Store.
func (m *Memory) AddDomain(_ context.Context, d account.Domain) error {
	return m.change(d.Account, func(*account.Account) error {
		for i, other := range m.domains {
			switch {
			case other.Account != d.Account && other.Pattern.Overlaps(d.Pattern):
				return &account.Taken{Field: "domain"}
			case other.Account == d.Account && other.Pattern == d.Pattern:
				m.domains[i].PublishedOnly = d.PublishedOnly
				return nil
			}
		}
		m.domains = append(m.domains, d)
		return nil
	})
}

// RemoveDomain implements account.Store.
func (m *Memory) RemoveDomain(_ context.Context, id account.ID, p names.Pattern) error {
	is := func(d account.Domain) bool { return d.Account == id && d.Pattern == p }
	if err := remove(m, &m.requests, is); err == nil {
		return nil
	}
	return remove(m, &m.domains, is)
}

// RequestDomain implements account.Store.
func (m *Memory) RequestDomain(_ context.Context, d account.Domain, most int) error {
	return m.change(d.Account, func(*account.Account) error {
		others := 0
		for _, o := range slices.Concat(m.domains, m.requests) {
			if o.Account == d.Account && o.Pattern != d.Pattern {
				others++
			}
		}
		if i := slices.IndexFunc(m.requests, func(o account.Domain) bool { return o.Account == d.Account && o.Pattern == d.Pattern }); i >= 0 {
			m.requests[i].PublishedOnly = d.PublishedOnly
			return nil
		}
		if most > 0 && others >= most {
			return account.ErrTooManyDomains
		}
		m.requests = append(m.requests, d)
		return nil
	})
}

// RequestedDomains implements account.Store.
func (m *Memory) RequestedDomains(_ context.Context, id account.ID) ([]account.Domain, error) {
	list := collect(m, &m.requests, func(d account.Domain) bool { return d.Account == id })
	slices.SortFunc(list, func(a, b account.Domain) int { return strings.Compare(a.Pattern.String(), b.Pattern.String()) })
	return list, nil
}

// ProveDomain implements account.Store.
func (m *Memory) ProveDomain(ctx context.Context, id account.ID, p names.Pattern) (account.Domain, error) {
	is := func(d account.Domain) bool { return d.Account == id && d.Pattern == p }
	list := collect(m, &m.requests, is)
	if len(list) == 0 {
		return account.Domain{}, account.ErrNotFound
	}
	if err := m.AddDomain(ctx, list[0]); err != nil {
		return account.Domain{}, err
	}
	return list[0], remove(m, &m.requests, is)
}

// Domains implements account.Store.
func (m *Memory) Domains(_ context.Context, id account.ID) ([]account.Domain, error) {
	list := collect(m, &m.domains, func(d account.Domain) bool { return d.Account == id })
	slices.SortFunc(list, func(a, b account.Domain) int { return strings.Compare(a.Pattern.String(), b.Pattern.String()) })
	return list, nil
}

// DomainsOf implements account.Store.
func (m *Memory) DomainsOf(_ context.Context, host string) ([]account.Domain, error) {
	keys := names.HostKeys(host)
	return collect(m, &m.domains, func(d account.Domain) bool { return slices.Contains(keys, d.Pattern.Host) }), nil
}

// order is a certificate that was ordered.
type order struct {
	account account.ID
	at      time.Time
	renewal bool
}

// siteDomain is the one of an account; nil where it has none of the name.
func (m *Memory) siteDomain(id account.ID, domain string) *account.SiteDomain {
	for i := range m.sites {
		if d := &m.sites[i]; d.Account == id && d.Domain == domain {
			return d
		}
	}
	return nil
}

// provenSite is the site domain that some account has proved.
func (m *Memory) provenSite(domain string) *account.SiteDomain {
	for i := range m.sites {
		if d := &m.sites[i]; d.Domain == domain && !d.Proven.IsZero() {
			return d
		}
	}
	return nil
}

// AddSiteDomain implements account.Store.
func (m *Memory) AddSiteDomain(_ context.Context, d account.SiteDomain, most int) (stored account.SiteDomain, err error) {
	err = m.change(d.Account, func(*account.Account) error {
		if has := m.siteDomain(d.Account, d.Domain); has != nil {
			stored = *has
			return nil
		}
		others := 0
		for _, o := range m.sites {
			if o.Account == d.Account {
				others++
			}
		}
		if most > 0 && others >= most {
			return account.ErrTooManyDomains
		}
		stored = account.SiteDomain{Account: d.Account, Domain: d.Domain, Added: d.Added}
		m.sites = append(m.sites, stored)
		return nil
	})
	return stored, err
}

// RemoveSiteDomain implements account.Store.
func (m *Memory) RemoveSiteDomain(_ context.Context, id account.ID, domain string) error {
	return remove(m, &m.sites, func(d account.SiteDomain) bool { return d.Account == id && d.Domain == domain })
}

// SiteDomains implements account.Store.
func (m *Memory) SiteDomains(_ context.Context, id account.ID) ([]account.SiteDomain, error) {
	list := collect(m, &m.sites, func(d account.SiteDomain) bool { return d.Account == id })
	slices.SortFunc(list, func(a, b account.SiteDomain) int { return strings.Compare(a.Domain, b.Domain) })
	return list, nil
}

// ProveSiteDomain implements account.Store.
func (m *Memory) ProveSiteDomain(_ context.Context, id account.ID, domain string, now time.Time) (account.SiteDomain, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.siteDomain(id, domain)
	if d == nil {
		return account.SiteDomain{}, account.ErrNotFound
	}
	if other := m.provenSite(domain); other != nil && other.Account != id {
		return account.SiteDomain{}, &account.Taken{Field: "domain"}
	}
	if d.Proven.IsZero() {
		d.Proven = now
	}
	d.Checked, d.Missing = now, time.Time{}
	return *d, nil
}

// BySiteDomain implements account.Store.
func (m *Memory) BySiteDomain(_ context.Context, domain string) (account.Account, account.SiteDomain, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.provenSite(domain)
	if d == nil {
		return account.Account{}, account.SiteDomain{}, account.ErrNotFound
	}
	return m.accounts[d.Account], *d, nil
}

// DueSiteDomains implements account.Store.
func (m *Memory) DueSiteDomains(_ context.Context, found, missing time.Time, limit int) ([]account.SiteDomain, error) {
	list := collect(m, &m.sites, func(d account.SiteDomain) bool {
		return !d.Proven.IsZero() && !d.Checked.After(missing) && (!d.Missing.IsZero() || !d.Checked.After(found))
	})
	slices.SortStableFunc(list, func(a, b account.SiteDomain) int { return a.Checked.Compare(b.Checked) })
	return list[:min(limit, len(list))], nil
}

// RecordSiteProof implements account.Store.
func (m *Memory) RecordSiteProof(_ context.Context, d account.SiteDomain, before time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.siteDomain(d.Account, d.Domain)
	if is == nil || is.Proven.IsZero() || !is.Checked.Equal(before) {
		return account.ErrConflict
	}
	is.Proven, is.Checked, is.Missing = d.Proven, d.Checked, d.Missing
	return nil
}

// BeginOrder implements account.Store.
func (m *Memory) BeginOrder(_ context.Context, o account.CertificateOrder, most account.OrderLimits) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.provenSite(o.Domain)
	if d == nil {
		return account.ErrNotFound
	}
	hour, day := 0, 0
	for domain, other := range m.orders {
		isRecent := other.at.After(o.At.Add(-time.Hour))
		if isRecent {
			hour++
		}
		if domain == o.Domain {
			if isRecent {
				return account.ErrTooManyOrders
			}
			continue
		}
		if other.account == d.Account && !other.renewal && other.at.After(o.At.Add(-account.OrdersCounted)) {
			day++
		}
	}
	if hour >= most.PerHour || !o.Renewal && day >= most.NewPerDay {
		return account.ErrTooManyOrders
	}
	if m.orders == nil {
		m.orders = map[string]order{}
	}
	m.orders[o.Domain] = order{d.Account, o.At, o.Renewal}
	return nil
}

// SetSecret implements account.Store.
func (m *Memory) SetSecret(_ context.Context, s account.Secret, most int) (created bool, err error) {
	err = m.change(s.Account, func(*account.Account) error {
		others := 0
		created = true
		for _, t := range m.secrets {
			switch {
			case t.Account != s.Account:
			case t.Name == s.Name:
				created = false
			default:
				others++
			}
		}
		if created && most > 0 && others >= most {
			return account.ErrTooManySecrets
		}
		m.secrets = slices.DeleteFunc(m.secrets, func(t account.Secret) bool { return t.Account == s.Account && t.Name == s.Name })
		m.secrets = append(m.secrets, s)
		return nil
	})
	return created && err == nil, err
}

// Secret implements account.Store.
func (m *Memory) Secret(_ context.Context, id account.ID, name string) (account.Secret, error) {
	list := collect(m, &m.secrets, func(s account.Secret) bool { return s.Account == id && s.Name == name })
	if len(list) == 0 {
		return account.Secret{}, account.ErrNotFound
	}
	return list[0], nil
}

// Secrets implements account.Store.
func (m *Memory) Secrets(_ context.Context, id account.ID) ([]account.Secret, error) {
	list := collect(m, &m.secrets, func(s account.Secret) bool { return s.Account == id })
	for i := range list {
		list[i].Sealed = nil
	}
	slices.SortFunc(list, func(a, b account.Secret) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// RemoveSecret implements account.Store.
func (m *Memory) RemoveSecret(_ context.Context, id account.ID, name string) error {
	return remove(m, &m.secrets, func(s account.Secret) bool { return s.Account == id && s.Name == name })
}

// WebhookSecrets implements account.Store.
func (m *Memory) WebhookSecrets(_ context.Context, id account.ID, now time.Time) ([]account.WebhookSecret, error) {
	list := collect(m, &m.webhooks, func(s account.WebhookSecret) bool {
		return s.Account == id && (s.Until.IsZero() || s.Until.After(now))
	})
	slices.SortFunc(list, func(a, b account.WebhookSecret) int { return int(b.Number - a.Number) })
	return list, nil
}

// RotateWebhookSecret implements account.Store.
func (m *Memory) RotateWebhookSecret(_ context.Context, s account.WebhookSecret, keep time.Time) error {
	return m.change(s.Account, func(*account.Account) error {
		newest := int64(0)
		for _, other := range m.webhooks {
			if other.Account == s.Account {
				newest = max(newest, other.Number)
			}
		}
		if newest != s.Number-1 {
			return account.ErrConflict
		}
		m.webhooks = slices.DeleteFunc(m.webhooks, func(o account.WebhookSecret) bool { return o.Account == s.Account && o.Number < newest })
		for i := range m.webhooks {
			if m.webhooks[i].Account == s.Account {
				m.webhooks[i].Until = keep
			}
		}
		m.webhooks = append(m.webhooks, s)
		return nil
	})
}

// ReplaceKeyCheck implements account.Store.
func (m *Memory) ReplaceKeyCheck(_ context.Context, record []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.check = record
	return nil
}

// EnsureKeyCheck implements account.Store.
func (m *Memory) EnsureKeyCheck(_ context.Context, record []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.check == nil {
		m.check = bytes.Clone(record)
	}
	return bytes.Clone(m.check), nil
}

func collect[T any](m *Memory, list *[]T, wanted func(T) bool) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []T
	for _, v := range *list {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

func remove[T any](m *Memory, list *[]T, unwanted func(T) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(*list)
	*list = slices.DeleteFunc(*list, unwanted)
	return found(len(*list) < before)
}

func found(ok bool) error {
	if !ok {
		return account.ErrNotFound
	}
	return nil
}
