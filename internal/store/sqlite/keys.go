package sqlite

import (
	"bytes"
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

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
