package relational

import (
	"ql/internal/account"
	"ql/internal/resource/files"
)

// chunkTable is a table of rows that refer to blobs.
type chunkTable struct {
	name, of string // of is the column of what the chunk belongs to
}

var (
	fileChunks  = chunkTable{"file_chunks", "file"}
	shareChunks = chunkTable{"share_chunks", "content"}
	siteChunks  = chunkTable{"site_chunks", "content"}
	// shippedChunks count for no account: what its databases hold does, and they are written again as
	// the service likes.
	shippedChunks = chunkTable{"shipped_chunks", "part"}
)

// siteContentBytes is what the row of a site's content takes beside its end.
const siteContentBytes = 256

// addChunk adds a chunk of an account to a file or a content. Its blob is dead no more. What a
// site has and no file of the account counts as storage of the site.
func (t tx) addChunk(in *chunkTable, a, of, number int64, c files.Chunk) error {
	grows := int64(0)
	switch in {
	case &fileChunks:
		taken, err := t.has("SELECT 1 FROM site_chunks WHERE hash = ?1 AND account = ?2 AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = ?1 AND account = ?2)", c.Hash[:], a)
		if err != nil {
			return err
		}
		if taken {
			grows = -c.Size
		}
	case &siteChunks:
		there, err := t.has("SELECT 1 FROM site_chunks WHERE hash = ?1 AND account = ?2 UNION ALL SELECT 1 FROM file_chunks WHERE hash = ?1 AND account = ?2", c.Hash[:], a)
		if err != nil {
			return err
		}
		if !there {
			grows = c.Size
		}
	}
	if _, err := t.exec("INSERT INTO "+in.name+" (account, "+in.of+", number, hash, size) VALUES (?, ?, ?, ?, ?)", a, of, number, c.Hash[:], c.Size); err != nil {
		return err
	}
	if err := t.revive(c.Hash); err != nil {
		return err
	}
	return t.useSite(a, grows)
}

// dropChunks removes those chunks of a file or a content of an account that meet a condition, "" for
// all. A blob dies with the last row that refers to it.
func (t tx) dropChunks(in *chunkTable, a, of int64, condition string, args ...any) error {
	if condition != "" {
		condition = " AND " + condition
	}
	return t.dropChunksWhere(in, a, "account = ?1 AND "+in.of+" = ?2"+condition, append([]any{a, of}, args...)...)
}

func (t tx) dropChunksWhere(in *chunkTable, a int64, where string, args ...any) error {
	var gone []files.Chunk
	seen := map[files.Hash]bool{}
	if err := t.each("DELETE FROM "+in.name+" WHERE "+where+" RETURNING hash, size", func(r row) {
		c := files.Chunk{Size: r.int(1)}
		copy(c.Hash[:], r.s.Blob(0))
		if !seen[c.Hash] {
			seen[c.Hash] = true
			gone = append(gone, c)
		}
	}, args...); err != nil {
		return err
	}
	for _, c := range gone {
		if err := t.letGoOfChunk(in, a, c); err != nil {
			return err
		}
	}
	return nil
}

// letGoOfChunk counts that rows of a table refer to a blob no longer.
func (t tx) letGoOfChunk(in *chunkTable, a int64, c files.Chunk) error {
	grows := int64(0)
	switch in {
	case &shippedChunks:
		return t.addDead(files.DeadBlob{Chunk: c})
	case &fileChunks:
		left, err := t.has("SELECT 1 FROM site_chunks WHERE hash = ?1 AND account = ?2 AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = ?1 AND account = ?2)", c.Hash[:], a)
		if err != nil {
			return err
		}
		if left {
			grows = c.Size
		}
	case &siteChunks:
		there, err := t.has("SELECT 1 FROM site_chunks WHERE hash = ?1 AND account = ?2 UNION ALL SELECT 1 FROM file_chunks WHERE hash = ?1 AND account = ?2", c.Hash[:], a)
		if err != nil {
			return err
		}
		if !there {
			grows = -c.Size
		}
	}
	if err := t.useSite(a, grows); err != nil {
		return err
	}
	return t.addDead(files.DeadBlob{Chunk: c, Account: account.ID(a)})
}

// addDead notes a blob as dead, unless a row refers to it.
func (t tx) addDead(d files.DeadBlob) error {
	n, err := t.exec("INSERT INTO dead_blobs (hash, account, size, since) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS ("+references+") ON CONFLICT DO NOTHING",
		d.Hash[:], int64(d.Account), d.Size, d.Since)
	if err == nil && n > 0 {
		_, err = t.exec("UPDATE file_trees SET dead = dead + ? WHERE account = ?", d.Size, int64(d.Account))
	}
	return err
}

// revive says that a blob is not dead any more.
func (t tx) revive(hash files.Hash) error {
	var owner, size int64
	was, err := t.one("DELETE FROM dead_blobs WHERE hash = ? RETURNING account, size", func(r row) { owner, size = r.int(0), r.int(1) }, hash[:])
	if err == nil && was {
		_, err = t.exec("UPDATE file_trees SET dead = dead - ? WHERE account = ?", size, owner)
	}
	return err
}

// useSite counts bytes of an account's site, beside its files.
func (t tx) useSite(a, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	n, err := t.exec("UPDATE site_usage SET bytes = bytes + ? WHERE account = ?", bytes, a)
	if err == nil && n == 0 && bytes > 0 {
		_, err = t.exec("INSERT INTO site_usage (account, bytes) VALUES (?, ?)", a, bytes)
	}
	return err
}

// dropFile removes a file or an empty folder, if there is one.
func (t tx) dropFile(a int64, key string) error {
	var seq int64
	chunked := false
	found, err := t.one("SELECT seq, size > length(tail) FROM files WHERE account = ? AND key = ?", func(r row) { seq, chunked = r.int(0), r.bool(1) }, a, key)
	if err != nil || !found {
		return err
	}
	return t.dropFileRow(a, seq, chunked)
}

func (t tx) dropFileRow(a, seq int64, chunked bool) error {
	if chunked {
		if err := t.dropChunks(&fileChunks, a, seq, ""); err != nil {
			return err
		}
	}
	_, err := t.exec("DELETE FROM files WHERE seq = ?", seq)
	return err
}

// owned is a row of an account.
type owned struct{ seq, account int64 }

func (t tx) owned(selected string, args []any) (list []owned, err error) {
	err = t.each(selected, func(r row) { list = append(list, owned{r.int(0), r.int(1)}) }, args...)
	return list, err
}

// dropShareContents removes contents of links and jobs, selected with their accounts.
func (t tx) dropShareContents(selected string, args ...any) (int, error) {
	list, err := t.owned(selected, args)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if err := t.dropChunks(&shareChunks, c.account, c.seq, ""); err != nil {
			return 0, err
		}
		if _, err := t.exec("DELETE FROM share_contents WHERE seq = ?", c.seq); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// dropSiteContents removes contents of sites, selected with their accounts.
func (t tx) dropSiteContents(selected string, args ...any) (int, error) {
	list, err := t.owned(selected, args)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if err := t.dropChunks(&siteChunks, c.account, c.seq, ""); err != nil {
			return 0, err
		}
		if _, err := t.exec("DELETE FROM site_staged WHERE content = ?", c.seq); err != nil {
			return 0, err
		}
		tail := int64(0)
		if _, err := t.one("DELETE FROM site_contents WHERE seq = ? RETURNING length(tail)", func(r row) { tail = r.int(0) }, c.seq); err != nil {
			return 0, err
		}
		if err := t.useSite(c.account, -tail-siteContentBytes); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// dropReleases removes releases of an account's site that meet a condition.
func (t tx) dropReleases(a int64, condition string, args ...any) (int, error) {
	type release struct{ number, weight int64 }
	var list []release
	if err := t.each("DELETE FROM site_releases WHERE account = ?1 AND "+condition+" RETURNING number, weight",
		func(r row) { list = append(list, release{r.int(0), r.int(1)}) }, append([]any{a}, args...)...); err != nil {
		return 0, err
	}
	for _, r := range list {
		if _, err := t.exec("DELETE FROM site_files WHERE account = ? AND release = ?", a, r.number); err != nil {
			return 0, err
		}
		if err := t.useSite(a, -r.weight); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// purgeContents removes up to limit of an account's releases that have no files any more, and of
// the contents of its links and, when no release is left, of its site.
func (t tx) purgeContents(id account.ID, limit int) (removed int, err error) {
	a := int64(id)
	if removed, err = t.dropReleases(a, `number IN (SELECT number FROM site_releases AS one
		WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM site_files WHERE account = ?1 AND release = one.number) LIMIT ?2)`, limit); err != nil || removed >= limit {
		return removed, err
	}
	n, err := t.dropShareContents("SELECT seq, account FROM share_contents WHERE account = ? LIMIT ?", a, limit-removed)
	if removed += n; err != nil || removed >= limit {
		return removed, err
	}
	n, err = t.dropSiteContents("SELECT seq, account FROM site_contents WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM site_files WHERE account = ?1) LIMIT ?2", a, limit-removed)
	return removed + n, err
}

// dropContents lets go of all content of an account that is removed.
func (t tx) dropContents(id account.ID) error {
	a := int64(id)
	for _, in := range []*chunkTable{&fileChunks, &shareChunks, &siteChunks} {
		if err := t.dropChunksWhere(in, a, "account = ?1", a); err != nil {
			return err
		}
	}
	for _, table := range []string{"site_files", "site_staged"} {
		if _, err := t.exec("DELETE FROM "+table+" WHERE account = ?", a); err != nil {
			return err
		}
	}
	return nil
}
