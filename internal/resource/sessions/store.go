// Package sessions keeps the sessions of accounts' visitors in a SQLite file:
// a map of JSON values each, found by a random id that only its holder knows.
// Two runs on one session go one after the other.
//
// Cookies, and who may call for which account, are the caller's business.
package sessions

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ql/lang/value"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Options are the bounds of a store. A zero field means its default.
type Options struct {
	MaxBytes    int           // of one session's data as JSON; 64 KiB
	MaxKeys     int           // of one session; 256
	MaxSessions int           // of one account; 10,000
	Idle        time.Duration // after which an unused session ends; 24 hours
	Longest     time.Duration // after which any session ends; 30 days
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
	if o.Longest <= 0 {
		o.Longest = 30 * 24 * time.Hour
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Store holds sessions of any number of accounts. It may be used by any number
// of goroutines.
type Store struct {
	db      *sql.DB
	options Options

	mu    sync.Mutex
	locks map[key]*lock
}

// key is what a session is found by: the same id under two accounts is two
// sessions.
type key struct {
	account string
	hash    [sha256.Size]byte // the id itself is kept nowhere
}

const schemaVersion = 1

const schema = `
CREATE TABLE sessions (
	account TEXT    NOT NULL,
	id_hash BLOB    NOT NULL,
	data    TEXT    NOT NULL,
	created INTEGER NOT NULL, -- microseconds since 1970
	touched INTEGER NOT NULL, -- likewise
	PRIMARY KEY (account, id_hash)
) WITHOUT ROWID;
CREATE INDEX sessions_touched ON sessions (account, touched);
PRAGMA user_version = 1`

// Open opens the store in a file, which is made where it is missing.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// Made here, so that nobody else may read it.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_dqs=0"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db, options: o.withDefaults(), locks: map[key]*lock{}}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("session store: %w", err), db.Close())
	}
	return s, nil
}

func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch version {
		case 0:
			_, err := tx.ExecContext(ctx, schema)
			return err
		case schemaVersion:
			return nil
		}
		return fmt.Errorf("it was made by a newer program (version %d, this one knows %d)", version, schemaVersion)
	})
}

// change runs f in a transaction.
func (s *Store) change(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the first error tells more
		return err
	}
	return tx.Commit()
}

// Close closes the file. Sessions must have been let go before.
func (s *Store) Close() error { return s.db.Close() }

// now returns the time in microseconds.
func (s *Store) now() int64 { return s.options.Clock().UnixMicro() }

// idBytes is how long an id is: 256 bits.
const idBytes = 32

func newID() string {
	id := make([]byte, idBytes)
	_, _ = rand.Read(id) // never fails
	return base64.RawURLEncoding.EncodeToString(id)
}

func keyOf(account, id string) key {
	return key{account, sha256.Sum256([]byte(id))}
}

// create adds a session and returns its id. Sessions of the account that are
// over go, and where there are too many, those unused for the longest.
func (s *Store) create(ctx context.Context, account string) (string, error) {
	id, now := newID(), s.now()
	k := keyOf(account, id)
	err := s.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE account = ? AND (touched < ? OR created < ?)",
			account, now-s.options.Idle.Microseconds(), now-s.options.Longest.Microseconds()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE (account, id_hash) IN (SELECT account, id_hash FROM sessions WHERE account = ? ORDER BY touched DESC LIMIT -1 OFFSET ?)",
			account, s.options.MaxSessions-1); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (account, id_hash, data, created, touched) VALUES (?, ?, '{}', ?, ?)", account, k.hash[:], now, now)
		return err
	})
	return id, err
}

// touchEvery is how exact the time of a session's last use is kept.
const touchEvery = time.Minute

// touch reports whether a session is there and not over, and records its use.
func (s *Store) touch(ctx context.Context, k key) (bool, error) {
	now, known := s.now(), false
	err := s.change(ctx, func(tx *sql.Tx) error {
		var created, touched int64
		err := tx.QueryRowContext(ctx, "SELECT created, touched FROM sessions WHERE account = ? AND id_hash = ?", k.account, k.hash[:]).Scan(&created, &touched)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case touched < now-s.options.Idle.Microseconds(), created < now-s.options.Longest.Microseconds():
			_, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE account = ? AND id_hash = ?", k.account, k.hash[:])
			return err
		}
		known = true
		if touched > now-touchEvery.Microseconds() {
			return nil
		}
		_, err = tx.ExecContext(ctx, "UPDATE sessions SET touched = ? WHERE account = ? AND id_hash = ?", now, k.account, k.hash[:])
		return err
	})
	return known, err
}

// load returns a session's data as JSON.
func (s *Store) load(ctx context.Context, k key) (string, error) {
	var data string
	err := s.db.QueryRowContext(ctx, "SELECT data FROM sessions WHERE account = ? AND id_hash = ?", k.account, k.hash[:]).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return "", gone()
	}
	return data, err
}

// update replaces a session's data by what f makes of it.
func (s *Store) update(ctx context.Context, k key, f func(data string) (string, error)) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		var data string
		err := tx.QueryRowContext(ctx, "SELECT data FROM sessions WHERE account = ? AND id_hash = ?", k.account, k.hash[:]).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) {
			return gone()
		}
		if err != nil {
			return err
		}
		if data, err = f(data); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE sessions SET data = ?, touched = ? WHERE account = ? AND id_hash = ?", data, s.now(), k.account, k.hash[:])
		return err
	})
}

// remove removes a session.
func (s *Store) remove(ctx context.Context, k key) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM sessions WHERE account = ? AND id_hash = ?", k.account, k.hash[:])
	return err
}

// gone is the error of a session that is no longer there.
func gone() error {
	return value.Errorf(noSession, "the session has ended: START SESSION starts another")
}

const noSession = "no_session"

// lock is held by the one run that has a session. The channel holds a token
// while somebody has it; waiting runs get it in the order in which they came.
type lock struct {
	token chan struct{}
	users int // who have it or wait for it; guarded by Store.mu
}

// acquire waits for a session that another run has.
func (s *Store) acquire(ctx context.Context, k key) error {
	s.mu.Lock()
	l := s.locks[k]
	if l == nil {
		l = &lock{token: make(chan struct{}, 1)}
		s.locks[k] = l
	}
	l.users++
	s.mu.Unlock()
	select {
	case l.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		s.leave(k, l)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return value.Errorf("session_busy", "another call of this session is still running: it was waited for as long as this call may take")
		}
		return ctx.Err()
	}
}

// release lets the next run have a session.
func (s *Store) release(k key) {
	s.mu.Lock()
	l := s.locks[k]
	s.mu.Unlock()
	<-l.token
	s.leave(k, l)
}

func (s *Store) leave(k key, l *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.locks, k)
	}
}
