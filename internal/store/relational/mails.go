package relational

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/resource/shares"
)

// Mails keeps the mails of accounts.
type Mails struct{ store *Store }

var _ mail.Store = Mails{}

// Mails returns the store's mails.
func (s *Store) Mails() Mails { return Mails{s} }

const mailColumns = "seq, id, account, job, state, attempts, due, made, settled, size, head, outcomes, error"

func readMail(r row) mail.Mail {
	m := mail.Mail{
		Seq: r.int(0), ID: r.text(1), Account: account.ID(r.int(2)), State: mail.State(r.text(4)), Attempts: int(r.int(5)),
		Due: r.time(6), Made: r.time(7), Settled: r.time(8), Size: r.int(9), Head: r.bytes(10), Error: r.text(12),
	}
	copy(m.Job[:], r.bytes(3))
	_ = json.Unmarshal([]byte(r.text(11)), &m.Outcomes) // as it was written
	return m
}

// Create implements mail.Store. The content of attachments is that of the files' rows at the moment
// of the commit: so their blobs are never without a row that refers to them.
func (s Mails) Create(ctx context.Context, n mail.CreateParams) error {
	var of []byte
	if c := job.CheckpointOf(ctx); c != nil {
		of = c.Lease.ID[:]
	}
	_, err := s.store.change(ctx, func(t tx) (bool, error) { return true, t.createMail(n, of) })
	return orphaned(err)
}

func (t tx) createMail(n mail.CreateParams, of []byte) error {
	a := int64(n.Account)
	if there, err := t.has("SELECT 1 FROM mails WHERE account = ? AND id = ?", a, n.ID); err != nil || there {
		return err
	}
	if err := t.mailRates(n); err != nil {
		return err
	}
	size := n.BodySize
	contents := make([]shares.Content, len(n.Attachments))
	for i, path := range n.Attachments {
		c, err := t.fileContent(n.Account, path)
		switch {
		case errors.Is(err, shares.ErrNoFile), errors.Is(err, shares.ErrFolder):
			return &mail.FileError{Path: path, Folder: errors.Is(err, shares.ErrFolder)}
		case err != nil:
			return err
		}
		contents[i] = c
		size += mail.EncodedSize(c.Size)
	}
	if size > n.Bounds.Size {
		return &mail.BoundError{What: "size", Bound: n.Bounds.Size, Value: size}
	}
	waiting, err := t.number("SELECT coalesce(sum(waiting), 0) FROM mails WHERE account = ? AND due IS NOT NULL", a)
	if err != nil {
		return err
	}
	if waiting += int64(len(n.Body)); waiting > n.Bounds.Waiting {
		return &mail.BoundError{What: "waiting", Bound: n.Bounds.Waiting, Value: waiting}
	}
	seq, err := t.insert("seq", `INSERT INTO mails (account, id, job, state, attempts, due, made, recipients, size, waiting, head, body, outcomes, error)
		VALUES (?, ?, ?, 'pending', 0, ?, ?, ?, ?, ?, ?, ?, '[]', '')`,
		a, n.ID, of, n.Made, n.Made, n.Recipients, size, len(n.Body), n.Head, n.Body)
	if err != nil {
		return err
	}
	for i := range contents {
		if err := t.attach(n, seq, i, contents[i]); err != nil {
			return err
		}
	}
	return nil
}

// mailRates holds an account to how many it may send.
func (t tx) mailRates(n mail.CreateParams) error {
	for _, b := range []struct {
		what string
		most int
		span time.Duration
	}{{"minute", n.Bounds.Minute, time.Minute}, {"day", n.Bounds.Day, 24 * time.Hour}} {
		if b.most <= 0 {
			continue
		}
		sent, err := t.number("SELECT coalesce(sum(recipients), 0) FROM mails WHERE account = ? AND made > ?", int64(n.Account), n.Made.Add(-b.span).UnixMicro())
		if err != nil {
			return err
		}
		if sent += int64(n.Recipients); sent > int64(b.most) {
			return &mail.BoundError{What: b.what, Bound: int64(b.most), Value: sent}
		}
	}
	return nil
}

func (t tx) attach(n mail.CreateParams, seq int64, number int, c shares.Content) error {
	err := t.makeRoom(shares.CreateParams{Account: n.Account, Bounds: shares.Bounds{Bytes: n.Bounds.Contents}, Made: n.Made}, c)
	var over *shares.SizeError
	if errors.As(err, &over) {
		return &mail.BoundError{What: "contents", Bound: over.Bound, Value: over.Size}
	}
	if err != nil {
		return err
	}
	pinned, err := t.pin(n.Account, c)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO mail_contents (account, mail, number, content) VALUES (?, ?, ?, ?)", int64(n.Account), seq, number, pinned)
	return err
}

// dueMailAccounts goes from account to account by the index, whatever the number of their mails.
const dueMailAccounts = `WITH RECURSIVE pending (account) AS (
	SELECT (SELECT min(account) FROM mails WHERE due IS NOT NULL AND account > ?1)
	UNION ALL
	SELECT (SELECT min(m.account) FROM mails m WHERE m.due IS NOT NULL AND m.account > p.account) FROM pending p WHERE p.account < ?2
)
SELECT account FROM pending p WHERE account IS NOT NULL AND account <= ?2
	AND (SELECT min(due) FROM mails m WHERE m.due IS NOT NULL AND m.account = p.account) <= ?3 LIMIT ?4`

// DueAccounts implements mail.Store.
func (s Mails) DueAccounts(ctx context.Context, now time.Time, after account.ID, limit int) (list []account.ID, err error) {
	err = s.store.read(ctx, func(t tx) error {
		list = nil
		for _, part := range [][2]int64{{int64(after), math.MaxInt64}, {math.MinInt64, int64(after)}} {
			err := t.each(dueMailAccounts, func(r row) { list = append(list, account.ID(r.int(0))) }, part[0], part[1], now.UnixMicro(), max(limit-len(list), 0))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// DueOf implements mail.Store.
func (s Mails) DueOf(ctx context.Context, a account.ID, now time.Time, limit int) (list []mail.Mail, err error) {
	err = s.store.read(ctx, func(t tx) error {
		list = nil
		return t.each("SELECT "+mailColumns+" FROM mails WHERE account = ? AND due IS NOT NULL AND due <= ? ORDER BY due, seq LIMIT ?",
			func(r row) { list = append(list, readMail(r)) }, int64(a), now.UnixMicro(), max(limit, 0))
	})
	return list, err
}

// Next implements mail.Store.
func (s Mails) Next(ctx context.Context, after time.Time) (next time.Time, err error) {
	err = s.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT min(due) FROM mails WHERE due > ?", func(r row) { next = r.time(0) }, after.UnixMicro())
		return err
	})
	return next, err
}

// Count implements mail.Store.
func (s Mails) Count(ctx context.Context, now time.Time, most int) (c mail.Counts, err error) {
	err = s.store.read(ctx, func(t tx) error {
		pending, err := t.number("SELECT count(*) FROM (SELECT 1 FROM mails WHERE due IS NOT NULL LIMIT ?) AS pending", max(most, 0))
		if err != nil {
			return err
		}
		c.Pending = int(pending)
		_, err = t.one("SELECT min(due) FROM mails WHERE due <= ?", func(r row) { c.OldestDue = r.time(0) }, now.UnixMicro())
		return err
	})
	return c, err
}

// claimed is a mail in the hands of who claimed it.
const claimedMail = " WHERE account = ? AND seq = ? AND id = ? AND due = ? AND attempts = ?"

func (s Mails) ifClaimed(ctx context.Context, m mail.Mail, do func(t tx) (int64, error)) error {
	return s.store.write(ctx, func(t tx) error {
		n, err := do(t)
		if err == nil && n == 0 {
			err = mail.ErrClaimLost
		}
		return err
	})
}

// Claim implements mail.Store.
func (s Mails) Claim(ctx context.Context, m mail.Mail, by int64, until time.Time) (mail.Mail, error) {
	err := s.ifClaimed(ctx, m, func(t tx) (int64, error) {
		return t.exec("UPDATE mails SET due = ?, claimed_by = nullif(CAST(? AS BIGINT), 0)"+claimedMail, until, by, int64(m.Account), m.Seq, m.ID, m.Due, m.Attempts)
	})
	m.Due = until.UTC().Truncate(time.Microsecond)
	return m, err
}

// ReleaseDead implements mail.Store. That nobody is dead, as ever, is found without a change.
func (s Mails) ReleaseDead(ctx context.Context, now time.Time) (n int, err error) {
	const dead = " FROM mails WHERE claimed_by IS NOT NULL AND claimed_by NOT IN (SELECT incarnation FROM members)"
	found := false
	err = s.store.read(ctx, func(t tx) (err error) {
		found, err = t.has("SELECT 1" + dead + " LIMIT 1")
		return err
	})
	if err != nil || !found {
		return 0, err
	}
	err = s.store.write(ctx, func(t tx) error {
		released, err := t.exec("UPDATE mails SET due = ?, claimed_by = NULL WHERE due IS NOT NULL AND seq IN (SELECT seq"+dead+")", now)
		n = int(released)
		return err
	})
	return n, err
}

// Body implements mail.Store.
func (s Mails) Body(ctx context.Context, m mail.Mail) (sealed []byte, list []mail.Content, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			found, err := t.one("SELECT body FROM mails WHERE account = ? AND seq = ? AND id = ?", func(r row) { sealed = r.bytes(0) }, int64(m.Account), m.Seq, m.ID)
			if err == nil && (!found || sealed == nil) {
				err = mail.ErrNotFound
			}
			if err != nil {
				return err
			}
			var contents []int64
			list = nil
			if err := t.each("SELECT content, size, tail FROM mail_contents JOIN share_contents ON share_contents.seq = content WHERE mail_contents.account = ? AND mail = ? ORDER BY number", func(r row) {
				contents = append(contents, r.int(0))
				list = append(list, mail.Content{Size: r.int(1), Tail: r.bytes(2)})
			}, int64(m.Account), m.Seq); err != nil {
				return err
			}
			for i, content := range contents {
				chunks, err := t.chunks("SELECT hash, size FROM share_chunks WHERE account = ? AND content = ? ORDER BY number", m.Account, content)
				if err != nil {
					return err
				}
				for _, c := range chunks {
					list[i].Chunks = append(list[i].Chunks, mail.Chunk{Hash: c.Hash, Size: c.Size})
				}
			}
			return nil
		})
	})
	return sealed, list, err
}

// Settle implements mail.Store.
func (s Mails) Settle(ctx context.Context, m mail.Mail, outcomes []mail.Outcome, failure string, state mail.State, at time.Time) error {
	text, err := json.Marshal(outcomes)
	if err != nil {
		return err
	}
	due, settled := at, time.Time{}
	if state != mail.Pending {
		due, settled = time.Time{}, at
	}
	return s.ifClaimed(ctx, m, func(t tx) (int64, error) {
		n, err := t.exec("UPDATE mails SET attempts = attempts + 1, claimed_by = NULL, state = ?, due = ?, settled = ?, outcomes = ?, error = ?"+claimedMail,
			string(state), due, settled, string(text), failure, int64(m.Account), m.Seq, m.ID, m.Due, m.Attempts)
		if err != nil || n == 0 || state == mail.Pending {
			return n, err
		}
		if _, err := t.exec("UPDATE mails SET body = NULL, waiting = 0 WHERE account = ? AND seq = ?", int64(m.Account), m.Seq); err != nil {
			return n, err
		}
		_, err = t.exec("DELETE FROM mail_contents WHERE account = ? AND mail = ?", int64(m.Account), m.Seq)
		return n, err
	})
}

// Release implements mail.Store.
func (s Mails) Release(ctx context.Context, m mail.Mail, failure string, due time.Time) error {
	return s.ifClaimed(ctx, m, func(t tx) (int64, error) {
		return t.exec("UPDATE mails SET due = ?, claimed_by = NULL, error = ?"+claimedMail, due, failure, int64(m.Account), m.Seq, m.ID, m.Due, m.Attempts)
	})
}

// ByID implements mail.Store.
func (s Mails) ByID(ctx context.Context, a account.ID, id string) (m mail.Mail, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT "+mailColumns+" FROM mails WHERE account = ? AND id = ?", func(r row) { m = readMail(r) }, int64(a), id)
		if err == nil && !found {
			err = mail.ErrNotFound
		}
		return err
	})
	return m, err
}

// List implements mail.Store.
func (s Mails) List(ctx context.Context, a account.ID, q mail.Query) (list []mail.Mail, err error) {
	err = s.store.read(ctx, func(t tx) error {
		before := int64(math.MaxInt64)
		if q.Before != "" {
			before = 0
			if _, err := t.one("SELECT seq FROM mails WHERE account = ? AND id = ?", func(r row) { before = r.int(0) }, int64(a), q.Before); err != nil {
				return err
			}
		}
		sql, args := "SELECT "+mailColumns+" FROM mails WHERE account = ? AND seq < ?", []any{int64(a), before}
		if q.State != "" {
			sql, args = sql+" AND state = ?", append(args, string(q.State))
		}
		list = nil
		return t.each(sql+" ORDER BY seq DESC LIMIT ?", func(r row) { list = append(list, readMail(r)) }, append(args, max(q.Limit, 0))...)
	})
	return list, err
}

// Forget implements mail.Store.
func (s Mails) Forget(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		removed, err := t.exec("DELETE FROM mails WHERE seq IN (SELECT seq FROM mails WHERE settled IS NOT NULL AND settled < ? ORDER BY settled LIMIT ?)", before.UnixMicro(), max(limit, 0))
		n = int(removed)
		return err
	})
	return n, err
}
