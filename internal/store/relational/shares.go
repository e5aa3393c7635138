package relational

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
)

// Shares keeps the links to accounts' files.
type Shares struct{ store *Store }

var _ shares.Store = Shares{}

// Shares returns the store's links.
func (s *Store) Shares() Shares { return Shares{s} }

const shareColumns = "shares.seq, token, shares.account, path, name, shares.size, times, used, made, expires, latest, revoked, content, purpose"

func readShare(r row) (s shares.Share, content int64) {
	s = shares.Share{
		Seq: r.int(0), Account: account.ID(r.int(2)), Path: r.text(3), Name: r.text(4), Size: r.int(5), Times: int(r.int(6)), Used: int(r.int(7)),
		Made: r.time(8), Expires: r.time(9), Latest: r.time(10), Revoked: r.time(11), Purpose: shares.Purpose(r.text(13)),
	}
	copy(s.Token[:], r.s.Blob(1))
	return s, r.int(12)
}

// Create implements shares.Store. The content is that of the file's row at the
// moment of the commit: so its blobs are never without a row that refers to
// them. An account that is not there is account.ErrNotFound.
func (s Shares) Create(ctx context.Context, n shares.CreateParams) error {
	_, err := s.store.change(ctx, func(t tx) (bool, error) { return true, t.createShare(n) })
	return orphaned(err)
}

func (t tx) createShare(n shares.CreateParams) error {
	content, err := t.fileContent(n.Account, n.Path)
	if err != nil {
		return err
	}
	if b := n.Bounds.File; b > 0 && content.Size > b {
		return &shares.SizeError{Size: content.Size, Bound: b}
	}
	if err := t.makeRoom(n, content); err != nil {
		return err
	}
	pinned, err := t.pin(n.Account, content)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO shares (token, account, path, name, size, times, used, made, expires, content, purpose) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
		n.Token[:], int64(n.Account), n.Path, n.Name, content.Size, n.Times, n.Made, n.Expires, pinned, string(n.Purpose))
	return err
}

// fileContent returns what a file holds.
func (t tx) fileContent(a account.ID, path string) (c shares.Content, err error) {
	var seq int64
	var folder, whole bool
	found, err := t.one("SELECT seq, folder, size, tail, checksum FROM files WHERE account = ? AND key = ? AND path = ?", func(r row) {
		seq, folder, c.Size, c.Tail = r.int(0), r.bool(1), r.int(2), r.bytes(3)
		whole = r.matches(4, c.Tail)
	}, int64(a), files.Key(path), path)
	switch {
	case err != nil:
		return c, err
	case !found:
		return c, shares.ErrNoFile
	case folder:
		return c, shares.ErrFolder
	case !whole:
		return c, damagedFile(a, files.Key(path))
	}
	c.Chunks, err = t.chunks("SELECT hash, size FROM file_chunks WHERE account = ? AND file = ? ORDER BY number", a, seq)
	setDigest(&c)
	return c, err
}

// setDigest sets the digest of content by its chunks and its tail.
func setDigest(c *shares.Content) {
	sum := sha256.New()
	for i := range c.Chunks {
		sum.Write(c.Chunks[i].Hash[:])
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(c.Chunks[i].Size)))
	}
	sum.Write(c.Tail)
	copy(c.Digest[:], sum.Sum(nil))
}

func (t tx) chunks(sql string, a account.ID, of int64) (list []shares.Chunk, err error) {
	err = t.each(sql, func(r row) {
		c := shares.Chunk{Size: r.int(1)}
		copy(c.Hash[:], r.s.Blob(0))
		list = append(list, c)
	}, int64(a), of)
	return list, err
}

// makeRoom holds an account to what its links may come to. Where that is too
// much, it first lets go of what has ended.
func (t tx) makeRoom(n shares.CreateParams, c shares.Content) error {
	over := t.exceeds(n, c)
	if over == nil {
		return nil
	}
	a := int64(n.Account)
	if _, err := t.exec("UPDATE shares SET content = NULL WHERE account = ?1 AND content IS NOT NULL AND "+ended, a, n.Made.Add(-shares.RestartWithin).UnixMicro()); err != nil {
		return err
	}
	if _, err := t.dropShareContents("SELECT seq, account FROM share_contents WHERE account = ? AND "+unheld, a); err != nil {
		return err
	}
	if b := n.Bounds.Links; b > 0 {
		// What nobody sees first: previews push no receipts out.
		if _, err := t.exec("DELETE FROM shares WHERE seq IN (SELECT seq FROM shares WHERE account = ? AND content IS NULL ORDER BY purpose = '', seq LIMIT ?)", a, b/10+1); err != nil {
			return err
		}
	}
	return t.exceeds(n, c)
}

// ended is what a link is whose content nobody can load any more, not even by
// restarting a download; ?2 is the moment before which none can be restarted.
const ended = "(revoked IS NOT NULL OR expires <= ?2 OR times > 0 AND used >= times AND latest <= ?2)"

// unheld is content that neither a link nor a mail nor a job needs.
const unheld = "NOT EXISTS (SELECT 1 FROM shares WHERE content = share_contents.seq) AND NOT EXISTS (SELECT 1 FROM mail_contents WHERE content = share_contents.seq) AND NOT EXISTS (SELECT 1 FROM job_contents WHERE content = share_contents.seq)"

// exceeds returns how one more link would be too much.
func (t tx) exceeds(n shares.CreateParams, c shares.Content) error {
	var links, bytes int64
	if _, err := t.one("SELECT count(*) FROM shares WHERE account = ?", func(r row) { links = r.int(0) }, int64(n.Account)); err != nil {
		return err
	}
	if b := n.Bounds.Links; b > 0 && links >= int64(b) {
		return shares.ErrLinks
	}
	if n.Bounds.Bytes == 0 {
		return nil
	}
	if _, err := t.one("SELECT coalesce(sum(size), 0) FROM share_contents WHERE account = ? AND digest <> ?", func(r row) { bytes = r.int(0) },
		int64(n.Account), c.Digest[:]); err != nil {
		return err
	}
	if bytes += c.Size; bytes > n.Bounds.Bytes {
		return &shares.SizeError{Size: bytes, Bound: n.Bounds.Bytes, All: true}
	}
	return nil
}

// pinned returns the content with a digest that links or jobs of an account hold; 0 for none.
func (t tx) pinned(a account.ID, digest shares.Hash) (seq int64, err error) {
	_, err = t.one("SELECT seq FROM share_contents WHERE account = ? AND digest = ?", func(r row) { seq = r.int(0) }, int64(a), digest[:])
	return seq, err
}

// pin keeps content, once for all links and jobs of an account that hold it.
func (t tx) pin(a account.ID, c shares.Content) (seq int64, err error) {
	if seq, err = t.pinned(a, c.Digest); err != nil || seq != 0 {
		return seq, err
	}
	if seq, err = t.insert("seq", "INSERT INTO share_contents (account, digest, size, tail) VALUES (?, ?, ?, ?)",
		int64(a), c.Digest[:], c.Size, append([]byte{}, c.Tail...)); err != nil {
		return 0, err
	}
	for i := range c.Chunks {
		if err := t.addChunk(&shareChunks, int64(a), seq, int64(i), files.Chunk{Hash: files.Hash(c.Chunks[i].Hash), Size: c.Chunks[i].Size}); err != nil {
			return 0, err
		}
	}
	return seq, nil
}

// Find implements shares.Store.
func (s Shares) Find(ctx context.Context, token shares.Hash) (found shares.Share, c shares.Content, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			found, c, err = t.findShare(token)
			return err
		})
	})
	return found, c, err
}

func (t tx) findShare(token shares.Hash) (s shares.Share, c shares.Content, err error) {
	var content int64
	found, err := t.one("SELECT "+shareColumns+" FROM shares JOIN accounts ON accounts.id = account WHERE token = ? AND disabled = 0", func(r row) {
		s, content = readShare(r)
	}, token[:])
	if err == nil && !found {
		err = shares.ErrNotFound
	}
	if err != nil || content == 0 {
		return s, c, err
	}
	if _, err = t.one("SELECT digest, size, tail FROM share_contents WHERE seq = ?", func(r row) {
		copy(c.Digest[:], r.s.Blob(0))
		c.Size, c.Tail = r.int(1), r.bytes(2)
	}, content); err != nil {
		return s, c, err
	}
	c.Chunks, err = t.chunks("SELECT hash, size FROM share_chunks WHERE account = ? AND content = ? ORDER BY number", s.Account, content)
	return s, c, err
}

// Claim implements shares.Store.
func (s Shares) Claim(ctx context.Context, token shares.Hash, v shares.Visit) (d shares.Delivery, err error) {
	err = s.store.write(ctx, func(t tx) (err error) {
		d = shares.Delivery{}
		if d.Share, d.Content, err = t.findShare(token); err != nil {
			return err
		}
		if d.Restart, err = t.restart(&d, v); err != nil || d.Restart {
			return err
		}
		return t.claim(&d, v)
	})
	if err != nil {
		return shares.Delivery{}, err
	}
	return d, nil
}

// restart begins a download again that did not come to its end, for the client
// that had begun it.
func (t tx) restart(d *shares.Delivery, v shares.Visit) (bool, error) {
	if v.Client == nil || !d.Share.Limited() || !d.Share.Revoked.IsZero() {
		return false, nil
	}
	return t.one(`UPDATE share_receipts SET restarts = restarts + 1
		WHERE account = ? AND share = ? AND client = ? AND finished IS NULL AND restarts < ? AND at > ?
			AND EXISTS (SELECT 1 FROM shares WHERE seq = share AND content IS NOT NULL) RETURNING number`,
		func(r row) { d.Receipt = int(r.int(0)) }, int64(d.Share.Account), d.Share.Seq, v.Client[:], shares.MaxRestarts, v.At.Add(-shares.RestartWithin))
}

// claim takes one use.
func (t tx) claim(d *shares.Delivery, v shares.Visit) error {
	found, err := t.one(`UPDATE shares SET used = used + 1, latest = ?1
		WHERE seq = ?2 AND content IS NOT NULL AND revoked IS NULL AND expires > ?1 AND (times = 0 OR used < times) RETURNING used`,
		func(r row) { d.Receipt = int(r.int(0)) }, v.At, d.Share.Seq)
	if err == nil && !found {
		err = shares.ErrEnded
	}
	if err != nil {
		return err
	}
	d.Share.Used, d.Share.Latest = d.Receipt, v.At
	if _, err := t.exec("INSERT INTO share_receipts (account, share, number, at, address, agent, client, restarts, sent) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)",
		int64(d.Share.Account), d.Share.Seq, d.Receipt, v.At, v.Address, v.Agent, v.Fresh[:]); err != nil {
		return err
	}
	_, err = t.exec("DELETE FROM share_receipts WHERE account = ? AND share = ? AND number <= ?", int64(d.Share.Account), d.Share.Seq, d.Receipt-shares.MaxReceipts)
	return err
}

// RecordProgress implements shares.Store.
func (s Shares) RecordProgress(ctx context.Context, a account.ID, share int64, receipt int, sent int64, finished time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE share_receipts SET sent = CASE WHEN sent > ?1 THEN sent ELSE ?1 END, finished = coalesce(finished, ?2) WHERE account = ?3 AND share = ?4 AND number = ?5", sent, finished, int64(a), share, receipt)
		return err
	})
}

// Revoke implements shares.Store.
func (s Shares) Revoke(ctx context.Context, a account.ID, token shares.Hash, at time.Time) error {
	_, err := s.store.change(ctx, func(t tx) (bool, error) {
		n, err := t.exec("UPDATE shares SET revoked = coalesce(revoked, ?), content = NULL WHERE account = ? AND token = ?", at, int64(a), token[:])
		if err == nil && n == 0 {
			err = shares.ErrNotFound
		}
		return true, err
	})
	return err
}

// ByID implements shares.Store.
func (s Shares) ByID(ctx context.Context, a account.ID, id string) (found shares.Share, err error) {
	prefix, err := hex.DecodeString(id)
	if err != nil || hex.EncodeToString(prefix) != id {
		return found, shares.ErrNotFound
	}
	err = s.store.read(ctx, func(t tx) error {
		ok, err := t.one("SELECT "+shareColumns+" FROM shares WHERE account = ? AND substr(token, 1, 8) = ?", func(r row) { found, _ = readShare(r) }, int64(a), prefix)
		if err == nil && !ok {
			err = shares.ErrNotFound
		}
		return err
	})
	return found, err
}

// List implements shares.Store.
func (s Shares) List(ctx context.Context, a account.ID, before int64, limit int) (list []shares.Share, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+shareColumns+" FROM shares WHERE account = ?1 AND purpose = '' AND (?2 = 0 OR seq < ?2) ORDER BY seq DESC LIMIT ?3", func(r row) {
			one, _ := readShare(r)
			list = append(list, one)
		}, int64(a), before, max(limit, 0))
	})
	return list, err
}

// Receipts implements shares.Store.
func (s Shares) Receipts(ctx context.Context, a account.ID, share int64) (list []shares.Receipt, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT number, at, address, agent, restarts, sent, finished FROM share_receipts WHERE account = ? AND share = ? ORDER BY number DESC", func(r row) {
			list = append(list, shares.Receipt{
				Number: int(r.int(0)), At: r.time(1), Address: r.text(2), Agent: r.text(3), Restarts: int(r.int(4)), Sent: r.int(5), Finished: r.time(6),
			})
		}, int64(a), share)
	})
	return list, err
}

// Prune implements shares.Store.
func (s Shares) Prune(ctx context.Context, now, forget time.Time, limit int) (pruned int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		n, err := t.exec("UPDATE shares SET content = NULL WHERE seq IN (SELECT seq FROM shares WHERE content IS NOT NULL AND "+ended+" LIMIT ?1)", max(limit, 0), now.Add(-shares.RestartWithin).UnixMicro())
		if err != nil {
			return err
		}
		pruned = int(n)
		dropped, err := t.dropShareContents("SELECT seq, account FROM share_contents WHERE "+unheld+" LIMIT ?", max(limit-pruned, 0))
		if err != nil {
			return err
		}
		pruned += dropped
		for _, step := range []struct {
			sql  string
			when time.Time
		}{
			{"DELETE FROM shares WHERE seq IN (SELECT seq FROM shares WHERE content IS NULL AND expires < ?2 LIMIT ?1)", forget},
			{"DELETE FROM shares WHERE seq IN (SELECT seq FROM shares WHERE content IS NULL AND purpose <> '' AND expires < ?2 LIMIT ?1)", now},
		} {
			n, err := t.exec(step.sql, max(limit-pruned, 0), step.when.UnixMicro())
			if err != nil {
				return err
			}
			pruned += int(n)
		}
		return nil
	})
	return pruned, err
}
