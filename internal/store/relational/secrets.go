package relational

import (
	"context"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

// SetSecret implements account.Secrets.
func (s Accounts) SetSecret(ctx context.Context, secret account.Secret, most int) (created bool, err error) {
	err = s.store.write(ctx, func(t tx) error {
		if err := t.requireAccount(secret.Account); err != nil {
			return err
		}
		others := 0
		created = true
		if err := t.each("SELECT name FROM secrets WHERE account = ?", func(r row) {
			if r.text(0) == secret.Name {
				created = false
			} else {
				others++
			}
		}, int64(secret.Account)); err != nil {
			return err
		}
		if created && most > 0 && others >= most {
			return account.ErrTooManySecrets
		}
		if _, err := t.exec("INSERT INTO secrets (account, name, changed, sealed) VALUES (?, ?, ?, ?) ON CONFLICT (account, name) DO UPDATE SET changed = excluded.changed, sealed = excluded.sealed",
			int64(secret.Account), secret.Name, secret.Set.UnixMicro(), append([]byte{}, secret.Sealed...)); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: secret.Account, Act: audit.SecretSet, On: secret.Name})
	})
	return created && err == nil, err
}

// Secret implements account.Secrets.
func (s Accounts) Secret(ctx context.Context, id account.ID, name string) (secret account.Secret, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT changed, sealed FROM secrets WHERE account = ? AND name = ?", func(r row) {
			secret = account.Secret{Account: id, Name: name, Set: r.time(0), Sealed: r.bytes(1)}
		}, int64(id), name)
		if err == nil && !found {
			err = account.ErrNotFound
		}
		return err
	})
	return secret, err
}

// Secrets implements account.Secrets.
func (s Accounts) Secrets(ctx context.Context, id account.ID) (list []account.Secret, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT name, changed FROM secrets WHERE account = ? ORDER BY name", func(r row) {
			list = append(list, account.Secret{Account: id, Name: r.text(0), Set: r.time(1)})
		}, int64(id))
	})
	return list, err
}

// RemoveSecret implements account.Secrets.
func (s Accounts) RemoveSecret(ctx context.Context, id account.ID, name string) error {
	return s.auditChange(ctx, audit.Event{Account: id, Act: audit.SecretRemoved, On: name}, "DELETE FROM secrets WHERE account = ? AND name = ?", int64(id), name)
}

// WebhookSecrets implements account.Secrets.
func (s Accounts) WebhookSecrets(ctx context.Context, id account.ID, now time.Time) (list []account.WebhookSecret, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT number, sealed, made, ends FROM webhook_secrets WHERE account = ? AND (ends IS NULL OR ends > ?) ORDER BY number DESC", func(r row) {
			list = append(list, account.WebhookSecret{Account: id, Number: r.int(0), Sealed: r.bytes(1), Made: r.time(2), Until: r.time(3)})
		}, int64(id), now.UnixMicro())
	})
	return list, err
}

// RotateWebhookSecret implements account.Secrets.
func (s Accounts) RotateWebhookSecret(ctx context.Context, secret account.WebhookSecret, keep time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.requireAccount(secret.Account); err != nil {
			return err
		}
		id, newest := int64(secret.Account), int64(0)
		if _, err := t.one("SELECT coalesce(max(number), 0) FROM webhook_secrets WHERE account = ?", func(r row) { newest = r.int(0) }, id); err != nil {
			return err
		}
		if newest != secret.Number-1 {
			return account.ErrConflict
		}
		if _, err := t.exec("DELETE FROM webhook_secrets WHERE account = ? AND number < ?", id, newest); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE webhook_secrets SET ends = ? WHERE account = ?", keep.UnixMicro(), id); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO webhook_secrets (account, number, sealed, made) VALUES (?, ?, ?, ?)",
			id, secret.Number, append([]byte{}, secret.Sealed...), secret.Made.UnixMicro()); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: secret.Account, Act: audit.WebhookSecretRotated, On: strconv.FormatInt(secret.Number, 10)})
	})
}
