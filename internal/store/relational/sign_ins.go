package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/signin"
)

// SignIns keeps who is signed in to the dashboard.
type SignIns struct{ store *Store }

var _ signin.Store = SignIns{}

// SignIns returns the store's sign-ins.
func (s *Store) SignIns() SignIns { return SignIns{s} }

// Create implements signin.Store.
func (s SignIns) Create(ctx context.Context, one signin.SignIn, epoch int64, over signin.Expiry, most int) (id signin.ID, err error) {
	err = s.store.write(ctx, func(t tx) error {
		a, err := t.account(one.Account)
		switch {
		case err != nil:
			return err
		case a.Disabled || a.Epoch != epoch:
			return account.ErrConflict
		}
		if _, err := t.exec("DELETE FROM sign_ins WHERE account = ? AND (used < ? OR created < ?)", int64(one.Account), over.Used, over.Created); err != nil {
			return err
		}
		// The bound is small, and so is what is looked at.
		if _, err := t.exec("DELETE FROM sign_ins WHERE account = ?1 AND id NOT IN (SELECT id FROM sign_ins WHERE account = ?1 ORDER BY used DESC, id DESC LIMIT ?2)", int64(one.Account), max(most-1, 0)); err != nil {
			return err
		}
		number, err := t.insert("id", "INSERT INTO sign_ins (account, hash, created, used, confirmed) VALUES (?, ?, ?, ?, ?)", int64(one.Account), one.Hash[:], one.Created, one.Used, one.Confirmed)
		id = signin.ID(number)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// endSignIns ends those of an account whose password was changed, or that was disabled.
func (t tx) endSignIns(id account.ID) error {
	_, err := t.exec("DELETE FROM sign_ins WHERE account = ?", int64(id))
	return err
}

const selectSignIn = "SELECT " + accountColumns + ", sign_ins.id, account, hash, sign_ins.created, used, confirmed FROM sign_ins JOIN accounts ON accounts.id = account WHERE "

// ByHash implements signin.Store.
func (s SignIns) ByHash(ctx context.Context, hash signin.Hash) (account.Account, signin.SignIn, error) {
	return s.one(ctx, selectSignIn+"hash = ?", hash[:])
}

// ByID implements signin.Store.
func (s SignIns) ByID(ctx context.Context, id signin.ID) (account.Account, signin.SignIn, error) {
	return s.one(ctx, selectSignIn+"sign_ins.id = ?", int64(id))
}

func (s SignIns) one(ctx context.Context, sql string, args ...any) (a account.Account, one signin.SignIn, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one(sql, func(r row) {
			a = readAccount(r)
			one = signin.SignIn{
				ID: signin.ID(r.int(accountColumnCount)), Account: account.ID(r.int(accountColumnCount + 1)),
				Created: r.time(accountColumnCount + 3), Used: r.time(accountColumnCount + 4), Confirmed: r.time(accountColumnCount + 5),
			}
			copy(one.Hash[:], r.s.Blob(accountColumnCount+2))
		}, args...)
		if err == nil && !found {
			err = account.ErrNotFound
		}
		return err
	})
	return a, one, err
}

// Touch implements signin.Store.
func (s SignIns) Touch(ctx context.Context, id signin.ID, at time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE sign_ins SET used = ?1 WHERE id = ?2 AND used < ?1", at, int64(id))
		return err
	})
}

// Confirm implements signin.Store.
func (s SignIns) Confirm(ctx context.Context, id signin.ID, at time.Time) error {
	return s.store.Accounts().change(ctx, "UPDATE sign_ins SET confirmed = ? WHERE id = ?", at, int64(id))
}

// Remove implements signin.Store.
func (s SignIns) Remove(ctx context.Context, id signin.ID) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("DELETE FROM sign_ins WHERE id = ?", int64(id))
		return err
	})
}

// Sweep implements signin.Store.
func (s SignIns) Sweep(ctx context.Context, over signin.Expiry, limit int) (removed int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		n, err := t.exec("DELETE FROM sign_ins WHERE id IN (SELECT id FROM sign_ins WHERE used < ? LIMIT ?)", over.Used, limit)
		if err != nil {
			return err
		}
		more, err := t.exec("DELETE FROM sign_ins WHERE id IN (SELECT id FROM sign_ins WHERE created < ? LIMIT ?)", over.Created, limit-int(n))
		removed = int(n + more)
		return err
	})
	return removed, err
}
