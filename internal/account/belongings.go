package account

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/lang/source"
)

const (
	maxName   = 64
	maxSecret = 64 * kib
	// webhookOverlap is how long the secret before the newest still signs.
	webhookOverlap = 24 * time.Hour
	webhookPrefix  = "whsec_"
	webhookBytes   = 32
)

// AddDomain puts an entry on the account's whitelist, or changes whether it is
// for published scripts only.
func (s *Service) AddDomain(ctx context.Context, name, entry string, publishedOnly bool) (Domain, error) {
	p, err := ParsePattern(entry, s.o.Dev)
	if err != nil {
		return Domain{}, fault.Invalid("domain", "%v", err)
	}
	if p.isAnybodys() {
		host := strings.TrimPrefix(p.Host, "*.")
		return Domain{}, fault.Invalid("domain", "%s is nobody's own: anybody may have a domain below %s, so an entry names one, such as shop.%[2]s or *.shop.%[2]s", p.Host, host)
	}
	d := Domain{Pattern: p, PublishedOnly: publishedOnly, Added: s.now()}
	err = s.with(ctx, name, func(a Account) error {
		d.Account = a.ID
		return s.store.AddDomain(ctx, d)
	})
	return d, err
}

// RemoveDomain takes an entry off the account's whitelist.
func (s *Service) RemoveDomain(ctx context.Context, name, entry string) error {
	// What was listed with --dev may be removed without.
	p, err := ParsePattern(entry, true)
	if err != nil {
		return fault.Invalid("domain", "%v", err)
	}
	return s.with(ctx, name, func(a Account) error {
		return missing(s.store.RemoveDomain(ctx, a.ID, p), "the account's list has no %s", p)
	})
}

// Domains returns the account's whitelist.
func (s *Service) Domains(ctx context.Context, name string) ([]Domain, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.store.Domains(ctx, a.ID)
}

// Publish lets pages of the account's published-only domains send a script.
func (s *Service) Publish(ctx context.Context, name, script, text string) (Published, error) {
	if !isName(script) {
		return Published{}, fault.Invalid("name", "%v", errName)
	}
	p := Published{Name: script, Hash: HashScript(text), Added: s.now()}
	err := s.with(ctx, name, func(a Account) error {
		if most := s.o.Limits(a.LimitPlan()).ScriptBytes; len(text) > most {
			return fault.New(fault.TooLarge, "the script has %d bytes: the account's plan allows %d", len(text), most)
		}
		p.Account = a.ID
		return s.store.Publish(ctx, p)
	})
	return p, err
}

// HashScript is how a published script is known: by its text as the language takes
// it, with one line break at the end. Editors, browsers and version control change
// line ends, and mean the same script.
func HashScript(text string) ScriptHash { return sha256.Sum256([]byte(ended(text) + "\n")) }

// ended is a text as the language takes it, without line breaks at the end.
func ended(text string) string { return strings.TrimRight(source.Normalise(text), "\n") }

// ScriptHashes are all by which a script may have been published: earlier versions
// took the hash of the text as it was.
func ScriptHashes(text string) []ScriptHash {
	hashes := []ScriptHash{HashScript(text)}
	for _, earlier := range []string{text, ended(text)} {
		if h := ScriptHash(sha256.Sum256([]byte(earlier))); !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// Unpublish takes a script back.
func (s *Service) Unpublish(ctx context.Context, name, script string) error {
	return s.with(ctx, name, func(a Account) error {
		return missing(s.store.Unpublish(ctx, a.ID, script), "the account has published no script %q", script)
	})
}

// PublishedScripts returns what the account has published.
func (s *Service) PublishedScripts(ctx context.Context, name string) ([]Published, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.store.PublishedScripts(ctx, a.ID)
}

// SetSecret stores a secret under its name.
func (s *Service) SetSecret(ctx context.Context, name, secret, value string) error {
	if !isName(secret) {
		return fault.Invalid("name", "%v", errName)
	}
	if len(value) > maxSecret {
		return fault.Invalid("value", "the secret has %d bytes: at most %d fit", len(value), maxSecret)
	}
	if !utf8.ValidString(value) {
		return fault.Invalid("value", "the secret is not valid UTF-8: encode it, for example as base64")
	}
	return s.with(ctx, name, func(a Account) error {
		sealed, err := s.vault.Seal(a.ID, SealSecret, secret, []byte(value))
		if err != nil {
			return err
		}
		return s.store.SetSecret(ctx, Secret{Account: a.ID, Name: secret, Sealed: sealed, Set: s.now()})
	})
}

// Secret returns the value of an account's secret, ErrNotFound where it has
// none of that name.
func (s *Service) Secret(ctx context.Context, id ID, secret string) (string, error) {
	row, err := s.store.Secret(ctx, id, secret)
	if err != nil {
		return "", err
	}
	value, err := s.vault.Open(id, SealSecret, secret, row.Sealed)
	return string(value), err
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
func (s *Service) WebhookSecret(ctx context.Context, name string, rotate bool) (string, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return "", err
	}
	text, err := s.newestWebhook(ctx, a.ID, rotate)
	return text, s.refused(err, name)
}

func (s *Service) newestWebhook(ctx context.Context, id ID, rotate bool) (string, error) {
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
func (s *Service) WebhookSecrets(ctx context.Context, id ID) ([]string, error) {
	rows, err := s.store.WebhookSecrets(ctx, id, s.now())
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		text, err := s.newestWebhook(ctx, id, false)
		return []string{text}, err
	}
	secrets := make([]string, len(rows))
	for i, row := range rows {
		if secrets[i], err = s.openWebhook(row); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

func (s *Service) makeWebhook(ctx context.Context, id ID, number int64, now time.Time) (string, error) {
	var raw [webhookBytes]byte
	if _, err := io.ReadFull(s.o.Random, raw[:]); err != nil {
		return "", fmt.Errorf("making a webhook secret: %w", err)
	}
	text := webhookPrefix + base64.StdEncoding.EncodeToString(raw[:])
	sealed, err := s.vault.Seal(id, SealWebhook, strconv.FormatInt(number, 10), []byte(text))
	if err != nil {
		return "", err
	}
	row := WebhookSecret{Account: id, Number: number, Sealed: sealed, Made: now}
	if err := s.store.RotateWebhookSecret(ctx, row, now.Add(webhookOverlap)); err != nil {
		return "", err
	}
	return text, nil
}

func (s *Service) openWebhook(row WebhookSecret) (string, error) {
	text, err := s.vault.Open(row.Account, SealWebhook, strconv.FormatInt(row.Number, 10), row.Sealed)
	return string(text), err
}

var errName = errors.New("a name has 1 to 64 letters, digits, _, - and dots, and starts with a letter or _")

// isName takes the names of secrets and published scripts.
func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

// missing gives a code to what a store answers about a thing of an account.
func missing(err error, format string, args ...any) error {
	if errors.Is(err, ErrNotFound) {
		return fault.New(fault.NotFound, format, args...)
	}
	return err
}
