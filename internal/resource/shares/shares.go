// Package shares hands out an account's files by link: to whoever has the link,
// so many times and for so long as the script said. A link leads to the content
// that the file had when it was shared, and is known by the hash of its token.
// One use is claimed before the first byte goes out, so that no two get the file
// of a link for one.
//
// How a request for a file looks, and what its answer does, is the business of
// internal/server/download; where links and blobs are stored, that of their stores.
package shares

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/lang/value"
)

// Options are what Shares are made of. All are needed.
type Options struct {
	Store Store
	// Open opens content to be read; what is damaged gives an error.
	Open func(Content) io.ReadSeekCloser
	// Canonical checks the path of a file and returns its one written form.
	Canonical func(path string) (string, error)
	// URL is what links begin with, without a slash at its end.
	URL   string
	Clock func() time.Time
}

// Shares are the links of all accounts. It may be used by any number of
// goroutines.
type Shares struct{ o Options }

// New returns shares.
func New(o Options) *Shares { return &Shares{o} }

// linkPath is where links are, below Options.URL.
const linkPath = "/files/"

const tokenBytes = 32

func newToken() string {
	var b [tokenBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ParseToken returns the hash of a token, or of a cookie. A text that is none
// is like one that nobody knows. The length is that of the text, since decoding
// base64 passes over line breaks.
func ParseToken(text string) (Hash, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != tokenBytes || len(text) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(text)), true
}

// Limits are what one account may share.
type Limits struct {
	MaxLifetime time.Duration // that a link lives; 30 days where zero
	Bounds      Bounds
}

// What a link may be at most, and is where the script does not say.
const (
	maxLifetime     = 30 * 24 * time.Hour
	defaultLifetime = 24 * time.Hour
	maxTimes        = 1000
	maxName         = 255
)

// For returns the links of an account, for one script.
func (s *Shares) For(a account.ID, l Limits) *Links {
	if l.MaxLifetime == 0 {
		l.MaxLifetime = maxLifetime
	}
	return &Links{shares: s, account: a, limits: l}
}

// Links are the links of one account.
type Links struct {
	shares  *Shares
	account account.ID
	limits  Limits
}

var _ engine.Shares = (*Links)(nil)

// Link implements engine.Shares.
func (l *Links) Link() string { return l.shares.o.URL + linkPath + newToken() }

// Share implements engine.Shares.
func (l *Links) Share(ctx context.Context, link string, s engine.Share) error {
	return l.share(ctx, link, s, OfOwner)
}

func (l *Links) share(ctx context.Context, link string, s engine.Share, p Purpose) error {
	token, ok := tokenOf(link)
	if !ok {
		return errors.New("a link without a token")
	}
	if s.Path == "/" {
		return value.Errorf(isFolder, "%s is the folder of all files, not a file", value.Quote(s.Path))
	}
	at, err := l.shares.o.Canonical(s.Path)
	if err != nil {
		return err
	}
	now := l.shares.o.Clock().UTC().Truncate(time.Microsecond)
	n := CreateParams{Token: token, Account: l.account, Path: at, Made: now, Purpose: p, Bounds: l.limits.Bounds}
	if n.Name, err = name(s.Name, at); err != nil {
		return err
	}
	if n.Times, err = times(s); err != nil {
		return err
	}
	lifetime, err := l.lifetime(s)
	if err != nil {
		return err
	}
	n.Expires = now.Add(lifetime)
	return l.explain(at, l.shares.o.Store.Create(ctx, n))
}

// Make makes a link up and has it lead to a file; id is what it is called in lists.
func (l *Links) Make(ctx context.Context, s engine.Share) (link, id string, err error) {
	link = l.Link()
	token, _ := tokenOf(link)
	return link, Share{Token: token}.ID(), l.Share(ctx, link, s)
}

// hiddenFor is how long a link of a purpose lives.
const hiddenFor = 5 * time.Minute

// MakeFor makes a link to a file for one use within five minutes, by the owner's own browser, that is
// in no list.
func (l *Links) MakeFor(ctx context.Context, path string, p Purpose) (link string, err error) {
	link = l.Link()
	once, lifetime := int64(1), min(hiddenFor, l.limits.MaxLifetime)
	return link, l.share(ctx, link, engine.Share{Path: path, Times: &once, For: &lifetime}, p)
}

// name returns what a file is handed out as.
func name(given *string, at string) (string, error) {
	if given == nil {
		return path.Base(at), nil
	}
	n := *given
	bad := strings.IndexFunc(n, func(r rune) bool {
		return unicode.IsControl(r) || r == '/' || r == '\\' || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
	})
	switch {
	case strings.TrimSpace(n) == "" || n == "." || n == "..":
		return "", value.Errorf(value.BadArgument, "NAMED takes the name of a file, not %s", value.Quote(n))
	case !utf8.ValidString(n) || bad >= 0:
		return "", value.Errorf(value.BadArgument, "the name %s holds a slash or a character that cannot be seen: NAMED takes a name without", value.Quote(n))
	case len(n) > maxName:
		return "", value.Errorf(value.BadArgument, "the name has %d bytes, and NAMED takes %d at most", len(n), maxName)
	}
	return n, nil
}

// times returns how often a link may be used; 0 for any number.
func times(s engine.Share) (int, error) {
	switch {
	case s.Unlimited:
		return 0, nil
	case s.Times == nil:
		return 1, nil
	case *s.Times < 1:
		return 0, value.Errorf(value.BadArgument, "a link works at least once: TIMES %d does not fit", *s.Times)
	case *s.Times > maxTimes:
		return 0, value.Exceeded("share_times", maxTimes, "a link works %d times at most, and TIMES says %d: UNLIMITED has no number", maxTimes, *s.Times)
	}
	return int(*s.Times), nil
}

// lifetime returns how long a link lives.
func (l *Links) lifetime(s engine.Share) (time.Duration, error) {
	switch {
	case s.For == nil:
		return min(defaultLifetime, l.limits.MaxLifetime), nil
	case *s.For <= 0:
		return 0, value.Errorf(value.BadArgument, "a link lives longer than no time: FOR takes a duration above 0")
	case *s.For > l.limits.MaxLifetime:
		return 0, value.Exceeded("share_time", l.limits.MaxLifetime.Milliseconds(), "a link lives for %s at most, and FOR says %s", words(l.limits.MaxLifetime), words(*s.For))
	}
	return *s.For, nil
}

const isFolder = "is_folder"

// explain tells a script why there is no link.
func (l *Links) explain(at string, err error) error {
	var size *SizeError
	switch {
	case errors.Is(err, ErrNoFile):
		return value.Errorf(string(fault.FileNotFound), "there is no file %s", value.Quote(at))
	case errors.Is(err, ErrFolder):
		return value.Errorf(isFolder, "%s is a folder, not a file", value.Quote(at))
	case errors.Is(err, ErrLinks):
		return value.Errorf(string(fault.QuotaExceeded), "the account has %d links that work, and may have no more: UNSHARE takes one back", l.limits.Bounds.Links)
	case !errors.As(err, &size):
		return err
	case size.All:
		return value.Errorf(string(fault.QuotaExceeded), "the files behind the account's links, and those that its jobs are in loops through, would have %s, and may have %d: UNSHARE takes a link back", value.FormatByteCount(size.Size), size.Bound)
	}
	return value.Exceeded("share_bytes", size.Bound, "the file %s has %s, and may have %d to be shared", value.Quote(at), value.FormatByteCount(size.Size), size.Bound)
}

// Unshare implements engine.Shares.
func (l *Links) Unshare(ctx context.Context, link string) error {
	token, ok := tokenOf(link)
	if !ok {
		return noLink(link)
	}
	err := l.shares.o.Store.Revoke(ctx, l.account, token, l.shares.o.Clock().UTC().Truncate(time.Microsecond))
	if errors.Is(err, ErrNotFound) {
		return noLink(link)
	}
	return err
}

func noLink(text string) error {
	return value.Errorf(string(fault.FileNotFound), "%s is no link of this account: UNSHARE takes a link that SHARE gave", value.Quote(text))
}

// tokenOf returns the hash of the token of a link. What stands before it may
// have been another address in the days when the link was made.
func tokenOf(link string) (Hash, bool) {
	i := strings.LastIndex(link, linkPath)
	if i < 0 {
		return Hash{}, false
	}
	return ParseToken(link[i+len(linkPath):])
}

// words returns a duration as people write one.
func words(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d / unit.of; n > 0 && d%unit.of == 0 {
			text := string(value.AppendText(nil, value.Int(int64(n)))) + " " + unit.name
			if n > 1 {
				text += "s"
			}
			return text
		}
	}
	return d.String()
}
