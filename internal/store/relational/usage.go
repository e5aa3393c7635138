package relational

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
		_, err := t.one("SELECT sum(calls), sum(running), sum(egress), sum(machine) FROM usage WHERE account = ? AND month = ?", func(r row) {
			used = readUsed(r, 0)
		}, int64(a), int64(m))
		return err
	})
	return used, err
}

// readUsed reads calls, running time, bytes and time on machines, from a column on.
func readUsed(r row, at int) usage.Used {
	return usage.Used{
		Calls: r.int(at), Running: time.Duration(r.int(at+1)) * time.Microsecond, Egress: r.int(at + 2), Machine: time.Duration(r.int(at+3)) * time.Microsecond,
	}
}

// Days implements usage.Store.
func (u Usage) Days(ctx context.Context, a account.ID, from usage.Day) (list []usage.UsedDay, err error) {
	err = u.store.read(ctx, func(t tx) error {
		return t.each(`SELECT day, sum(calls), sum(running), sum(egress), sum(machine) FROM (
				SELECT day, calls, running, egress, machine FROM usage_days WHERE account = ?1 AND day >= ?2
				UNION ALL SELECT day, day_calls, day_running, day_egress, day_machine FROM usage WHERE account = ?1 AND day >= ?2
			) AS days GROUP BY day ORDER BY day`, func(r row) {
			list = append(list, usage.UsedDay{Day: usage.Day(r.int(0)), Used: readUsed(r, 1)})
		}, int64(a), int64(from))
	})
	return list, err
}

// Count implements usage.Store.
func (u Usage) Count(ctx context.Context, a account.ID, d usage.Day, used usage.Used) error {
	return u.store.write(ctx, func(t tx) error {
		if err := t.checkAccount(a); err != nil {
			return err
		}
		return t.useOn(a, d, cost{Used: used})
	})
}

// checkAccount tells whether there is an account.
func (t tx) checkAccount(a account.ID) error {
	there, err := t.has("SELECT 1 FROM accounts WHERE id = ?", int64(a))
	if err == nil && !there {
		err = account.ErrNotFound
	}
	return err
}

// Reserve implements usage.Store. The bytes of all members together stay within the bound,
// and never come to less than nothing.
func (u Usage) Reserve(ctx context.Context, a account.ID, d usage.Day, bytes, most int64) (done bool, err error) {
	err = u.store.write(ctx, func(t tx) error {
		if err := t.checkAccount(a); err != nil {
			return err
		}
		if err := t.useOn(a, d, cost{}); err != nil {
			return err
		}
		used, err := t.number("SELECT sum(egress) FROM usage WHERE account = ? AND month = ?", int64(a), int64(d.Month()))
		if done = most == 0 || used+bytes <= most; err != nil || !done {
			return err
		}
		_, err = t.exec("UPDATE usage SET egress = egress + ?1, day_egress = day_egress + ?1 WHERE account = ?2 AND month = ?3 AND member = ?4",
			max(bytes, -used), int64(a), int64(d.Month()), t.conn.countsAs())
		return err
	})
	return done, err
}

// cost is what ended jobs used in a month, and what is kept of them.
type cost struct {
	usage.Used
	records int64 // bytes
}

// useOn adds to what an account has used on a day, and keeps of it. What comes later than what another
// day has counted counts on that one. The day at hand is counted in the row of its month, which is
// written anyway; the day before goes to a table of its own.
func (t tx) useOn(a account.ID, d usage.Day, c cost) error {
	add := func() (changed int64, queued bool, err error) {
		return t.execLast(`INSERT INTO usage (account, month, member, calls, running, egress, records, day, day_calls, day_running, day_egress, machine, day_machine)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?4, ?5, ?6, ?9, ?9)
		ON CONFLICT (account, month, member) DO UPDATE SET calls = usage.calls + excluded.calls, running = usage.running + excluded.running,
			egress = usage.egress + excluded.egress, records = usage.records + excluded.records, machine = usage.machine + excluded.machine,
			day_calls = usage.day_calls + excluded.calls, day_running = usage.day_running + excluded.running,
			day_egress = usage.day_egress + excluded.egress, day_machine = usage.day_machine + excluded.machine
		WHERE excluded.day <= usage.day`,
			int64(a), int64(d.Month()), t.conn.countsAs(), c.Calls, c.Running.Microseconds(), c.Egress, c.records, int64(d), c.Machine.Microseconds())
	}
	n, queued, err := add()
	if err == nil && n == 0 && !queued { // another day has begun
		if err = t.beginDay(a, d); err == nil {
			_, _, err = add()
		}
	}
	t.noteGrowth(a, c, err)
	return err
}

// keptDays is how many days before the one at hand are kept.
const keptDays = 100

// beginDay stores what was used on the day before, and counts anew; 0 is no day.
func (t tx) beginDay(a account.ID, d usage.Day) error {
	if _, err := t.exec(`INSERT INTO usage_days (account, day, member, calls, running, egress, machine)
			SELECT account, day, member, day_calls, day_running, day_egress, day_machine FROM usage WHERE account = ?1 AND month = ?2 AND member = ?3 AND day > 0
		ON CONFLICT (account, day, member) DO UPDATE SET calls = usage_days.calls + excluded.calls, running = usage_days.running + excluded.running,
			egress = usage_days.egress + excluded.egress, machine = usage_days.machine + excluded.machine`,
		int64(a), int64(d.Month()), t.conn.countsAs()); err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM usage_days WHERE account = ? AND day < ?", int64(a), int64(d)-keptDays); err != nil {
		return err
	}
	_, err := t.exec("UPDATE usage SET day = ?1, day_calls = 0, day_running = 0, day_egress = 0, day_machine = 0 WHERE account = ?2 AND month = ?3 AND member = ?4",
		int64(d), int64(a), int64(d.Month()), t.conn.countsAs())
	return err
}

// keep adds to what is kept of an account's records of a month, or takes from it.
func (t tx) keep(a account.ID, m usage.Month, records int64) error {
	_, err := t.exec(`INSERT INTO usage (account, month, member, calls, running, egress, records) VALUES (?, ?, ?, 0, 0, 0, ?)
		ON CONFLICT (account, month, member) DO UPDATE SET records = usage.records + excluded.records`,
		int64(a), int64(m), t.conn.countsAs(), records)
	t.noteGrowth(a, cost{records: records}, err)
	return err
}

// noteGrowth tells that more is kept of an account.
func (t tx) noteGrowth(a account.ID, c cost, err error) {
	if err == nil && c.records > 0 && t.conn.Grown != nil {
		t.conn.Grown(a, c.records)
	}
}

// countAccepted counts a job of an account that was accepted.
func (t tx) countAccepted(a account.ID, accepted time.Time) error {
	return t.useOn(a, usage.DayOf(accepted), cost{Used: usage.Used{Calls: 1}})
}

// countEnded counts how long a job ran that has ended, and its record.
func (t tx) countEnded(a account.ID, ended time.Time, ran time.Duration, record int64) error {
	return t.useOn(a, usage.DayOf(ended), cost{usage.Used{Running: ran}, record})
}

// countAcceptedEnded counts a job that is stored with its end.
func (t tx) countAcceptedEnded(a account.ID, ended time.Time, ran time.Duration, record int64) error {
	return t.useOn(a, usage.DayOf(ended), cost{usage.Used{Calls: 1, Running: ran}, record})
}

// bill adds up what records of calls used, by account and day.
type bill map[billed]cost

type billed struct {
	account account.ID
	day     usage.Day
}

func (b bill) add(a account.ID, finished time.Time, ran time.Duration, record int64) {
	key := billed{a, usage.DayOf(finished)}
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
		if err := t.useOn(key.account, key.day, c); err != nil {
			return err
		}
	}
	return nil
}
