package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/resource/sessions"
)

// Sessions keeps sessions of accounts' visitors.
type Sessions struct{ store *Store }

var _ sessions.Store = Sessions{}

// Sessions returns the store's sessions.
func (s *Store) Sessions() Sessions { return Sessions{s} }

// Create implements sessions.Store. An account that is not there is
// account.ErrNotFound.
func (s Sessions) Create(ctx context.Context, k sessions.Key, now time.Time, over sessions.Expiry) error {
	err := s.store.write(ctx, func(t tx) error {
		id, removed := int64(k.Account), int64(0)
		remove := func(sql string, args ...any) error {
			n, err := t.exec(sql, args...)
			removed += n
			return err
		}
		if err := remove("DELETE FROM sessions WHERE account = ? AND touched < ?", id, over.Touched.UnixMicro()); err != nil {
			return err
		}
		if err := remove("DELETE FROM sessions WHERE account = ? AND created < ?", id, over.Created.UnixMicro()); err != nil {
			return err
		}
		surplus := -removed - int64(over.Most)
		if _, err := t.one("SELECT sessions FROM kept WHERE account = ?", func(r row) { surplus += r.int(0) }, id); err != nil {
			return err
		}
		if surplus > 0 {
			if err := remove("DELETE FROM sessions WHERE seq IN (SELECT seq FROM sessions WHERE account = ? ORDER BY touched LIMIT ?)", id, surplus); err != nil {
				return err
			}
		}
		if _, err := t.exec("INSERT INTO sessions (account, id_hash, created, touched, version, data) VALUES (?, ?, ?, ?, 0, '{}')", id, k.Hash[:], now.UnixMicro(), now.UnixMicro()); err != nil {
			return err
		}
		return t.countSessions(k.Account, 1-removed)
	})
	if isOrphan(err) {
		return account.ErrNotFound
	}
	return err
}

// Load implements sessions.Store.
func (s Sessions) Load(ctx context.Context, k sessions.Key) (loaded sessions.Row, found bool, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		found, err = t.one("SELECT data, version, created, touched, holder FROM sessions WHERE account = ? AND id_hash = ?", func(r row) {
			loaded = sessions.Row{Data: r.text(0), Version: r.int(1), Created: r.time(2), Touched: r.time(3), Holder: r.int(4)}
		}, int64(k.Account), k.Hash[:])
		return err
	})
	return loaded, found, err
}

// Touch implements sessions.Store.
func (s Sessions) Touch(ctx context.Context, k sessions.Key, now time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE sessions SET touched = ? WHERE account = ? AND id_hash = ?", now.UnixMicro(), int64(k.Account), k.Hash[:])
		return err
	})
}

// Replace implements sessions.Store.
func (s Sessions) Replace(ctx context.Context, k sessions.Key, version int64, data string, now time.Time) (bool, error) {
	return s.store.change(ctx, func(t tx) (bool, error) {
		n, err := t.exec("UPDATE sessions SET data = ?, version = version + 1, touched = ? WHERE account = ? AND id_hash = ? AND version = ?",
			data, now.UnixMicro(), int64(k.Account), k.Hash[:], version)
		return n > 0, err
	})
}

// Claim implements sessions.Turns. The version grows, so that nothing is changed that was read before.
func (s Sessions) Claim(ctx context.Context, k sessions.Key, holder int64) (bool, error) {
	taken := false
	err := s.store.write(ctx, func(t tx) error {
		n, err := t.exec(`UPDATE sessions SET holder = ?3, version = version + 1 WHERE account = ?1 AND id_hash = ?2
			AND (holder = 0 OR holder = ?3 OR holder NOT IN (SELECT incarnation FROM members))`, int64(k.Account), k.Hash[:], holder)
		taken = n > 0
		return err
	})
	return taken && err == nil, err
}

// Return implements sessions.Turns.
func (s Sessions) Return(ctx context.Context, k sessions.Key, holder int64) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE sessions SET holder = 0 WHERE account = ? AND id_hash = ? AND holder = ?", int64(k.Account), k.Hash[:], holder)
		return err
	})
}

// Remove implements sessions.Store.
func (s Sessions) Remove(ctx context.Context, k sessions.Key) error {
	_, err := s.store.change(ctx, func(t tx) (bool, error) {
		n, err := t.exec("DELETE FROM sessions WHERE account = ? AND id_hash = ?", int64(k.Account), k.Hash[:])
		if err == nil {
			err = t.countSessions(k.Account, -n)
		}
		return err == nil, err
	})
	return err
}

// countSessions counts sessions of an account that were added, or removed where there
// are fewer than before.
func (t tx) countSessions(a account.ID, more int64) error {
	if more == 0 {
		return nil
	}
	_, err := t.exec(`INSERT INTO kept (account, standing, standing_bytes, sessions) VALUES (?1, 0, 0, ?2)
		ON CONFLICT (account) DO UPDATE SET sessions = kept.sessions + ?2`, int64(a), more)
	return err
}
