package account

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/internal/colour"
	"ql/internal/fault"
)

// Look is how the pages of an account's questions look. Its username and the host stand there
// whatever it is.
type Look struct {
	DisplayName string // beside the username; "" for none
	Logo        string // the path of a picture among the account's files; "" for none
	Accent      string // the colour of buttons, as #1a56db; "" for the usual one
}

// LookChange says how the pages of an account look from now on. What is nil stays as it is, and "" is none.
type LookChange struct{ DisplayName, Logo, Accent *string }

// Apply makes the change to an account.
func (c LookChange) Apply(a *Account) {
	for _, one := range []struct{ to, kept *string }{{c.DisplayName, &a.Look.DisplayName}, {c.Logo, &a.Look.Logo}, {c.Accent, &a.Look.Accent}} {
		if one.to != nil {
			*one.kept = *one.to
		}
	}
}

const (
	maxDisplayName = 60 // code points
	maxLogoPath    = 1024
)

// SetLook changes how the pages of the account look. Whether a logo is there is looked at when it is
// shown.
func (s *Service) SetLook(ctx context.Context, name string, change LookChange) (a Account, err error) {
	if change.DisplayName != nil {
		trimmed := strings.TrimSpace(*change.DisplayName)
		change.DisplayName = &trimmed
		if !isDisplayName(trimmed) {
			return a, fault.Invalid("display_name", "has more than %d characters, or some that cannot be seen: a short name in one line fits", maxDisplayName)
		}
	}
	if path := change.Logo; path != nil && *path != "" && (!strings.HasPrefix(*path, "/") || len(*path) > maxLogoPath || !utf8.ValidString(*path) || strings.ContainsFunc(*path, unicode.IsControl)) {
		return a, fault.Invalid("logo", "is no path of a file: /logo.png fits, where the account has a picture of that name")
	}
	if change.Accent != nil && *change.Accent != "" {
		accent, err := parseAccent(*change.Accent)
		if err != nil {
			return a, err
		}
		change.Accent = &accent
	}
	err = s.with(ctx, name, func(found Account) error {
		a = found
		change.Apply(&a)
		return s.store.SetLook(ctx, a.ID, change)
	})
	return a, err
}

// isDisplayName tells whether a name looks like what it is: nothing in it turns the text around it,
// or hides.
func isDisplayName(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxDisplayName && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// parseAccent reads the colour of buttons, on which white is read by day. By night it is made lighter.
func parseAccent(text string) (string, error) {
	c, err := colour.Parse(text)
	if err != nil {
		return "", fault.Invalid("accent", "%v", err)
	}
	if ratio := colour.Contrast(c, colour.White); ratio < colour.Readable {
		// Rounded down, or it would claim to be enough.
		return "", fault.Invalid("accent", "%s has a contrast of %.2f:1 with white, in which buttons are labelled: %.1f:1 or more fits, such as #1a56db has", c, float64(int(ratio*100))/100, colour.Readable)
	}
	return c.String(), nil
}
