package relational

import (
	"cmp"
	"context"
	"fmt"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/resource/files"
)

// Files keeps the nodes of accounts' trees of files.
type Files struct{ store *Store }

var _ files.Store = Files{}

// Files returns the store's files.
func (s *Store) Files() Files { return Files{s} }

const (
	nodeColumns = "path, folder, size, modified"
	nodeByKey   = "SELECT " + nodeColumns + " FROM files WHERE account = ? AND key = ?"
)

func readNode(r row) files.Node {
	return files.Node{Path: r.text(0), Folder: r.bool(1), Size: r.int(2), Modified: r.time(3)}
}

// Usage implements files.Store.
func (s Files) Usage(ctx context.Context, a account.ID) (u files.Usage, err error) {
	err = s.store.read(ctx, func(t tx) error {
		if _, err := t.one("SELECT generation, bytes, nodes, dead FROM file_trees WHERE account = ?", func(r row) {
			u = files.Usage{Generation: r.int(0), Bytes: r.int(1), Nodes: r.int(2), Dead: r.int(3)}
		}, int64(a)); err != nil {
			return err
		}
		_, err := t.one("SELECT bytes FROM site_usage WHERE account = ?", func(r row) { u.Releases = r.int(0) }, int64(a))
		return err
	})
	return u, err
}

// Find implements files.Store.
func (s Files) Find(ctx context.Context, a account.ID, keys []string) ([]*files.Node, error) {
	found := make([]*files.Node, len(keys))
	err := s.store.read(ctx, func(t tx) error {
		for i, key := range keys {
			_, err := t.one(nodeByKey, func(r row) {
				n := readNode(r)
				found[i] = &n
			}, int64(a), key)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// Content implements files.Store.
func (s Files) Content(ctx context.Context, a account.ID, key string) (found *files.Node, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			found, err = t.content(a, key)
			return err
		})
	})
	return found, err
}

// content returns a node with its content; nil where there is none.
func (t tx) content(a account.ID, key string) (found *files.Node, err error) {
	var seq int64
	var whole bool
	ok, err := t.one("SELECT "+nodeColumns+", seq, tail, checksum FROM files WHERE account = ? AND key = ?", func(r row) {
		n := readNode(r)
		seq, n.Tail = r.int(4), r.bytes(5)
		found, whole = &n, r.matches(6, n.Tail)
	}, int64(a), key)
	if err == nil && ok && !whole {
		err = damagedFile(a, key)
	}
	if err != nil || !ok || found.Size == int64(len(found.Tail)) {
		return found, err
	}
	found.Chunks, err = t.fileChunks(a, seq)
	return found, err
}

func (t tx) fileChunks(a account.ID, file int64) (list []files.Chunk, err error) {
	err = t.each("SELECT hash, size FROM file_chunks WHERE account = ? AND file = ? ORDER BY number", func(r row) {
		c := files.Chunk{Size: r.int(1)}
		copy(c.Hash[:], r.s.Blob(0))
		list = append(list, c)
	}, int64(a), file)
	return list, err
}

// Children implements files.Store.
func (s Files) Children(ctx context.Context, a account.ID, key, after string, limit int) (list []files.Node, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.children(a, key, after, limit, func(r row) { list = append(list, readNode(r)) })
	})
	return list, err
}

// children calls add with the nodes of a folder that are behind a path.
func (t tx) children(a account.ID, key, after string, limit int, add func(row)) error {
	return t.each("SELECT "+nodeColumns+" FROM files WHERE account = ? AND parent = ? AND path > ? ORDER BY path LIMIT ?", add, int64(a), key, after, max(limit, 0))
}

// SiteOwners implements files.Store. The key stands in the statement, as in the index.
func (s Files) SiteOwners(ctx context.Context, limit int) (owners []account.ID, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT account FROM files WHERE key = '/SITE' ORDER BY account LIMIT ?",
			func(r row) { owners = append(owners, account.ID(r.int(0))) }, max(limit, 0))
	})
	return owners, err
}

// Below implements files.Store.
func (s Files) Below(ctx context.Context, a account.ID, key string) (longest, deepest string, err error) {
	const first = "SELECT path FROM files WHERE account = ? AND key > ? AND key < ? ORDER BY "
	after, before := below(key)
	err = s.store.read(ctx, func(t tx) error {
		if _, err := t.one(first+"octet_length(path) DESC LIMIT 1", func(r row) { longest = r.text(0) }, int64(a), after, before); err != nil {
			return err
		}
		_, err := t.one(first+"length(path) - length(replace(path, '/', '')) DESC LIMIT 1", func(r row) { deepest = r.text(0) }, int64(a), after, before)
		return err
	})
	return longest, deepest, err
}

// below returns what the keys below a folder lie between: they start with the
// folder's key and a slash, and so come before its key and a zero, which follows
// the slash.
func below(key string) (after, before string) { return key + "/", key + "0" }

// Apply implements files.Store. An account that is not there is
// account.ErrNotFound.
func (s Files) Apply(ctx context.Context, a account.ID, before, after files.Usage, changes []files.Change) (done bool, err error) {
	ofSite := changesSite(changes)
	done, err = s.store.change(ctx, func(t tx) (bool, error) {
		defer t.conn.Conn.ChangesFiles(a, ofSite)()
		n, err := t.setUsage(a, before, after)
		if err != nil || n == 0 {
			return false, err
		}
		for _, change := range changes {
			if err := t.applyChange(int64(a), change); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return done, orphaned(err)
}

// setUsage sets an account's usage where its tree is of the generation seen.
func (t tx) setUsage(a account.ID, before, after files.Usage) (int64, error) {
	if before.Generation == 0 {
		// What a change left that failed may be older than the first that succeeds.
		return t.exec(`INSERT INTO file_trees (account, generation, bytes, nodes, dead) VALUES (?1, 1, ?2, ?3, (SELECT coalesce(sum(size), 0) FROM dead_blobs WHERE account = ?1))
			ON CONFLICT DO NOTHING`, int64(a), after.Bytes, after.Nodes)
	}
	return t.exec("UPDATE file_trees SET generation = generation + 1, bytes = ?, nodes = ? WHERE account = ? AND generation = ?",
		after.Bytes, after.Nodes, int64(a), before.Generation)
}

func (t tx) applyChange(a int64, change files.Change) error {
	switch c := change.(type) {
	case files.Put:
		return t.putNode(a, c.Node)
	case files.Extend:
		return t.extendNode(a, c.Node, c.Replace)
	case files.Rename:
		return t.renameNode(a, c.From, c.To)
	case files.Drop:
		return t.dropFile(a, files.Key(c.Path))
	}
	return fmt.Errorf("a change of type %T", change)
}

func (t tx) putNode(a int64, n files.Node) error {
	key := files.Key(n.Path)
	if err := t.dropFile(a, key); err != nil {
		return err
	}
	seq, err := t.insert("seq", "INSERT INTO files (account, key, parent, path, folder, size, modified, tail, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		a, key, files.ParentKey(n.Path), n.Path, n.Folder, n.Size, n.Modified.UnixMicro(), append([]byte{}, n.Tail...), checksum(n.Tail))
	if err != nil {
		return err
	}
	return t.addChunks(a, seq, 0, n.Chunks)
}

func (t tx) extendNode(a int64, n files.Node, replace int) error {
	key := files.Key(n.Path)
	if _, err := t.exec("UPDATE files SET size = ?, modified = ?, tail = ?, checksum = ? WHERE account = ? AND key = ?",
		n.Size, n.Modified.UnixMicro(), append([]byte{}, n.Tail...), checksum(n.Tail), a, key); err != nil {
		return err
	}
	if len(n.Chunks) == 0 && replace == 0 {
		return nil
	}
	var seq int64
	found, err := t.one("SELECT seq FROM files WHERE account = ? AND key = ?", func(r row) { seq = r.int(0) }, a, key)
	if err == nil && !found {
		err = fmt.Errorf("the file %s of account %d, which is to grow, is not there", key, a)
	}
	if err != nil {
		return err
	}
	if err := t.dropChunks(&fileChunks, a, seq, "number IN (SELECT number FROM file_chunks WHERE account = ?1 AND file = ?2 ORDER BY number DESC LIMIT ?3)", replace); err != nil {
		return err
	}
	var last int64
	if _, err := t.one("SELECT number FROM file_chunks WHERE account = ? AND file = ? ORDER BY number DESC LIMIT 1", func(r row) { last = r.int(0) }, a, seq); err != nil {
		return err
	}
	return t.addChunks(a, seq, last, n.Chunks)
}

// addChunks adds chunks to a file, after the one with a number.
func (t tx) addChunks(a, file, last int64, chunks []files.Chunk) error {
	for i := range chunks {
		deleting, err := t.isDeleting(chunks[i].Hash)
		if err == nil && deleting {
			err = files.ErrDeleting
		}
		if err != nil {
			return err
		}
		if err := t.addChunk(&fileChunks, a, file, last+1+int64(i), chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t tx) renameNode(a int64, from, to string) error {
	fromKey, toKey := files.Key(from), files.Key(to)
	after, before := below(fromKey)
	if _, err := t.exec(`UPDATE files SET path = ?1 || substr(path, CAST(?2 AS INTEGER)), key = ?3 || substr(key, CAST(?4 AS INTEGER)), parent = ?3 || substr(parent, CAST(?4 AS INTEGER))
		WHERE account = ?5 AND key > ?6 AND key < ?7`,
		to, utf8.RuneCountInString(from)+1, toKey, utf8.RuneCountInString(fromKey)+1, a, after, before); err != nil {
		return err
	}
	_, err := t.exec("UPDATE files SET path = ?, key = ?, parent = ? WHERE account = ? AND key = ?", to, toKey, files.ParentKey(to), a, fromKey)
	return err
}

// Blobs calls f with every blob that a file, a link or a site of any account needs, as of one
// moment, in the order of their hashes.
func (s Files) Blobs(ctx context.Context, f func(files.Chunk) error) error {
	return s.store.read(ctx, func(t tx) error {
		var failed error
		ctx, stop := context.WithCancel(t.ctx)
		defer stop()
		err := (tx{ctx, t.conn}).each("SELECT DISTINCT hash, size FROM (SELECT hash, size FROM file_chunks UNION ALL SELECT hash, size FROM share_chunks UNION ALL SELECT hash, size FROM site_chunks UNION ALL SELECT hash, size FROM shipped_chunks) AS chunks ORDER BY hash", func(r row) {
			c := files.Chunk{Size: r.int(1)}
			copy(c.Hash[:], r.s.Blob(0))
			if failed == nil {
				if failed = f(c); failed != nil {
					stop()
				}
			}
		})
		return cmp.Or(failed, err)
	})
}

// HasBlob implements files.Store.
func (s Files) HasBlob(ctx context.Context, hash files.Hash) (found bool, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		found, err = t.refersTo(hash)
		return err
	})
	return found, err
}

// changesSite tells whether changes of files are of the folder of the site.
func changesSite(changes []files.Change) bool {
	for _, change := range changes {
		var at, to string
		switch c := change.(type) {
		case files.Put:
			at = c.Node.Path
		case files.Extend:
			at = c.Node.Path
		case files.Rename:
			at, to = c.From, c.To
		case files.Drop:
			at = c.Path
		default:
			return true
		}
		if files.IsOfSite(files.Key(at)) || to != "" && files.IsOfSite(files.Key(to)) {
			return true
		}
	}
	return false
}
