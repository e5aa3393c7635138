package relational

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/audit"
)

// Accounts keeps accounts and what belongs to them.
type Accounts struct{ store *Store }

var _ account.Store = Accounts{}

// Accounts returns the store's accounts.
func (s *Store) Accounts() Accounts { return Accounts{s} }

const (
	accountColumns     = "accounts.id, username, email, email_verified, phone, phone_verified, password_hash, key_hash, sealed_key, epoch, plan, admin, disabled, require_auth_on_jobs, accounts.created, emptied, accounts.limits, display_name, logo, accent, show_effects"
	accountColumnCount = 21
)

func readAccount(r row) account.Account {
	a := account.Account{
		ID:                account.ID(r.int(0)),
		Username:          r.text(1),
		Email:             r.text(2),
		EmailVerified:     r.bool(3),
		Phone:             r.text(4),
		PhoneVerified:     r.bool(5),
		PasswordHash:      r.text(6),
		SealedKey:         r.bytes(8),
		Epoch:             r.int(9),
		Plan:              account.Plan(r.text(10)),
		Admin:             r.bool(11),
		Disabled:          r.bool(12),
		RequireAuthOnJobs: r.bool(13),
		Created:           r.time(14),
		Purged:            r.time(15),
		Overrides:         readOverrides(r.text(16)),
		Look:              account.Look{DisplayName: r.text(17), Logo: r.text(18), Accent: r.text(19)},
		ShowEffects:       r.bool(20),
	}
	copy(a.KeyHash[:], r.s.Blob(7))
	return a
}

// readOverrides reads an account's own limits, which the table holds to a JSON object.
func readOverrides(text string) []account.Override {
	if text == "{}" {
		return nil
	}
	var own map[string]int64
	if json.Unmarshal([]byte(text), &own) != nil {
		return nil
	}
	list := make([]account.Override, 0, len(own))
	for _, name := range slices.Sorted(maps.Keys(own)) {
		list = append(list, account.Override{Name: name, Value: own[name]})
	}
	return list
}

// keyBytes returns a hash as it is stored: the zero one, which opens nothing,
// as null.
func keyBytes(hash account.KeyHash) []byte {
	if hash == (account.KeyHash{}) {
		return nil
	}
	return hash[:]
}

// Create implements account.Accounts.
func (s Accounts) Create(ctx context.Context, a account.Account) (id account.ID, err error) {
	err = s.store.write(ctx, func(t tx) error {
		id, err = t.createAccount(ctx, a)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// CreateInvited implements account.Accounts.
func (s Accounts) CreateInvited(ctx context.Context, a account.Account, invitation account.InvitationHash, expires time.Time) (id account.ID, err error) {
	err = s.store.write(ctx, func(t tx) error {
		var spent error
		_, err := t.one("SELECT revoked FROM spent_invitations WHERE hash = ?", func(r row) {
			if spent = account.ErrInvitationUsed; r.bool(0) {
				spent = account.ErrInvitationRevoked
			}
		}, invitation[:])
		if err = cmp.Or(err, spent); err != nil {
			return err
		}
		if id, err = t.createAccount(ctx, a); err != nil {
			return err
		}
		if _, err = t.exec("DELETE FROM invitations WHERE hash = ?", invitation[:]); err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO spent_invitations (hash, expires) VALUES (?, ?)", invitation[:], expires)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// SweepInvitations implements account.Accounts.
func (s Accounts) SweepInvitations(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		removed = 0
		for _, table := range []string{"invitations", "spent_invitations"} {
			n, err := t.exec("DELETE FROM "+table+" WHERE hash IN (SELECT hash FROM "+table+" WHERE expires <= ? LIMIT ?)", now, limit)
			if err != nil {
				return err
			}
			removed += int(n)
		}
		return nil
	})
	return removed, err
}

// createAccount stores a new account.
func (t tx) createAccount(ctx context.Context, a account.Account) (id account.ID, err error) {
	aliases := a.Aliases()
	if err := t.requireFree(aliases); err != nil {
		return 0, err
	}
	takeBack := t.conn.Conn.ChangesAccount(0)
	number, err := t.insert("id", `INSERT INTO accounts (username, email, email_verified, phone, phone_verified, password_hash, key_hash, sealed_key,
			epoch, plan, admin, disabled, require_auth_on_jobs, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`,
		a.Username, a.Email, a.EmailVerified, a.Phone, a.PhoneVerified, a.PasswordHash, keyBytes(a.KeyHash), a.SealedKey,
		string(a.Plan), a.Admin, a.Disabled, a.RequireAuthOnJobs, a.Created.UnixMicro())
	takeBack()
	if isDuplicate(err) {
		return 0, account.ErrConflict // the names are free, so it is the key
	}
	if err != nil {
		return 0, err
	}
	id = account.ID(number)
	defer t.conn.Conn.ChangesAccount(id)()
	if err := t.addAliases(id, aliases); err != nil {
		return 0, err
	}
	return id, t.audit(ctx, audit.Event{Account: id, Act: audit.AccountCreated})
}

// requireFree gives a *account.Taken where a name leads to an account already.
func (t tx) requireFree(aliases []names.Alias) error {
	for _, alias := range aliases {
		taken, err := t.has("SELECT 1 FROM aliases WHERE canonical = ?", alias.Name)
		if err != nil {
			return err
		}
		if taken {
			return &account.Taken{Field: string(alias.Kind)}
		}
	}
	return nil
}

func (t tx) addAliases(id account.ID, aliases []names.Alias) error {
	for _, alias := range aliases {
		if _, err := t.exec("INSERT INTO aliases (canonical, kind, account) VALUES (?, ?, ?)", alias.Name, string(alias.Kind), int64(id)); err != nil {
			return err
		}
	}
	return nil
}

// account returns the row of an account.
func (t tx) account(id account.ID) (a account.Account, err error) {
	found, err := t.one("SELECT "+accountColumns+" FROM accounts WHERE id = ?", func(r row) { a = readAccount(r) }, int64(id))
	if err == nil && !found {
		err = account.ErrNotFound
	}
	return a, err
}

// SetContact implements account.Accounts.
func (s Accounts) SetContact(ctx context.Context, id account.ID, change account.ContactChange) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		a, err := t.account(id)
		if err != nil {
			return err
		}
		before := a
		change.Apply(&a)
		if _, err := t.exec("DELETE FROM aliases WHERE account = ?", int64(id)); err != nil {
			return err
		}
		if err := t.requireFree(a.Aliases()); err != nil {
			return err
		}
		if err := t.addAliases(id, a.Aliases()); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE accounts SET email = ?, email_verified = ?, phone = ?, phone_verified = ? WHERE id = ?",
			a.Email, a.EmailVerified, a.Phone, a.PhoneVerified, int64(id)); err != nil {
			return err
		}
		if a.Email != before.Email || a.EmailVerified != before.EmailVerified {
			err = t.audit(ctx, audit.Event{Account: id, Act: audit.AccountChanged, On: "email"})
		}
		if err == nil && (a.Phone != before.Phone || a.PhoneVerified != before.PhoneVerified) {
			err = t.audit(ctx, audit.Event{Account: id, Act: audit.AccountChanged, On: "phone"})
		}
		return err
	})
}

// SetLook implements account.Accounts.
func (s Accounts) SetLook(ctx context.Context, id account.ID, change account.LookChange) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		a, err := t.account(id)
		if err != nil {
			return err
		}
		before := a.Look
		change.Apply(&a)
		if _, err := t.exec("UPDATE accounts SET display_name = ?, logo = ?, accent = ? WHERE id = ?", a.Look.DisplayName, a.Look.Logo, a.Look.Accent, int64(id)); err != nil {
			return err
		}
		for _, one := range []struct{ name, before, after string }{
			{"display_name", before.DisplayName, a.Look.DisplayName}, {"logo", before.Logo, a.Look.Logo}, {"accent", before.Accent, a.Look.Accent},
		} {
			if one.before == one.after {
				continue
			}
			if err := t.audit(ctx, audit.Event{Account: id, Act: audit.AccountChanged, On: one.name}); err != nil {
				return err
			}
		}
		return nil
	})
}

// ByAlias implements account.Accounts.
func (s Accounts) ByAlias(ctx context.Context, alias names.Alias) (account.Account, error) {
	return s.one(ctx, "SELECT "+accountColumns+" FROM accounts WHERE id = (SELECT account FROM aliases WHERE canonical = ? AND kind = ?)",
		alias.Name, string(alias.Kind))
}

// ByKeyHash implements account.Accounts.
func (s Accounts) ByKeyHash(ctx context.Context, hash account.KeyHash) (account.Account, error) {
	return s.one(ctx, "SELECT "+accountColumns+" FROM accounts WHERE key_hash = ?", keyBytes(hash))
}

// ByID implements account.Accounts.
func (s Accounts) ByID(ctx context.Context, id account.ID) (account.Account, error) {
	return s.one(ctx, "SELECT "+accountColumns+" FROM accounts WHERE id = ?", int64(id))
}

func (s Accounts) one(ctx context.Context, sql string, args ...any) (a account.Account, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one(sql, func(r row) { a = readAccount(r) }, args...)
		if err == nil && !found {
			err = account.ErrNotFound
		}
		return err
	})
	return a, err
}

// List implements account.Accounts.
func (s Accounts) List(ctx context.Context, after string, limit int) (list []account.Account, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+accountColumns+" FROM accounts WHERE username > ? ORDER BY username LIMIT ?",
			func(r row) { list = append(list, readAccount(r)) }, after, max(limit, 0))
	})
	return list, err
}

// Delete implements account.Accounts.
func (s Accounts) Delete(ctx context.Context, id account.ID) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		if err := t.dropContents(id); err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM jobs WHERE account = ?", int64(id)); err != nil { // no engine need do it by itself
			return err
		}
		n, err := t.exec("DELETE FROM accounts WHERE id = ?", int64(id))
		if err == nil && n == 0 {
			err = account.ErrNotFound
		}
		if err != nil || t.conn.Old.NoAudit {
			return err
		}
		if _, err := t.exec("DELETE FROM audit_entries WHERE account = ?", int64(id)); err != nil {
			return err
		}
		_, err = t.exec("DELETE FROM audit_logs WHERE account = ?", int64(id))
		return err
	})
}

// SetPassword implements account.Accounts.
func (s Accounts) SetPassword(ctx context.Context, id account.ID, phc string) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.auditChange(ctx, audit.Event{Account: id, Act: audit.PasswordChanged}, "UPDATE accounts SET password_hash = ?, epoch = epoch + 1 WHERE id = ?", phc, int64(id)); err != nil {
			return err
		}
		return t.endSignIns(id)
	})
}

// ResetPassword implements account.Accounts.
func (s Accounts) ResetPassword(ctx context.Context, id account.ID, epoch int64, phc string) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		n, err := t.exec("UPDATE accounts SET password_hash = ?, epoch = epoch + 1 WHERE id = ? AND epoch = ?", phc, int64(id), epoch)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := t.requireAccount(id); err != nil {
				return err
			}
			return account.ErrConflict
		}
		if err := t.endSignIns(id); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: id, Act: audit.PasswordChanged, On: "reset"})
	})
}

// Rehash implements account.Accounts.
func (s Accounts) Rehash(ctx context.Context, id account.ID, old, phc string) error {
	return s.guarded(ctx, id, "UPDATE accounts SET password_hash = ? WHERE id = ? AND password_hash = ?", phc, int64(id), old)
}

// RotateKey implements account.Accounts.
func (s Accounts) RotateKey(ctx context.Context, id account.ID, hash account.KeyHash, sealed []byte) error {
	err := s.auditChange(ctx, audit.Event{Account: id, Act: audit.APIKeyRotated}, "UPDATE accounts SET key_hash = ?, sealed_key = ?, epoch = epoch + 1 WHERE id = ?", keyBytes(hash), sealed, int64(id))
	if isDuplicate(err) {
		return account.ErrConflict
	}
	return err
}

// SealKey implements account.Accounts.
func (s Accounts) SealKey(ctx context.Context, id account.ID, hash account.KeyHash, sealed []byte) error {
	return s.guarded(ctx, id, "UPDATE accounts SET sealed_key = ? WHERE id = ? AND key_hash = ?", sealed, int64(id), keyBytes(hash))
}

// SetPlan implements account.Accounts.
func (s Accounts) SetPlan(ctx context.Context, id account.ID, plan account.Plan) error {
	return s.auditChange(ctx, audit.Event{Account: id, Act: audit.PlanChanged, On: string(plan)}, "UPDATE accounts SET plan = ? WHERE id = ?", string(plan), int64(id))
}

// SetLimit implements account.Accounts.
func (s Accounts) SetLimit(ctx context.Context, id account.ID, name string, value *int64) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		a, err := t.account(id)
		if err != nil {
			return err
		}
		own := map[string]int64{}
		for _, o := range a.Overrides {
			own[o.Name] = o.Value
		}
		on := name
		if value == nil {
			delete(own, name)
		} else {
			own[name] = *value
			on += "=" + strconv.FormatInt(*value, 10)
		}
		limits, err := json.Marshal(own)
		if err != nil {
			return err
		}
		if _, err := t.exec("UPDATE accounts SET limits = ? WHERE id = ?", string(limits), int64(id)); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: id, Act: audit.LimitChanged, On: on})
	})
}

// setFlag has the statement of each flag.
var setFlag = map[account.Flag]string{
	account.FlagAdmin:             "UPDATE accounts SET admin = ? WHERE id = ?",
	account.FlagDisabled:          "UPDATE accounts SET disabled = CASE WHEN ?1 = 1 OR EXISTS (SELECT 1 FROM departures WHERE account = ?2) THEN 1 ELSE 0 END WHERE id = ?2",
	account.FlagRequireAuthOnJobs: "UPDATE accounts SET require_auth_on_jobs = ? WHERE id = ?",
	account.FlagShowEffects:       "UPDATE accounts SET show_effects = ? WHERE id = ?",
}

// SetFlag implements account.Accounts.
func (s Accounts) SetFlag(ctx context.Context, id account.ID, flag account.Flag, on bool) error {
	sql, ok := setFlag[flag]
	if !ok {
		return account.ErrNotFound
	}
	return s.store.write(ctx, func(t tx) error {
		if err := t.auditChange(ctx, audit.Event{Account: id, Act: audit.AccountChanged, On: string(flag) + "=" + strconv.FormatBool(on)}, sql, on, int64(id)); err != nil {
			return err
		}
		if flag != account.FlagDisabled || !on {
			return nil
		}
		return t.endSignIns(id)
	})
}

// change runs one statement that changes or removes a row; where there is
// none, it is account.ErrNotFound.
func (s Accounts) change(ctx context.Context, sql string, args ...any) error {
	return s.store.write(ctx, func(t tx) error {
		n, err := t.exec(sql, args...)
		if err == nil && n == 0 {
			err = account.ErrNotFound
		}
		return err
	})
}

// guarded is change for a statement that expects more of the account than to
// be there.
func (s Accounts) guarded(ctx context.Context, id account.ID, sql string, args ...any) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		n, err := t.exec(sql, args...)
		if err != nil || n > 0 {
			return err
		}
		if err := t.requireAccount(id); err != nil {
			return err
		}
		return account.ErrConflict
	})
}

// requireAccount gives account.ErrNotFound where there is no such account.
func (t tx) requireAccount(id account.ID) error {
	found, err := t.has("SELECT 1 FROM accounts WHERE id = ?", int64(id))
	if err == nil && !found {
		err = account.ErrNotFound
	}
	return err
}

// ReplaceKeyCheck implements account.Store.
func (s Accounts) ReplaceKeyCheck(ctx context.Context, record []byte) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("INSERT INTO master_check (one, record) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET record = excluded.record", record)
		return err
	})
}

// EnsureKeyCheck implements account.Store.
func (s Accounts) EnsureKeyCheck(ctx context.Context, record []byte) (kept []byte, err error) {
	err = s.store.write(ctx, func(t tx) error {
		if record != nil {
			if _, err := t.exec("INSERT INTO master_check (one, record) VALUES (1, ?) ON CONFLICT DO NOTHING", record); err != nil {
				return err
			}
		}
		_, err := t.one("SELECT record FROM master_check", func(r row) { kept = r.bytes(0) })
		return err
	})
	return kept, err
}
