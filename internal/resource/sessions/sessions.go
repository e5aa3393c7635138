// Package sessions has the sessions of accounts' visitors: a map of JSON
// values each, found by a random id that only its holder knows. Two runs on one
// session go one after the other. Where they are stored is a matter of Store; Open
// stores them in a file of their own.
//
// Cookies, and who may call for which account, are the caller's business.
package sessions

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"ql/internal/account"
	"ql/internal/keyedlock"
	"ql/lang/value"
)

// Key is what a session is found by: the same id under two accounts is two
// sessions.
type Key struct {
	Account account.ID
	Hash    [sha256.Size]byte // the id itself is stored nowhere
}

// Row is a session as it is stored. Times are exact to the microsecond.
type Row struct {
	Data    string // a map as JSON
	Version int64  // another with each change of Data
	Created time.Time
	Touched time.Time // when it was last used, about
	Holder  int64     // the incarnation of a node whose run has it; 0 for none, or where Turns are not kept
}

// Expiry says which sessions of an account are over.
type Expiry struct {
	Touched time.Time // those last used before
	Created time.Time // those made before
	Most    int       // of those left, all but this many that were used last
}

// Store stores sessions. Each method is one whole change, committed when it
// returns nil, and safe for concurrent use.
type Store interface {
	// Create removes the sessions of the account that are over, and adds one
	// that holds "{}".
	Create(ctx context.Context, k Key, now time.Time, expired Expiry) error
	// Load reports whether there is such a session, and returns it.
	Load(ctx context.Context, k Key) (Row, bool, error)
	// Touch records that a session is used now.
	Touch(ctx context.Context, k Key, now time.Time) error
	// Replace changes a session's data where it is still of a version, and
	// reports whether it was. The change counts as a use.
	Replace(ctx context.Context, k Key, version int64, data string, now time.Time) (bool, error)
	Remove(ctx context.Context, k Key) error
}

// Turns says which of the nodes that share a store has a session.
type Turns interface {
	// Claim makes a session a holder's, unless it is that of another one that is a member, and reports whether
	// it did.
	Claim(ctx context.Context, k Key, holder int64) (bool, error)
	// Return lets others have a session that is still a holder's.
	Return(ctx context.Context, k Key, holder int64) error
}

// Options are the bounds of a store. A zero field means its default.
type Options struct {
	// Turns keeps apart the runs of several nodes, and Holder returns the incarnation of this one. Without them
	// there is one node.
	Turns  Turns
	Holder func() int64

	MaxBytes    int           // of one session's data as JSON; 64 KiB
	MaxKeys     int           // of one session; 256
	MaxSessions int           // of one account; 10,000
	Idle        time.Duration // after which an unused session ends; 24 hours
	MaxAge      time.Duration // after which any session ends; 30 days
	Clock       func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 10
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = 256
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 10_000
	}
	if o.Idle <= 0 {
		o.Idle = 24 * time.Hour
	}
	if o.MaxAge <= 0 {
		o.MaxAge = 30 * 24 * time.Hour
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Manager has the sessions of any number of accounts. It may be used by any number
// of goroutines.
type Manager struct {
	rows    Store
	file    io.Closer // nil where the rows are somebody else's to close
	options Options
	locks   keyedlock.Locks[Key] // held by the one run that has a session
	owed    owed
}

// New returns a manager of the sessions of a store.
func New(rows Store, o Options) *Manager {
	return &Manager{rows: rows, options: o.withDefaults()}
}

// Close closes the file of a store that has one. Sessions must have been let
// go before.
func (s *Manager) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// idBytes is how long an id is: 256 bits.
const idBytes = 32

func newID() string {
	id := make([]byte, idBytes)
	_, _ = rand.Read(id) // never fails
	return base64.RawURLEncoding.EncodeToString(id)
}

func keyOf(a account.ID, id string) Key {
	return Key{a, sha256.Sum256([]byte(id))}
}

// expiry returns what is over at a moment by its age.
func (s *Manager) expiry(now time.Time) Expiry {
	return Expiry{Touched: now.Add(-s.options.Idle), Created: now.Add(-s.options.MaxAge)}
}

// create adds a session to an account that may have so many, and returns its id.
func (s *Manager) create(ctx context.Context, a account.ID, most int) (string, error) {
	id, now := newID(), s.options.Clock()
	expired := s.expiry(now)
	expired.Most = max(most-1, 0)
	return id, s.rows.Create(ctx, keyOf(a, id), now, expired)
}

// touchInterval is how exact the time of a session's last use is kept.
const touchInterval = time.Minute

// touch reports whether a session is there and not over, and records its use.
func (s *Manager) touch(ctx context.Context, k Key) (bool, error) {
	row, found, err := s.rows.Load(ctx, k)
	if err != nil || !found {
		return false, err
	}
	now := s.options.Clock()
	expired := s.expiry(now)
	switch {
	case row.Touched.Before(stored(expired.Touched)), row.Created.Before(stored(expired.Created)):
		return false, s.rows.Remove(ctx, k)
	case now.Sub(row.Touched) < touchInterval:
		return true, nil
	}
	return true, s.rows.Touch(ctx, k, now)
}

// stored returns a time as exact as rows keep it.
func stored(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()) }

// load returns a session that a holder has.
func (s *Manager) load(ctx context.Context, k Key, holder int64) (Row, error) {
	row, found, err := s.rows.Load(ctx, k)
	switch {
	case err != nil:
		return Row{}, err
	case !found:
		return Row{}, gone()
	case row.Holder != holder && holder != 0:
		return Row{}, lost()
	}
	return row, nil
}

// update replaces a session's data by what f makes of it. Only another program
// that has the same rows makes it try again.
func (s *Manager) update(ctx context.Context, k Key, holder int64, f func(data string) (string, error)) error {
	for {
		row, err := s.load(ctx, k, holder)
		if err != nil {
			return err
		}
		data, err := f(row.Data)
		if err != nil {
			return err
		}
		done, err := s.rows.Replace(ctx, k, row.Version, data, s.options.Clock())
		if err != nil || done {
			return err
		}
	}
}

// remove removes a session that a holder has.
func (s *Manager) remove(ctx context.Context, k Key, holder int64) error {
	if _, err := s.load(ctx, k, holder); holder != 0 && err != nil {
		return err
	}
	return s.rows.Remove(ctx, k)
}

// gone is the error of a session that is no longer there.
func gone() error {
	return value.Errorf(noSession, "the session has ended: START SESSION starts another")
}

// lost is the error of a session that another node took from this one, which was taken for dead.
func lost() error {
	return value.Errorf("session_busy", "another call has the session now: this one stood still for too long")
}

const noSession = "no_session"

// acquire waits for a session that another run has.
func (s *Manager) acquire(ctx context.Context, k Key) error {
	return busy(s.locks.Lock(ctx, k))
}

// busy is the error of a wait for a session.
func busy(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return value.Errorf("session_busy", "another call of this session is still running: it was waited for as long as this call may take")
	}
	return err
}
