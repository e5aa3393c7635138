package relational

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/audit"
)

const namedKeyColumns = "named_keys.id, account, name, hash, shown, scopes, named_keys.created, expires"

// readNamedKey reads a key from the columns that follow so many.
func readNamedKey(r row, after int) (account.NamedKey, error) {
	k := account.NamedKey{
		ID:      account.NamedKeyID(r.int(after)),
		Account: account.ID(r.int(after + 1)),
		Name:    r.text(after + 2),
		Shown:   r.text(after + 4),
		Created: r.time(after + 6),
		Expires: r.time(after + 7),
	}
	copy(k.Hash[:], r.s.Blob(after+3))
	var err error
	if k.Scopes, err = scope.Parse(strings.Fields(r.text(after + 5))); err != nil {
		return k, fmt.Errorf("the scopes of the key %q are not readable: %w", k.Name, err)
	}
	return k, nil
}

// CreateNamedKey implements account.NamedKeys.
func (s Accounts) CreateNamedKey(ctx context.Context, k account.NamedKey, most int) (id account.NamedKeyID, err error) {
	err = s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(k.Account)()
		if err := t.requireAccount(k.Account); err != nil {
			return err
		}
		if taken, err := t.has("SELECT 1 FROM named_keys WHERE hash = ?", k.Hash[:]); err != nil || taken {
			if taken {
				err = account.ErrConflict
			}
			return err
		}
		// Before anything is changed: a change that fails undoes nothing then.
		inUse, kept := false, 0
		if err := t.each("SELECT name FROM named_keys WHERE account = ? AND (expires IS NULL OR expires > ?)", func(r row) {
			kept++
			inUse = inUse || r.text(0) == k.Name
		}, int64(k.Account), k.Created); err != nil {
			return err
		}
		switch {
		case inUse:
			return account.ErrNameInUse
		case most > 0 && kept >= most:
			return account.ErrTooManyKeys
		}
		if _, err := t.exec("DELETE FROM named_keys WHERE account = ? AND expires <= ?", int64(k.Account), k.Created); err != nil {
			return err
		}
		number, err := t.insert("id", "INSERT INTO named_keys (account, name, hash, shown, scopes, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
			int64(k.Account), k.Name, k.Hash[:], k.Shown, k.Scopes.String(), k.Created, k.Expires)
		id = account.NamedKeyID(number)
		if err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: k.Account, Act: audit.KeyCreated, On: k.Name + ": " + k.Scopes.String()})
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// ByNamedKey implements account.NamedKeys.
func (s Accounts) ByNamedKey(ctx context.Context, hash account.KeyHash) (a account.Account, k account.NamedKey, err error) {
	err = s.store.read(ctx, func(t tx) error {
		var unreadable error
		found, err := t.one("SELECT "+accountColumns+", "+namedKeyColumns+" FROM named_keys JOIN accounts ON accounts.id = account WHERE hash = ?", func(r row) {
			a = readAccount(r)
			k, unreadable = readNamedKey(r, accountColumnCount)
		}, hash[:])
		switch {
		case err != nil:
			return err
		case !found:
			return account.ErrNotFound
		}
		return unreadable
	})
	return a, k, err
}

// NamedKeys implements account.NamedKeys.
func (s Accounts) NamedKeys(ctx context.Context, id account.ID) (list []account.NamedKey, err error) {
	err = s.store.read(ctx, func(t tx) error {
		var unreadable error
		err := t.each("SELECT "+namedKeyColumns+", at FROM named_keys LEFT JOIN named_key_uses ON key = named_keys.id WHERE account = ? ORDER BY name", func(r row) {
			k, err := readNamedKey(r, 0)
			if err != nil {
				unreadable = err
			}
			k.Used = r.time(8)
			list = append(list, k)
		}, int64(id))
		if err != nil {
			return err
		}
		return unreadable
	})
	return list, err
}

// RevokeNamedKey implements account.NamedKeys.
func (s Accounts) RevokeNamedKey(ctx context.Context, id account.ID, name string) error {
	return s.auditChange(ctx, audit.Event{Account: id, Act: audit.KeyRevoked, On: name}, "DELETE FROM named_keys WHERE account = ? AND name = ?", int64(id), name)
}

// RecordUses implements account.NamedKeys.
func (s Accounts) RecordUses(ctx context.Context, uses map[account.NamedKeyID]time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		for id, at := range uses {
			if _, err := t.exec(`INSERT INTO named_key_uses (key, at) SELECT id, ?2 FROM named_keys WHERE id = ?1
				ON CONFLICT (key) DO UPDATE SET at = excluded.at WHERE excluded.at > named_key_uses.at`, int64(id), at); err != nil {
				return err
			}
		}
		return nil
	})
}
