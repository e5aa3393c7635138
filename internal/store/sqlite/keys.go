package sqlite

import (
	"bytes"
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// Reserve implements job.Queue.
func (q Queue) Reserve(ctx context.Context, a account.ID, k job.Key, id job.ID, now time.Time) (earlier job.ID, err error) {
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
	_, err = t.exec("INSERT OR REPLACE INTO idempotency_keys (account, hash, body, job, ends) VALUES (?, ?, ?, ?, ?)",
		int64(a), k.Hash[:], k.Body[:], id[:], k.Until)
	return job.ID{}, err
}

// Reserved implements job.Queue.
func (q Queue) Reserved(ctx context.Context, a account.ID, k job.Key, now time.Time) (earlier job.ID, err error) {
	err = q.store.read(ctx, func(t tx) (err error) {
		earlier, err = t.reserved(a, k, now)
		return err
	})
	return earlier, err
}

// reserved returns the job that a key leads to, or no ID.
func (t tx) reserved(a account.ID, k job.Key, now time.Time) (earlier job.ID, err error) {
	var body []byte
	found, err := t.one("SELECT job, body FROM idempotency_keys WHERE account = ? AND hash = ? AND ends > ?", func(r row) {
		copy(earlier[:], r.s.Blob(0))
		body = r.bytes(1)
	}, int64(a), k.Hash[:], now)
	switch {
	case err != nil:
		return job.ID{}, err
	case found && !bytes.Equal(body, k.Body[:]):
		return job.ID{}, job.ErrOtherBody
	}
	return earlier, nil
}
