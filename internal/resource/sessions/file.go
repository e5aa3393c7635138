package sessions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// fileStore keeps sessions in a SQLite file of their own.
type fileStore struct{ db *sql.DB }

var _ Store = fileStore{}

// schemaVersion is that of the file. Sessions of an older one end.
const schemaVersion = 2

const schema = `
DROP TABLE IF EXISTS sessions;
CREATE TABLE sessions (
	account INTEGER NOT NULL,
	id_hash BLOB    NOT NULL,
	data    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	created INTEGER NOT NULL, -- microseconds since 1970
	touched INTEGER NOT NULL, -- likewise
	PRIMARY KEY (account, id_hash)
) WITHOUT ROWID;
CREATE INDEX sessions_touched ON sessions (account, touched);
PRAGMA user_version = 2`

// Open opens a store in a file, which is made where it is missing.
func Open(ctx context.Context, path string, o Options) (*Manager, error) {
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
	rows := fileStore{db}
	if err := rows.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("session store: %w", err), db.Close())
	}
	s := New(rows, o)
	s.file = db
	return s, nil
}

func (f fileStore) migrate(ctx context.Context) error {
	return f.change(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch {
		case version < schemaVersion:
			_, err := tx.ExecContext(ctx, schema)
			return err
		case version == schemaVersion:
			return nil
		}
		return fmt.Errorf("it was made by a newer program (version %d, this one knows %d)", version, schemaVersion)
	})
}

// change runs f in a transaction.
func (f fileStore) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error tells more
		return err
	}
	return tx.Commit()
}

// Create implements Store.
func (f fileStore) Create(ctx context.Context, k Key, now time.Time, expired Expiry) error {
	return f.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE account = ? AND (touched < ? OR created < ?)",
			k.Account, expired.Touched.UnixMicro(), expired.Created.UnixMicro()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE (account, id_hash) IN (SELECT account, id_hash FROM sessions WHERE account = ? ORDER BY touched DESC LIMIT -1 OFFSET ?)",
			k.Account, expired.Most); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (account, id_hash, data, version, created, touched) VALUES (?, ?, '{}', 0, ?, ?)",
			k.Account, k.Hash[:], now.UnixMicro(), now.UnixMicro())
		return err
	})
}

// Load implements Store.
func (f fileStore) Load(ctx context.Context, k Key) (row Row, found bool, err error) {
	var created, touched int64
	err = f.db.QueryRowContext(ctx, "SELECT data, version, created, touched FROM sessions WHERE account = ? AND id_hash = ?", k.Account, k.Hash[:]).
		Scan(&row.Data, &row.Version, &created, &touched)
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, false, nil
	}
	row.Created, row.Touched = time.UnixMicro(created), time.UnixMicro(touched)
	return row, err == nil, err
}

// Touch implements Store.
func (f fileStore) Touch(ctx context.Context, k Key, now time.Time) error {
	_, err := f.db.ExecContext(ctx, "UPDATE sessions SET touched = ? WHERE account = ? AND id_hash = ?", now.UnixMicro(), k.Account, k.Hash[:])
	return err
}

// Replace implements Store.
func (f fileStore) Replace(ctx context.Context, k Key, version int64, data string, now time.Time) (bool, error) {
	result, err := f.db.ExecContext(ctx, "UPDATE sessions SET data = ?, version = version + 1, touched = ? WHERE account = ? AND id_hash = ? AND version = ?",
		data, now.UnixMicro(), k.Account, k.Hash[:], version)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Remove implements Store.
func (f fileStore) Remove(ctx context.Context, k Key) error {
	_, err := f.db.ExecContext(ctx, "DELETE FROM sessions WHERE account = ? AND id_hash = ?", k.Account, k.Hash[:])
	return err
}
