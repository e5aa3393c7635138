package account

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"ql/internal/account/names"
	"ql/internal/account/seal"
	"ql/internal/fault"
	"ql/internal/redacted"
)

const (
	maxSecret = 64 * kib
	// webhookOverlap is how long the secret before the newest still signs.
	webhookOverlap = 24 * time.Hour
	webhookPrefix  = "whsec_"
	webhookBytes   = 32
)

// SetSecret stores a secret under its name.
func (s *Service) SetSecret(ctx context.Context, name, secret, value string) error {
	_, err := s.PutSecret(ctx, name, secret, redacted.Text(value))
	return err
}

// PutSecret is SetSecret; it reports whether the account had no secret of the name.
func (s *Service) PutSecret(ctx context.Context, name, secret string, value redacted.Text) (created bool, err error) {
	if !names.IsName(secret) {
		return false, fault.Invalid("name", "%v", names.ErrName)
	}
	if len(value) > maxSecret {
		return false, fault.Invalid("value", "the secret has %d bytes: at most %d fit", len(value), maxSecret)
	}
	if !utf8.ValidString(value.Reveal()) {
		return false, fault.Invalid("value", "the secret is not valid UTF-8: encode it, for example as base64")
	}
	err = s.with(ctx, name, func(a Account) error {
		sealed, err := s.vault.Seal(int64(a.ID), seal.Secret, secret, []byte(value))
		if err != nil {
			return err
		}
		most := a.Limits(s.o.Limits).Secrets
		created, err = s.store.SetSecret(ctx, Secret{Account: a.ID, Name: secret, Sealed: sealed, Set: s.now()}, most)
		if errors.Is(err, ErrTooManySecrets) {
			f := fault.New(fault.LimitExceeded, "the account has %d secrets, which is as many as its plan allows: remove one first", most)
			f.Limit, f.Value = "secrets", int64(most)
			return f
		}
		return err
	})
	return created, err
}

// Secret returns the value of an account's secret, ErrNotFound where it has
// none of that name.
func (s *Service) Secret(ctx context.Context, id ID, secret string) (redacted.Text, error) {
	row, err := s.store.Secret(ctx, id, secret)
	if err != nil {
		return "", err
	}
	value, err := s.vault.Open(int64(id), seal.Secret, secret, row.Sealed)
	return redacted.Text(value), err
}

// Secrets lists the account's secrets without their values.
func (s *Service) Secrets(ctx context.Context, name string) ([]Secret, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.store.Secrets(ctx, a.ID)
}

// RemoveSecret forgets a secret.
func (s *Service) RemoveSecret(ctx context.Context, name, secret string) error {
	return s.with(ctx, name, func(a Account) error {
		return missing(s.store.RemoveSecret(ctx, a.ID, secret), "the account has no secret %q", secret)
	})
}

// WebhookSecret returns the newest secret that signs the account's webhooks,
// made where there is none. To rotate it makes a new one; the one before goes
// on signing beside it for 24 hours.
func (s *Service) WebhookSecret(ctx context.Context, name string, rotate bool) (redacted.Text, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return "", err
	}
	text, err := s.newestWebhook(ctx, a.ID, rotate)
	return text, s.refused(err, name)
}

func (s *Service) newestWebhook(ctx context.Context, id ID, rotate bool) (redacted.Text, error) {
	now := s.now()
	for {
		rows, err := s.store.WebhookSecrets(ctx, id, now)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 && !rotate {
			return s.openWebhook(rows[0])
		}
		number := int64(1)
		if len(rows) > 0 {
			number = rows[0].Number + 1
		}
		text, err := s.makeWebhook(ctx, id, number, now)
		if !errors.Is(err, ErrConflict) {
			return text, err
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
}

// WebhookSecrets returns the secrets that sign an account's webhooks now, the
// newest first. Where there is none yet, one is made.
func (s *Service) WebhookSecrets(ctx context.Context, id ID) ([]redacted.Text, error) {
	rows, err := s.store.WebhookSecrets(ctx, id, s.now())
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		text, err := s.newestWebhook(ctx, id, false)
		return []redacted.Text{text}, err
	}
	secrets := make([]redacted.Text, len(rows))
	for i, row := range rows {
		if secrets[i], err = s.openWebhook(row); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

func (s *Service) makeWebhook(ctx context.Context, id ID, number int64, now time.Time) (redacted.Text, error) {
	var raw [webhookBytes]byte
	if _, err := io.ReadFull(s.o.Random, raw[:]); err != nil {
		return "", fmt.Errorf("making a webhook secret: %w", err)
	}
	text := redacted.Text(webhookPrefix + base64.StdEncoding.EncodeToString(raw[:]))
	sealed, err := s.vault.Seal(int64(id), seal.Webhook, strconv.FormatInt(number, 10), []byte(text))
	if err != nil {
		return "", err
	}
	row := WebhookSecret{Account: id, Number: number, Sealed: sealed, Made: now}
	if err := s.store.RotateWebhookSecret(ctx, row, now.Add(webhookOverlap)); err != nil {
		return "", err
	}
	return text, nil
}

func (s *Service) openWebhook(row WebhookSecret) (redacted.Text, error) {
	text, err := s.vault.Open(int64(row.Account), seal.Webhook, strconv.FormatInt(row.Number, 10), row.Sealed)
	return redacted.Text(text), err
}
