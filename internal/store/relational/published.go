package relational

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

// publishedColumns are those of listings, before what may be large.
const publishedColumns = "name, version, hash, callers, methods, secrets, added, ends, concurrency_key, concurrency_most"

func readPublished(id account.ID, r row) account.Published {
	p := account.Published{
		Account: id, Name: r.text(0), Version: r.int(1),
		Switches: account.Switches{Callers: account.Callers(r.text(3)), Secrets: r.bool(5), Concurrency: account.Concurrency{Key: r.text(8), Most: int(r.int(9))}},
		Added:    r.time(6), Until: r.time(7),
	}
	if methods := r.text(4); methods != "" {
		p.Methods = strings.Fields(methods)
	}
	copy(p.Hash[:], r.s.Blob(2))
	return p
}

// Publish implements account.PublishedScripts.
func (s Accounts) Publish(ctx context.Context, p account.Published, ends time.Time, most account.PublishedLimits) (stored account.Published, created bool, err error) {
	err = s.store.write(ctx, func(t tx) (err error) {
		if stored, created, err = t.publish(p, ends, most); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: p.Account, Act: audit.ScriptPublished, On: p.Name + "@" + strconv.FormatInt(stored.Version, 10)})
	})
	return stored, created, err
}

func (t tx) publish(p account.Published, ends time.Time, most account.PublishedLimits) (_ account.Published, created bool, err error) {
	if err := t.requireAccount(p.Account); err != nil {
		return p, false, err
	}
	defer t.conn.Conn.ChangesAccount(p.Account)()
	id, now := int64(p.Account), p.Added
	scriptsBefore, bytesBefore, err := t.publishedUsage(p.Account)
	if err != nil {
		return p, false, err
	}
	var current account.Published
	found, err := t.one("SELECT "+publishedColumns+" FROM published_scripts WHERE account = ? AND name = ? AND ends IS NULL",
		func(r row) { current = readPublished(p.Account, r) }, id, p.Name)
	if err != nil {
		return p, false, err
	}
	methods := strings.Join(p.Methods, " ")
	p.Until = time.Time{}
	if found && current.Hash == p.Hash {
		p.Version, p.Added = current.Version, current.Added
		_, err = t.exec("UPDATE published_scripts SET callers = ?, methods = ?, secrets = ?, concurrency_key = ?, concurrency_most = ?, bytes = ?, schema = ?, text = ? WHERE account = ? AND name = ? AND ends IS NULL",
			string(p.Callers), methods, p.Secrets, p.Concurrency.Key, p.Concurrency.Most, p.Weight(), p.Schema, p.Text, id, p.Name)
	} else {
		p.Version = current.Version + 1
		if _, err := t.exec("UPDATE published_scripts SET ends = ? WHERE account = ? AND name = ? AND ends IS NULL", ends.UnixMicro(), id, p.Name); err != nil {
			return p, false, err
		}
		_, err = t.exec(`INSERT INTO published_scripts (account, name, version, hash, callers, methods, secrets, concurrency_key, concurrency_most, added, bytes, schema, text)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, p.Name, p.Version, p.Hash[:], string(p.Callers), methods, p.Secrets, p.Concurrency.Key, p.Concurrency.Most, p.Added.UnixMicro(), p.Weight(), p.Schema, p.Text)
	}
	if err != nil {
		return p, false, err
	}
	if err := t.endVersions(p, now, ends); err != nil {
		return p, false, err
	}
	scripts, bytes, err := t.publishedUsage(p.Account)
	if err == nil {
		err = most.Check(scriptsBefore, scripts, bytesBefore, bytes)
	}
	return p, !found, err
}

// endVersions ends the versions before one, and removes what has ended of the account's.
func (t tx) endVersions(p account.Published, now, ends time.Time) error {
	if _, err := t.exec("UPDATE published_scripts SET ends = ?1 WHERE account = ?2 AND name = ?3 AND ends > ?1", ends.UnixMicro(), int64(p.Account), p.Name); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM published_scripts WHERE account = ? AND ends <= ?", int64(p.Account), now.UnixMicro())
	return err
}

// publishedUsage returns how many scripts an account has published, and the bytes that
// their versions count for.
func (t tx) publishedUsage(id account.ID) (scripts int, bytes int64, err error) {
	if _, err := t.one("SELECT count(*) FROM published_scripts WHERE account = ? AND ends IS NULL", func(r row) { scripts = int(r.int(0)) }, int64(id)); err != nil {
		return 0, 0, err
	}
	_, err = t.one("SELECT coalesce(sum(bytes), 0) FROM published_scripts WHERE account = ?", func(r row) { bytes = r.int(0) }, int64(id))
	return scripts, bytes, err
}

// PublishedUsage implements account.PublishedScripts.
func (s Accounts) PublishedUsage(ctx context.Context, id account.ID) (scripts int, bytes int64, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		return t.snapshot(func() (err error) {
			scripts, bytes, err = t.publishedUsage(id)
			return err
		})
	})
	return scripts, bytes, err
}

// Unpublish implements account.PublishedScripts.
func (s Accounts) Unpublish(ctx context.Context, id account.ID, name string) error {
	return s.auditChange(ctx, audit.Event{Account: id, Act: audit.ScriptRemoved, On: name}, "DELETE FROM published_scripts WHERE account = ? AND name = ?", int64(id), name)
}

// PublishedScript implements account.PublishedScripts.
func (s Accounts) PublishedScript(ctx context.Context, id account.ID, name string, version int64) (p account.Published, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			found, err := t.one("SELECT "+publishedColumns+", schema, text FROM published_scripts WHERE account = ? AND name = ? AND ends IS NULL", func(r row) {
				p = readPublished(id, r)
				if version == 0 || version == p.Version {
					p.Schema, p.Text = r.text(10), r.text(11)
				}
			}, int64(id), name)
			if err == nil && !found {
				err = account.ErrNotFound
			}
			if err != nil || version == 0 || version == p.Version {
				return err
			}
			current := p.Switches
			found, err = t.one("SELECT "+publishedColumns+", schema, text FROM published_scripts WHERE account = ? AND name = ? AND version = ?", func(r row) {
				p = readPublished(id, r)
				p.Schema, p.Text = r.text(10), r.text(11)
				p.Switches = p.Within(current)
			}, int64(id), name, version)
			if err == nil && !found {
				err = account.ErrNotFound
			}
			return err
		})
	})
	if err != nil {
		return account.Published{}, err
	}
	return p, nil
}

// PublishedScripts implements account.PublishedScripts.
func (s Accounts) PublishedScripts(ctx context.Context, id account.ID, after string, limit int) (list []account.Published, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+publishedColumns+" FROM published_scripts WHERE account = ? AND name > ? AND ends IS NULL ORDER BY name LIMIT ?",
			func(r row) { list = append(list, readPublished(id, r)) }, int64(id), after, max(limit, 0))
	})
	return list, err
}

// PublishedVersions implements account.PublishedScripts.
func (s Accounts) PublishedVersions(ctx context.Context, id account.ID, name string, now time.Time, limit int) (list []account.Published, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+publishedColumns+" FROM published_scripts WHERE account = ? AND name = ? AND (ends IS NULL OR ends > ?) ORDER BY version DESC LIMIT ?",
			func(r row) { list = append(list, readPublished(id, r)) }, int64(id), name, now.UnixMicro(), max(limit, 0))
	})
	return list, err
}

// hasPublished looks at the version, and at the current one of its script.
const hasPublished = `SELECT 1 FROM published_scripts v WHERE account = ? AND hash = ? AND callers <> 'keys' AND (ends IS NULL OR ends > ?)
	AND EXISTS (SELECT 1 FROM published_scripts c WHERE c.account = v.account AND c.name = v.name AND c.ends IS NULL AND c.callers <> 'keys')`

// HasPublished implements account.PublishedScripts.
func (s Accounts) HasPublished(ctx context.Context, id account.ID, hash account.ScriptHash, now time.Time) (found bool, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		found, err = t.has(hasPublished, int64(id), hash[:], now.UnixMicro())
		return err
	})
	return found, err
}

// SweepPublished implements account.PublishedScripts.
func (s Accounts) SweepPublished(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		n, err := t.exec("DELETE FROM published_scripts WHERE seq IN (SELECT seq FROM published_scripts WHERE ends <= ? LIMIT ?)", now.UnixMicro(), limit)
		removed = int(n)
		return err
	})
	return removed, err
}
