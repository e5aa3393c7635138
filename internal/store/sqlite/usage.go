package sqlite

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// Usage keeps what accounts use by the month.
type Usage struct{ store *Store }

var _ usage.Store = Usage{}

// Usage returns the store's counts.
func (s *Store) Usage() Usage { return Usage{s} }

// Used implements usage.Store.
func (u Usage) Used(ctx context.Context, a account.ID, m usage.Month) (used usage.Used, err error) {
	err = u.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT sum(calls), sum(running), sum(egress) FROM usage WHERE account = ? AND month = ?", func(r row) {
			used = usage.Used{Calls: r.int(0), Running: time.Duration(r.int(1)) * time.Microsecond, Egress: r.int(2)}
		}, int64(a), int64(m))
		return err
	})
	return used, err
}

// reserveEgress adds to the bytes of one member, or takes from them, where those of all
// stay within a bound. They never come to less than nothing.
const reserveEgress = `UPDATE usage SET egress = egress + max(?3, -(SELECT sum(egress) FROM usage WHERE account = ?1 AND month = ?2))
	WHERE account = ?1 AND month = ?2 AND member = ?5
		AND (?4 = 0 OR (SELECT sum(egress) FROM usage WHERE account = ?1 AND month = ?2) + ?3 <= ?4)`

// Reserve implements usage.Store.
func (u Usage) Reserve(ctx context.Context, a account.ID, m usage.Month, bytes, most int64) (done bool, err error) {
	err = u.store.write(ctx, func(t tx) error {
		there, err := t.has("SELECT 1 FROM accounts WHERE id = ?", int64(a))
		if err == nil && !there {
			err = account.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := t.use(a, m, cost{}); err != nil {
			return err
		}
		n, err := t.exec(reserveEgress, int64(a), int64(m), bytes, most, t.conn.member)
		done = n > 0
		return err
	})
	return done, err
}

// cost is what ended jobs used in a month, and what is kept of them.
type cost struct {
	usage.Used
	records int64 // bytes
}

// use adds to what an account has used in a month, and keeps of it.
func (t tx) use(a account.ID, m usage.Month, c cost) error {
	_, err := t.exec(`INSERT INTO usage (account, month, member, calls, running, egress, records) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (account, month, member) DO UPDATE SET calls = calls + excluded.calls, running = running + excluded.running, egress = egress + excluded.egress, records = records + excluded.records`,
		int64(a), int64(m), t.conn.member, c.Calls, c.Running.Microseconds(), c.Egress, c.records)
	if err == nil && c.records > 0 && t.conn.grown != nil {
		t.conn.grown(a, c.records)
	}
	return err
}

// countAccepted counts a job of an account that was accepted.
func (t tx) countAccepted(a account.ID, accepted time.Time) error {
	return t.use(a, usage.MonthOf(accepted), cost{Used: usage.Used{Calls: 1}})
}

// countEnded counts how long a job ran that has ended, and its record.
func (t tx) countEnded(a account.ID, ended time.Time, ran time.Duration, record int64) error {
	return t.use(a, usage.MonthOf(ended), cost{usage.Used{Running: ran}, record})
}

// countAcceptedEnded counts a job that is stored with its end.
func (t tx) countAcceptedEnded(a account.ID, ended time.Time, ran time.Duration, record int64) error {
	return t.use(a, usage.MonthOf(ended), cost{usage.Used{Calls: 1, Running: ran}, record})
}

// bill adds up what records of calls used, by account and month.
type bill map[billed]cost

type billed struct {
	account account.ID
	month   usage.Month
}

func (b bill) add(a account.ID, finished time.Time, ran time.Duration, record int64) {
	key := billed{a, usage.MonthOf(finished)}
	c := b[key]
	c.Calls++
	c.Running += ran
	if !finished.IsZero() {
		c.records += record
	}
	b[key] = c
}

// billOf is what records used.
func billOf(records []*job.Record) bill {
	b := bill{}
	for _, r := range records {
		b.add(r.Account, r.Finished, r.Ran, r.Bytes())
	}
	return b
}

// billSince is what the records used that were stored after a job.
func (t tx) billSince(seq int64) (bill, error) {
	b := bill{}
	err := t.each("SELECT account, finished, ran, "+recordBytes+" FROM jobs WHERE seq > ?", func(r row) {
		b.add(account.ID(r.int(0)), r.time(1), time.Duration(r.int(2))*time.Microsecond, r.int(3))
	}, seq)
	return b, err
}

// charge counts what was used.
func (t tx) charge(b bill) error {
	for key, c := range b {
		if err := t.use(key.account, key.month, c); err != nil {
			return err
		}
	}
	return nil
}
