package accounttest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ql/internal/account"
)

// Publish implements account.Store.
func (m *Memory) Publish(_ context.Context, p account.Published, ends time.Time, most account.PublishedLimits) (_ account.Published, created bool, err error) {
	err = m.change(p.Account, func(*account.Account) error {
		now, before := p.Added, slices.Clone(m.published)
		scriptsBefore, bytesBefore := m.publishedUsage(p.Account)
		current, found := m.current(p.Account, p.Name)
		created, p.Until = !found, time.Time{}
		p.Methods = slices.Clone(p.Methods)
		same := found && current.Hash == p.Hash
		if same {
			p.Version, p.Added = current.Version, current.Added
			m.published = slices.DeleteFunc(m.published, func(q account.Published) bool { return isVersion(q, p.Account, p.Name, p.Version) })
		} else {
			p.Version = current.Version + 1
		}
		for i := range m.published {
			q := &m.published[i]
			if q.Account == p.Account && q.Name == p.Name && (q.Until.IsZero() || q.Until.After(ends)) {
				q.Until = ends
			}
		}
		m.published = slices.DeleteFunc(m.published, func(q account.Published) bool { return q.Account == p.Account && q.HasEnded(now) })
		m.published = append(m.published, p)
		scripts, bytes := m.publishedUsage(p.Account)
		if err := most.Check(scriptsBefore, scripts, bytesBefore, bytes); err != nil {
			m.published = before
			return err
		}
		return nil
	})
	return p, created, err
}

func isVersion(p account.Published, id account.ID, name string, version int64) bool {
	return p.Account == id && p.Name == name && p.Version == version
}

// current returns the current version of a script.
func (m *Memory) current(id account.ID, name string) (account.Published, bool) {
	for _, p := range m.published {
		if p.Account == id && p.Name == name && p.Until.IsZero() {
			return p, true
		}
	}
	return account.Published{}, false
}

func (m *Memory) publishedUsage(id account.ID) (scripts int, bytes int64) {
	for _, p := range m.published {
		if p.Account != id {
			continue
		}
		bytes += p.Weight()
		if p.Until.IsZero() {
			scripts++
		}
	}
	return scripts, bytes
}

// PublishedUsage implements account.Store.
func (m *Memory) PublishedUsage(_ context.Context, id account.ID) (scripts int, bytes int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	scripts, bytes = m.publishedUsage(id)
	return scripts, bytes, nil
}

// Unpublish implements account.Store.
func (m *Memory) Unpublish(_ context.Context, id account.ID, name string) error {
	return remove(m, &m.published, func(p account.Published) bool { return p.Account == id && p.Name == name })
}

// PublishedScript implements account.Store.
func (m *Memory) PublishedScript(_ context.Context, id account.ID, name string, version int64) (account.Published, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current, ok := m.current(id, name)
	if !ok || version == 0 || version == current.Version {
		return current, found(ok)
	}
	for _, p := range m.published {
		if isVersion(p, id, name, version) {
			p.Switches = p.Within(current.Switches)
			return p, nil
		}
	}
	return account.Published{}, account.ErrNotFound
}

// PublishedScripts implements account.Store.
func (m *Memory) PublishedScripts(_ context.Context, id account.ID, after string, limit int) ([]account.Published, error) {
	list := collect(m, &m.published, func(p account.Published) bool { return p.Account == id && p.Until.IsZero() && p.Name > after })
	slices.SortFunc(list, func(a, b account.Published) int { return cmp.Compare(a.Name, b.Name) })
	return head(list, limit), nil
}

// PublishedVersions implements account.Store.
func (m *Memory) PublishedVersions(_ context.Context, id account.ID, name string, now time.Time, limit int) ([]account.Published, error) {
	list := collect(m, &m.published, func(p account.Published) bool { return p.Account == id && p.Name == name && !p.HasEnded(now) })
	slices.SortFunc(list, func(a, b account.Published) int { return cmp.Compare(b.Version, a.Version) })
	return head(list, limit), nil
}

// head returns the first of a listing, as listings show them.
func head(list []account.Published, limit int) []account.Published {
	list = list[:min(len(list), limit)]
	for i := range list {
		list[i].Text, list[i].Schema = "", ""
	}
	return list
}

// HasPublished implements account.Store.
func (m *Memory) HasPublished(_ context.Context, id account.ID, hash account.ScriptHash, now time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.published, func(p account.Published) bool {
		if p.Account != id || p.Hash != hash || p.HasEnded(now) {
			return false
		}
		current, _ := m.current(id, p.Name)
		return p.Callers.Pages() && current.Callers.Pages()
	}), nil
}

// SweepPublished implements account.Store.
func (m *Memory) SweepPublished(_ context.Context, now time.Time, limit int) (removed int, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.published = slices.DeleteFunc(m.published, func(p account.Published) bool {
		ended := removed < limit && p.HasEnded(now)
		if ended {
			removed++
		}
		return ended
	})
	return removed, nil
}
