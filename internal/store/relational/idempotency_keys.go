package relational

import (
	"bytes"
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
)

// ReserveKey implements job.Submissions.
func (q Queue) ReserveKey(ctx context.Context, a account.ID, k job.Key, id job.ID, now time.Time) (earlier job.ID, err error) {
	err = q.store.write(ctx, func(t tx) (err error) {
		earlier, err = t.reserve(a, k, id, now)
		return err
	})
	return earlier, orphaned(err)
}

// reserve makes a key lead to a job, unless it leads to one already.
func (t tx) reserve(a account.ID, k job.Key, id job.ID, now time.Time) (earlier job.ID, err error) {
	if earlier, err = t.reserved(a, k, now); err != nil || earlier != (job.ID{}) {
		return earlier, err
	}
	_, err = t.exec("INSERT INTO idempotency_keys (account, hash, body, job, ends, member) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (account, hash) DO UPDATE SET body = excluded.body, job = excluded.job, ends = excluded.ends, member = excluded.member",
		int64(a), k.Hash[:], k.Body[:], id[:], k.Until, k.Member)
	return job.ID{}, err
}

// FindKey implements job.Submissions.
func (q Queue) FindKey(ctx context.Context, a account.ID, k job.Key, now time.Time) (earlier job.ID, err error) {
	err = q.store.read(ctx, func(t tx) (err error) {
		earlier, err = t.reserved(a, k, now)
		return err
	})
	return earlier, err
}

// HasLivingKey implements job.Submissions.
func (q Queue) HasLivingKey(ctx context.Context, a account.ID, k job.Key, but member.Member) (lives bool, err error) {
	err = q.store.read(ctx, func(t tx) (err error) {
		lives, err = t.has("SELECT 1 FROM idempotency_keys JOIN members ON members.incarnation = idempotency_keys.member WHERE account = ? AND hash = ? AND member <> ?", int64(a), k.Hash[:], but.Incarnation)
		return err
	})
	return lives, err
}

// reserved returns the job that a key leads to, or no ID. Keys that an earlier
// version stored stand by the key alone, which is where the owner's stand: who
// started the job that they lead to tells whose they are.
func (t tx) reserved(a account.ID, k job.Key, now time.Time) (earlier job.ID, err error) {
	earlier, body, err := t.keyAt(a, k.Hash, now)
	shared := !k.IsPages()
	if err == nil && earlier == (job.ID{}) && !shared {
		shared = true
		earlier, body, err = t.keyAt(a, k.Legacy, now)
	}
	if err != nil || earlier == (job.ID{}) {
		return job.ID{}, err
	}
	if shared {
		if byPage, err := t.isOfPage(earlier); err != nil || byPage != k.IsPages() {
			return job.ID{}, err
		}
	}
	if !bytes.Equal(body, k.Body[:]) {
		return job.ID{}, job.ErrOtherBody
	}
	return earlier, nil
}

// keyAt returns the job that stands under a hash, or no ID, and the hash of the
// request that it came with.
func (t tx) keyAt(a account.ID, hash [32]byte, now time.Time) (id job.ID, body []byte, err error) {
	_, err = t.one("SELECT job, body FROM idempotency_keys WHERE account = ? AND hash = ? AND ends > ?", func(r row) {
		copy(id[:], r.s.Blob(0))
		body = r.bytes(1)
	}, int64(a), hash[:], now)
	return id, body, err
}

// isOfPage tells whether a page started a job. A call that is not recorded yet is
// none of an earlier version.
func (t tx) isOfPage(id job.ID) (is bool, err error) {
	_, err = t.one("SELECT credential FROM jobs WHERE id = ?", func(r row) { is = r.text(0) == string(principal.ByOrigin) }, t.conn.IDs.place(id))
	return is, err
}
