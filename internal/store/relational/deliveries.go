package relational

import (
	"context"
	"math"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/webhook"
)

// Deliveries keeps what servers are to be told of finished jobs. Its rows are
// made by the Queue, with the end of a job.
type Deliveries struct{ store *Store }

var _ webhook.Store = Deliveries{}

// Deliveries returns the store's deliveries.
func (s *Store) Deliveries() Deliveries { return Deliveries{s} }

const deliveryColumns = "seq, id, account, job, url, state, attempts, due, made, settled, event, prompt"

func readDelivery(r row) webhook.Delivery {
	d := webhook.Delivery{
		Seq:      r.int(0),
		ID:       r.text(1),
		Account:  account.ID(r.int(2)),
		URL:      r.text(4),
		State:    webhook.State(r.text(5)),
		Attempts: int(r.int(6)),
		Due:      r.time(7),
		Made:     r.time(8),
		Settled:  r.time(9),
		Event:    r.text(10),
		Prompt:   r.text(11),
	}
	copy(d.Job[:], r.s.Blob(3))
	return d
}

// Due implements webhook.Store.
func (s Deliveries) Due(ctx context.Context, now time.Time, limit int) (list []webhook.Delivery, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+deliveryColumns+" FROM deliveries WHERE due IS NOT NULL AND due <= ? ORDER BY due, seq LIMIT ?",
			func(r row) { list = append(list, readDelivery(r)) }, now.UnixMicro(), max(limit, 0))
	})
	return list, err
}

// dueAccounts goes from account to account by the index, whatever the number of
// their deliveries.
const dueAccounts = `WITH RECURSIVE pending (account) AS (
	SELECT (SELECT min(account) FROM deliveries WHERE due IS NOT NULL AND account > ?1)
	UNION ALL
	SELECT (SELECT min(d.account) FROM deliveries d WHERE d.due IS NOT NULL AND d.account > p.account) FROM pending p WHERE p.account < ?2
)
SELECT account FROM pending p WHERE account IS NOT NULL AND account <= ?2
	AND (SELECT min(due) FROM deliveries d WHERE d.due IS NOT NULL AND d.account = p.account) <= ?3 LIMIT ?4`

// DueAccounts implements webhook.Store.
func (s Deliveries) DueAccounts(ctx context.Context, now time.Time, after account.ID, limit int) (list []account.ID, err error) {
	err = s.store.read(ctx, func(t tx) error {
		for _, part := range [][2]int64{{int64(after), math.MaxInt64}, {math.MinInt64, int64(after)}} {
			err := t.each(dueAccounts, func(r row) { list = append(list, account.ID(r.int(0))) }, part[0], part[1], now.UnixMicro(), max(limit-len(list), 0))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// DueOf implements webhook.Store.
func (s Deliveries) DueOf(ctx context.Context, a account.ID, now time.Time, after webhook.Delivery, limit int) (list []webhook.Delivery, err error) {
	var due int64 = math.MinInt64
	if !after.Due.IsZero() {
		due = after.Due.UnixMicro()
	}
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+deliveryColumns+" FROM deliveries WHERE account = ? AND due IS NOT NULL AND due <= ? AND (due, seq) > (?, ?) ORDER BY due, seq LIMIT ?",
			func(r row) { list = append(list, readDelivery(r)) }, int64(a), now.UnixMicro(), due, after.Seq, max(limit, 0))
	})
	return list, err
}

// Next implements webhook.Store.
func (s Deliveries) Next(ctx context.Context, after time.Time) (next time.Time, err error) {
	err = s.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT min(due) FROM deliveries WHERE due > ?", func(r row) { next = r.time(0) }, after.UnixMicro())
		return err
	})
	return next, err
}

// countPending goes through an index, and reads no row.
const countPending = "SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE due IS NOT NULL LIMIT ?) AS few"

// Count implements webhook.Store.
func (s Deliveries) Count(ctx context.Context, now time.Time, most int) (c webhook.Counts, err error) {
	err = s.store.read(ctx, func(t tx) error {
		if _, err := t.one(countPending, func(r row) { c.Pending = int(r.int(0)) }, max(most, 0)); err != nil {
			return err
		}
		_, err := t.one("SELECT min(due) FROM deliveries WHERE due <= ?", func(r row) { c.OldestDue = r.time(0) }, now.UnixMicro())
		return err
	})
	return c, err
}

// Claim implements webhook.Store.
func (s Deliveries) Claim(ctx context.Context, list []webhook.Delivery, until time.Time) (claimed []webhook.Delivery, err error) {
	err = s.store.write(ctx, func(t tx) error {
		claimed = nil
		for _, d := range list {
			n, err := t.exec("UPDATE deliveries SET due = ? WHERE seq = ? AND id = ? AND due = ? AND attempts = ?", until, d.Seq, d.ID, d.Due, d.Attempts)
			if err != nil {
				return err
			}
			if n > 0 {
				d.Due = until.UTC().Truncate(time.Microsecond)
				claimed = append(claimed, d)
			}
		}
		return nil
	})
	return claimed, err
}

// Settle implements webhook.Store.
func (s Deliveries) Settle(ctx context.Context, d webhook.Delivery, a webhook.Attempt, state webhook.State, at time.Time) error {
	due, settled := at, time.Time{}
	if state != webhook.Pending {
		due, settled = time.Time{}, at
	}
	return s.store.write(ctx, func(t tx) error {
		n, err := t.exec("UPDATE deliveries SET attempts = attempts + 1, state = ?, due = ?, settled = ? WHERE seq = ? AND id = ? AND due = ? AND attempts = ?",
			string(state), due, settled, d.Seq, d.ID, d.Due, d.Attempts)
		if err != nil {
			return err
		}
		if n == 0 {
			return webhook.ErrClaimLost
		}
		_, err = t.exec("INSERT INTO delivery_attempts (account, delivery, number, at, took, status, answer, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			int64(d.Account), d.Seq, d.Attempts+1, a.At.UnixMicro(), a.Took.Microseconds(), a.Status, a.Answer, a.Error)
		return err
	})
}

// Release implements webhook.Store.
func (s Deliveries) Release(ctx context.Context, d webhook.Delivery, due time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		n, err := t.exec("UPDATE deliveries SET due = ? WHERE seq = ? AND id = ? AND due = ? AND attempts = ?", due, d.Seq, d.ID, d.Due, d.Attempts)
		if err == nil && n == 0 {
			err = webhook.ErrClaimLost
		}
		return err
	})
}

// ByID implements webhook.Store.
func (s Deliveries) ByID(ctx context.Context, id string) (d webhook.Delivery, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		d, err = deliveryByID(t, id)
		return err
	})
	return d, err
}

func deliveryByID(t tx, id string) (d webhook.Delivery, err error) {
	found, err := t.one("SELECT "+deliveryColumns+" FROM deliveries WHERE id = ?", func(r row) { d = readDelivery(r) }, id)
	if err == nil && !found {
		err = webhook.ErrNotFound
	}
	return d, err
}

// ByJob implements webhook.Store.
func (s Deliveries) ByJob(ctx context.Context, id job.ID) (list []webhook.Delivery, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+deliveryColumns+" FROM deliveries WHERE job = ? ORDER BY seq DESC", func(r row) { list = append(list, readDelivery(r)) }, id[:])
	})
	return list, err
}

// List implements webhook.Store.
func (s Deliveries) List(ctx context.Context, a account.ID, q webhook.Query) (list []webhook.Delivery, err error) {
	const first = 1<<63 - 1
	sql := "SELECT " + deliveryColumns + " FROM deliveries WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
	if q.State != "" {
		sql = "SELECT " + deliveryColumns + " FROM deliveries WHERE account = ? AND seq < ? AND state = ?4 ORDER BY seq DESC LIMIT ?3"
	}
	err = s.store.read(ctx, func(t tx) error {
		before := int64(first)
		if q.Before != "" {
			before = 0
			if _, err := t.one("SELECT seq FROM deliveries WHERE id = ? AND account = ?", func(r row) { before = r.int(0) }, q.Before, int64(a)); err != nil {
				return err
			}
		}
		args := []any{int64(a), before, max(q.Limit, 0)}
		if q.State != "" {
			args = append(args, string(q.State))
		}
		return t.each(sql, func(r row) { list = append(list, readDelivery(r)) }, args...)
	})
	return list, err
}

// Attempts implements webhook.Store.
func (s Deliveries) Attempts(ctx context.Context, id string) (list []webhook.Attempt, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT number, at, took, status, answer, error FROM delivery_attempts WHERE (account, delivery) = (SELECT account, seq FROM deliveries WHERE id = ?) ORDER BY number",
			func(r row) {
				list = append(list, webhook.Attempt{
					Number: int(r.int(0)), At: r.time(1), Took: time.Duration(r.int(2)) * time.Microsecond,
					Status: int(r.int(3)), Answer: r.text(4), Error: r.text(5),
				})
			}, id)
	})
	return list, err
}

// Repeat implements webhook.Store.
func (s Deliveries) Repeat(ctx context.Context, id string, now time.Time) (d webhook.Delivery, err error) {
	err = s.store.write(ctx, func(t tx) error {
		if _, err := t.exec("UPDATE deliveries SET state = ?, due = ?, settled = NULL WHERE id = ?", string(webhook.Pending), now, id); err != nil {
			return err
		}
		d, err = deliveryByID(t, id)
		return err
	})
	return d, err
}

// Forget implements webhook.Store.
func (s Deliveries) Forget(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.store.write(ctx, func(t tx) error {
		removed, err := t.exec("DELETE FROM deliveries WHERE seq IN (SELECT seq FROM deliveries WHERE settled IS NOT NULL AND settled < ? ORDER BY settled LIMIT ?)", before.UnixMicro(), max(limit, 0))
		n = int(removed)
		return err
	})
	return n, err
}
