package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

// MarkDeleted implements account.Accounts.
func (s Accounts) MarkDeleted(ctx context.Context, id account.ID, now time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		n, err := t.exec("UPDATE accounts SET disabled = 1 WHERE id = ?", int64(id))
		if err == nil && n == 0 {
			err = account.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := t.endSignIns(id); err != nil {
			return err
		}
		n, err = t.exec("INSERT INTO departures (account, since) VALUES (?, ?) ON CONFLICT DO NOTHING", int64(id), now.UnixMicro())
		if err != nil || n == 0 {
			return err
		}
		return t.audit(ctx, audit.Event{Account: id, Act: audit.AccountDeleted})
	})
}

// Tombstones implements account.Accounts.
func (s Accounts) Tombstones(ctx context.Context) (list []account.Tombstone, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT account, since FROM departures ORDER BY account", func(r row) {
			list = append(list, account.Tombstone{Account: account.ID(r.int(0)), Since: r.time(1)})
		})
	})
	return list, err
}

// DropTombstone implements account.Accounts.
func (s Accounts) DropTombstone(ctx context.Context, id account.ID) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("DELETE FROM departures WHERE account = ? AND account NOT IN (SELECT id FROM accounts)", int64(id))
		return err
	})
}

// SetPurged implements account.Accounts.
func (s Accounts) SetPurged(ctx context.Context, id account.ID, at time.Time) error {
	return s.guarded(ctx, id, "UPDATE accounts SET emptied = ? WHERE id = ?", at, int64(id))
}

// left are the rows that scripts and callers of an account leave besides its jobs, with the
// statement that removes some of them. What belongs to such a row goes with it.
var left = []string{
	"DELETE FROM deliveries WHERE seq IN (SELECT seq FROM deliveries WHERE account = ? LIMIT ?)",
	"DELETE FROM mails WHERE seq IN (SELECT seq FROM mails WHERE account = ? LIMIT ?)",
	"DELETE FROM idempotency_keys WHERE account = ?1 AND hash IN (SELECT hash FROM idempotency_keys WHERE account = ?1 LIMIT ?2)",
	"DELETE FROM shares WHERE seq IN (SELECT seq FROM shares WHERE account = ? LIMIT ?)",
	// Of a site the files of one release after the other.
	`DELETE FROM site_files WHERE account = ?1 AND release = (SELECT min(release) FROM site_files WHERE account = ?1) AND key <= (SELECT max(key) FROM
		(SELECT key FROM site_files WHERE account = ?1 AND release = (SELECT min(release) FROM site_files WHERE account = ?1) ORDER BY key LIMIT ?2) AS few)`,
	"DELETE FROM published_scripts WHERE seq IN (SELECT seq FROM published_scripts WHERE account = ? LIMIT ?)",
}

// Purge implements account.Accounts.
func (s Accounts) Purge(ctx context.Context, id account.ID, limit int) (removed int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		defer t.conn.Conn.ChangesAccount(id)()
		if removed, err = t.dropJobs(id, limit); err != nil || removed >= limit {
			return err
		}
		for _, sql := range left {
			n, err := t.exec(sql, int64(id), limit-removed)
			if err != nil {
				return err
			}
			if removed += int(n); removed >= limit {
				return nil
			}
		}
		dropped, err := t.purgeContents(id, limit-removed)
		if removed += dropped; err != nil || removed >= limit {
			return err
		}
		n, err := t.exec("DELETE FROM sessions WHERE seq IN (SELECT seq FROM sessions WHERE account = ? LIMIT ?)", int64(id), limit-removed)
		if err == nil {
			err = t.countSessions(id, -n)
		}
		if removed += int(n); err != nil || removed >= limit {
			return err
		}
		dropped, err = t.dropFiles(id, limit-removed)
		if removed += dropped; err != nil || removed >= limit {
			return err
		}
		if t.conn.Old.NoAudit {
			return nil
		}
		dropped, err = t.dropAudit(id, limit-removed)
		removed += dropped
		return err
	})
	return removed, err
}

// dropFiles removes files and empty folders: with their chunks no more rows than
// the limit, but for one file that has more alone. What is in a folder has a
// greater key than the folder, so that nothing is ever left without its folder.
func (t tx) dropFiles(id account.ID, limit int) (removed int, err error) {
	type node struct{ seq, size int64 }
	var nodes []node
	err = t.each(`SELECT seq, size, (SELECT count(*) FROM file_chunks WHERE account = files.account AND file = files.seq) FROM files
		WHERE account = ? ORDER BY key DESC LIMIT ?`, func(r row) {
		if rows := 1 + int(r.int(2)); len(nodes) == 0 || removed+rows <= limit {
			nodes = append(nodes, node{r.int(0), r.int(1)})
			removed += rows
		} else {
			removed = limit // the others wait for their turn
		}
	}, int64(id), limit)
	if err != nil || len(nodes) == 0 {
		return 0, err
	}
	bytes := int64(0)
	for _, n := range nodes {
		if err := t.dropFileRow(int64(id), n.seq, true); err != nil {
			return 0, err
		}
		bytes += n.size
	}
	_, err = t.exec("UPDATE file_trees SET generation = generation + 1, bytes = bytes - ?, nodes = nodes - ? WHERE account = ?", bytes, len(nodes), int64(id))
	return removed, err
}
