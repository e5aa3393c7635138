package relational

import (
	"context"
	"math"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
)

// Dead implements files.Store.
func (s Files) Dead(ctx context.Context, q files.DeadQuery, limit int) (list []files.DeadBlob, err error) {
	add := func(r row) {
		d := files.DeadBlob{Chunk: files.Chunk{Size: r.int(2)}, Account: account.ID(r.int(1)), Since: r.time(3)}
		copy(d.Hash[:], r.s.Blob(0))
		list = append(list, d)
	}
	const columns = "SELECT hash, account, size, since FROM dead_blobs "
	err = s.store.read(ctx, func(t tx) error {
		if q.Deleting {
			return t.each(`SELECT dead_blobs.hash, account, size, since FROM blob_deletions JOIN dead_blobs ON dead_blobs.hash = blob_deletions.hash
				WHERE blob_deletions.hash > ? AND removed IS NULL ORDER BY blob_deletions.hash LIMIT ?`, add, q.After[:], max(limit, 0))
		}
		if q.Account == 0 {
			before := int64(math.MaxInt64)
			if !q.Before.IsZero() {
				before = q.Before.UnixMicro()
			}
			return t.each(columns+"WHERE coalesce(since, ?1) <= ?2 AND hash > ?3 ORDER BY hash LIMIT ?4", add, int64(math.MaxInt64), before, q.After[:], max(limit, 0))
		}
		// Those that no sweep has seen yet are the newest.
		if err := t.each(columns+"WHERE account = ? AND since IS NOT NULL ORDER BY since LIMIT ?", add, int64(q.Account), max(limit, 0)); err != nil {
			return err
		}
		return t.each(columns+"WHERE account = ? AND since IS NULL LIMIT ?", add, int64(q.Account), max(limit-len(list), 0))
	})
	return list, err
}

// MarkDeadSeen implements files.Store.
func (s Files) MarkDeadSeen(ctx context.Context, now time.Time) error {
	unseen, err := s.unseen(ctx)
	if err != nil || !unseen {
		return err
	}
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE dead_blobs SET since = ? WHERE since IS NULL", now)
		return err
	})
}

func (s Files) unseen(ctx context.Context) (found bool, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		found, err = t.has("SELECT 1 FROM dead_blobs WHERE since IS NULL LIMIT 1")
		return err
	})
	return found, err
}

// references are the rows that refer to a blob, whose hash is ?1.
const references = "SELECT 1 FROM file_chunks WHERE hash = ?1 UNION ALL SELECT 1 FROM share_chunks WHERE hash = ?1 UNION ALL SELECT 1 FROM site_chunks WHERE hash = ?1 UNION ALL SELECT 1 FROM shipped_chunks WHERE hash = ?1"

// refersTo reports whether a row refers to a blob.
func (t tx) refersTo(hash files.Hash) (bool, error) { return t.has(references, hash[:]) }

// AddDead implements files.Store.
func (s Files) AddDead(ctx context.Context, list []files.DeadBlob) error {
	if len(list) == 0 {
		return nil
	}
	return s.store.writeFreeing(ctx, func(t tx) error {
		for _, d := range list {
			if err := t.addDead(d); err != nil {
				return err
			}
		}
		return nil
	})
}

// StartDeletion implements files.Store.
func (s Files) StartDeletion(ctx context.Context, hashes []files.Hash) (started []files.Hash, err error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	err = s.store.writeFreeing(ctx, func(t tx) error {
		started = nil
		for i := range hashes {
			dead, used := false, false
			if _, err := t.one("SELECT 1, EXISTS ("+references+") FROM dead_blobs WHERE hash = ?1", func(r row) { dead, used = true, r.bool(1) }, hashes[i][:]); err != nil {
				return err
			}
			if used {
				if err := t.dropDead(hashes[i]); err != nil {
					return err
				}
				continue
			}
			if !dead {
				continue
			}
			if _, err := t.exec("INSERT INTO blob_deletions (hash) VALUES (?) ON CONFLICT (hash) DO UPDATE SET removed = NULL", hashes[i][:]); err != nil {
				return err
			}
			started = append(started, hashes[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return started, nil
}

// isDeleting reports whether the deletion of a blob was started.
func (t tx) isDeleting(hash files.Hash) (bool, error) {
	return t.has("SELECT 1 FROM blob_deletions WHERE hash = ?", hash[:])
}

// dropDead forgets a dead blob, and that it is deleted.
func (t tx) dropDead(hash files.Hash) error {
	if err := t.revive(hash); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM blob_deletions WHERE hash = ?", hash[:])
	return err
}

// DropDead implements files.Store.
func (s Files) DropDead(ctx context.Context, hashes []files.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	err := s.store.writeFreeing(ctx, func(t tx) error {
		for i := range hashes {
			if err := t.dropDead(hashes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil { // the content has gone before
		s.store.engine.Freed()
	}
	return err
}

// EndDeletion implements files.Store.
func (s Files) EndDeletion(ctx context.Context, hashes []files.Hash, now time.Time) error {
	if len(hashes) == 0 {
		return nil
	}
	return s.store.writeFreeing(ctx, func(t tx) error {
		for i := range hashes {
			if err := t.revive(hashes[i]); err != nil {
				return err
			}
			if _, err := t.exec("UPDATE blob_deletions SET removed = ? WHERE hash = ?", now, hashes[i][:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropDeletions implements files.Store.
func (s Files) DropDeletions(ctx context.Context, before time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("DELETE FROM blob_deletions WHERE removed <= ?", before)
		return err
	})
}
