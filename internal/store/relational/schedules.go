package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/job"
	"ql/internal/schedule"
)

// Schedules keeps what starts scripts by the clock.
type Schedules struct{ store *Store }

var _ schedule.Store = Schedules{}

// Schedules returns the store's schedules.
func (s *Store) Schedules() Schedules { return Schedules{s} }

const scheduleColumns = "account, name, revision, script, every, cron, zone, jitter, overlap, catch_up, pause_after, concurrency_key, concurrency_most, changed, anchor, tick, due, paused, paused_by, failures, ticks, input"

func readSchedule(r row) schedule.Schedule {
	span := func(i int) time.Duration { return time.Duration(r.int(i)) * time.Microsecond }
	return schedule.Schedule{
		Account: account.ID(r.int(0)), Name: r.text(1), Revision: r.int(2), Script: r.text(3),
		Timing:  schedule.Timing{Every: span(4), Cron: r.text(5), Zone: r.text(6), Jitter: span(7)},
		Overlap: schedule.Overlap(r.text(8)), CatchUp: span(9), PauseAfter: int(r.int(10)),
		Concurrency: job.Concurrency{Key: r.text(11), Most: int(r.int(12))},
		Set:         r.time(13), Anchor: r.time(14), Tick: r.time(15), Due: r.time(16),
		Paused: r.time(17), PausedBy: schedule.PausedBy(r.text(18)), Failures: int(r.int(19)), Ticks: r.int(20), Input: r.bytes(21),
	}
}

func (t tx) schedule(a account.ID, name string) (s schedule.Schedule, found bool, err error) {
	found, err = t.one("SELECT "+scheduleColumns+" FROM schedules WHERE account = ? AND name = ?", func(r row) { s = readSchedule(r) }, int64(a), name)
	return s, found, err
}

// Put implements schedule.Store.
func (s Schedules) Put(ctx context.Context, new schedule.Schedule, most int) (stored schedule.Schedule, created bool, err error) {
	err = s.store.write(ctx, func(t tx) error {
		if err := t.requireAccount(new.Account); err != nil {
			return err
		}
		before, found, err := t.schedule(new.Account, new.Name)
		if err != nil {
			return err
		}
		stored, created = new, !found
		stored.Revision, stored.Failures, stored.Ticks, stored.Paused, stored.PausedBy = before.Revision+1, 0, before.Ticks, before.Paused, before.PausedBy
		if found && stored.Timing == before.Timing {
			stored.Anchor, stored.Tick, stored.Due = before.Anchor, before.Tick, before.Due
		}
		if !stored.Paused.IsZero() {
			stored.Tick, stored.Due = time.Time{}, time.Time{}
		}
		if created && most > 0 {
			others := 0
			if _, err := t.one("SELECT count(*) FROM schedules WHERE account = ?", func(r row) { others = int(r.int(0)) }, int64(new.Account)); err != nil {
				return err
			}
			if others >= most {
				return schedule.ErrTooMany
			}
		}
		n := &stored
		if _, err := t.exec("INSERT INTO schedules ("+scheduleColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, name) DO UPDATE
			SET revision = excluded.revision, script = excluded.script, every = excluded.every, cron = excluded.cron, zone = excluded.zone, jitter = excluded.jitter, overlap = excluded.overlap, catch_up = excluded.catch_up, pause_after = excluded.pause_after, concurrency_key = excluded.concurrency_key, concurrency_most = excluded.concurrency_most, changed = excluded.changed, anchor = excluded.anchor, tick = excluded.tick, due = excluded.due, paused = excluded.paused, paused_by = excluded.paused_by, failures = excluded.failures, ticks = excluded.ticks, input = excluded.input`,
			int64(n.Account), n.Name, n.Revision, n.Script, n.Every.Microseconds(), n.Cron, n.Zone, n.Jitter.Microseconds(), string(n.Overlap), n.CatchUp.Microseconds(), n.PauseAfter,
			optional(n.Concurrency.Key), n.Concurrency.Most, n.Set, n.Anchor, n.Tick, n.Due, n.Paused, string(n.PausedBy), n.Failures, n.Ticks, n.Input); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: n.Account, Act: audit.ScheduleSet, On: n.Name})
	})
	if err != nil {
		return schedule.Schedule{}, false, err
	}
	return stored, created, nil
}

// Schedule implements schedule.Store.
func (s Schedules) Schedule(ctx context.Context, a account.ID, name string) (one schedule.Schedule, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		var found bool
		if one, found, err = t.schedule(a, name); err == nil && !found {
			err = account.ErrNotFound
		}
		return err
	})
	return one, err
}

// Schedules implements schedule.Store.
func (s Schedules) Schedules(ctx context.Context, a account.ID, after string, limit int) (list []schedule.Schedule, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+scheduleColumns+" FROM schedules WHERE account = ? AND name > ? ORDER BY name LIMIT ?",
			func(r row) { list = append(list, readSchedule(r)) }, int64(a), after, max(limit, 0))
	})
	return list, err
}

// Remove implements schedule.Store.
func (s Schedules) Remove(ctx context.Context, a account.ID, name string) error {
	return s.store.write(ctx, func(t tx) error {
		n, err := t.exec("DELETE FROM schedules WHERE account = ? AND name = ?", int64(a), name)
		switch {
		case err != nil:
			return err
		case n == 0:
			return account.ErrNotFound
		}
		if _, err := t.exec("DELETE FROM schedule_ticks WHERE account = ? AND schedule = ?", int64(a), name); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: a, Act: audit.ScheduleRemoved, On: name})
	})
}

const pauseSchedule = "UPDATE schedules SET paused = ?, paused_by = ?, tick = NULL, due = NULL WHERE account = ? AND name = ? AND paused IS NULL"

// Pause implements schedule.Store.
func (s Schedules) Pause(ctx context.Context, a account.ID, name string, now time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		n, err := t.exec(pauseSchedule, now, string(schedule.PausedByOwner), int64(a), name)
		switch {
		case err != nil:
			return err
		case n > 0:
			return t.audit(ctx, audit.Event{Account: a, Act: audit.SchedulePaused, On: name})
		}
		return t.requireSchedule(a, name)
	})
}

func (t tx) requireSchedule(a account.ID, name string) error {
	there, err := t.has("SELECT 1 FROM schedules WHERE account = ? AND name = ?", int64(a), name)
	if err == nil && !there {
		err = account.ErrNotFound
	}
	return err
}

// Resume implements schedule.Store.
func (s Schedules) Resume(ctx context.Context, one schedule.Schedule) error {
	return s.store.write(ctx, func(t tx) error {
		now, found, err := t.schedule(one.Account, one.Name)
		switch {
		case err != nil:
			return err
		case !found:
			return account.ErrNotFound
		case now.Paused.IsZero():
			return nil
		case now.Revision != one.Revision:
			return schedule.ErrMoved
		}
		if _, err := t.exec("UPDATE schedules SET paused = NULL, paused_by = '', failures = 0, tick = ?, due = ? WHERE account = ? AND name = ?",
			one.Tick, one.Due, int64(one.Account), one.Name); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: one.Account, Act: audit.ScheduleResumed, On: one.Name})
	})
}

// Due implements schedule.Store.
func (s Schedules) Due(ctx context.Context, now time.Time, but []account.ID, limit int) (list []schedule.Schedule, err error) {
	where, args := "", []any{now}
	for _, a := range but {
		where, args = where+" AND account <> ?", append(args, int64(a))
	}
	err = s.store.read(ctx, func(t tx) error {
		list = nil
		return t.each("SELECT "+scheduleColumns+" FROM schedules WHERE due IS NOT NULL AND due <= ?"+where+" ORDER BY due LIMIT ?",
			func(r row) { list = append(list, readSchedule(r)) }, append(args, max(limit, 0))...)
	})
	return list, err
}

// NextDue implements schedule.Store.
func (s Schedules) NextDue(ctx context.Context, now time.Time) (next time.Time, err error) {
	err = s.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT due FROM schedules WHERE due IS NOT NULL AND due > ? ORDER BY due LIMIT 1", func(r row) { next = r.time(0) }, now)
		return err
	})
	return next, err
}

// Postpone implements schedule.Store.
func (s Schedules) Postpone(ctx context.Context, one schedule.Schedule, until time.Time) error {
	return s.store.write(ctx, func(t tx) error {
		n, err := t.exec("UPDATE schedules SET due = ? WHERE account = ? AND name = ? AND revision = ? AND tick = ?",
			until, int64(one.Account), one.Name, one.Revision, one.Tick)
		if err == nil && n == 0 {
			err = schedule.ErrMoved
		}
		return err
	})
}

// Settle implements schedule.Store.
func (s Schedules) Settle(ctx context.Context, one *schedule.Settlement) (settled schedule.Settled, err error) {
	err = s.store.write(ctx, func(t tx) (err error) {
		settled, err = t.settle(one)
		return err
	})
	if err != nil {
		return schedule.Settled{}, orphaned(err)
	}
	return settled, nil
}

func (t tx) settle(one *schedule.Settlement) (settled schedule.Settled, err error) {
	read := &one.Schedule
	now, found, err := t.schedule(read.Account, read.Name)
	switch {
	case err != nil:
		return settled, err
	case !found && one.Manual:
		return settled, account.ErrNotFound
	case !found, now.Revision != read.Revision, !one.Manual && !now.Tick.Equal(read.Tick):
		return settled, schedule.ErrMoved
	}
	entry := schedule.Tick{Number: now.Ticks + 1, First: read.Tick, Last: one.Last, Count: one.Count, At: one.Now, Reason: one.Reason, Message: one.Message, Manual: one.Manual}
	if one.Task != nil {
		entry.Last, entry.Count = read.Tick, 1
		if one.Manual {
			entry.First, entry.Last = one.Now, one.Now
		}
		if settled, err = t.startScheduled(one, &now); err != nil {
			return settled, err
		}
		entry.Reason, entry.Job = settled.Reason, settled.Lease.Seq
	}
	settled.Reason = entry.Reason
	if entry.Reason != "" && one.Manual {
		return settled, schedule.ErrBusy
	}
	merged, err := t.noteTick(read, &entry)
	if err != nil {
		return settled, err
	}
	if merged {
		entry.Number--
	}
	failures := now.Failures
	if one.Failed {
		failures++
	}
	tick, due := one.Next, one.NextDue
	if one.Manual {
		tick, due = now.Tick, now.Due
	}
	if _, err := t.exec("UPDATE schedules SET tick = ?, due = ?, ticks = ?, failures = ? WHERE account = ? AND name = ?",
		tick, due, entry.Number, failures, int64(read.Account), read.Name); err != nil {
		return settled, err
	}
	if one.Failed && now.PauseAfter > 0 && failures >= now.PauseAfter {
		settled.Paused = true
		return settled, t.pauseFailing(read.Account, read.Name, one.Now)
	}
	return settled, nil
}

// startScheduled stores the job of a tick, unless an earlier one stands in its way.
func (t tx) startScheduled(one *schedule.Settlement, now *schedule.Schedule) (settled schedule.Settled, err error) {
	most := 1
	switch now.Overlap {
	case schedule.OverlapAll:
		most = 0
	case schedule.OverlapQueue:
		most = 2 // one of which waits
	}
	if most > 0 {
		n := 0
		if err := t.each("SELECT 1 FROM jobs WHERE account = ? AND schedule = ? AND schedule IS NOT NULL AND program IS NOT NULL LIMIT ?", func(row) { n++ },
			int64(now.Account), now.Name, most); err != nil {
			return settled, err
		}
		if n >= most {
			return schedule.Settled{Reason: schedule.ReasonOverlap}, nil
		}
	}
	if _, err := t.storeProgram(one.Task); err != nil {
		return settled, err
	}
	settled.Lease, err = t.insertTask(one.Task, one.Now, 0, one.Member.Incarnation)
	return settled, err
}

// noteTick appends an entry to the history of a schedule. A skip for the same reason as the one
// before becomes a part of that.
func (t tx) noteTick(s *schedule.Schedule, e *schedule.Tick) (merged bool, err error) {
	if e.Reason != "" {
		n, err := t.exec("UPDATE schedule_ticks SET last = ?, count = count + ?, settled = ?, message = ? WHERE account = ? AND schedule = ? AND number = ? AND reason = ?",
			e.Last, e.Count, e.At, e.Message, int64(s.Account), s.Name, e.Number-1, string(e.Reason))
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	if _, err := t.exec("INSERT INTO schedule_ticks (account, schedule, number, first, last, count, settled, manual, job, reason, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(s.Account), s.Name, e.Number, e.First, e.Last, e.Count, e.At, e.Manual, optionalNumber(e.Job), string(e.Reason), e.Message); err != nil {
		return false, err
	}
	_, err = t.exec("DELETE FROM schedule_ticks WHERE account = ? AND schedule = ? AND number <= ?", int64(s.Account), s.Name, e.Number-schedule.HistoryEntries)
	return false, err
}

// pauseFailing pauses a schedule that has failed too often.
func (t tx) pauseFailing(a account.ID, name string, now time.Time) error {
	n, err := t.exec(pauseSchedule, now, string(schedule.PausedByFailures), int64(a), name)
	if err != nil || n == 0 {
		return err
	}
	return t.audit(audit.By(t.ctx, audit.Actor{By: audit.ByService}), audit.Event{Account: a, Act: audit.SchedulePaused, On: name})
}

// noteScheduledEnd counts the end of a job that a schedule started.
func (t tx) noteScheduledEnd(a account.ID, name string, state job.State, now time.Time) error {
	if name == "" || state == job.Cancelled {
		return nil
	}
	if state == job.Complete || state == job.Declined {
		_, err := t.exec("UPDATE schedules SET failures = 0 WHERE account = ? AND name = ? AND failures > 0", int64(a), name)
		return err
	}
	failures, pauseAfter := int64(0), int64(0)
	if _, err := t.one("UPDATE schedules SET failures = failures + 1 WHERE account = ? AND name = ? RETURNING failures, pause_after",
		func(r row) { failures, pauseAfter = r.int(0), r.int(1) }, int64(a), name); err != nil || pauseAfter == 0 || failures < pauseAfter {
		return err
	}
	return t.pauseFailing(a, name, now)
}

// History implements schedule.Store.
func (s Schedules) History(ctx context.Context, a account.ID, name string, before int64, limit int) (list []schedule.Tick, err error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	err = s.store.read(ctx, func(t tx) error {
		return t.each(`SELECT s.number, s.first, s.last, s.count, s.settled, s.manual, coalesce(s.job, 0), s.reason, s.message, coalesce(jobs.state, ''), coalesce(jobs.error_code, '')
			FROM schedule_ticks s LEFT JOIN jobs ON jobs.seq = s.job AND jobs.account = s.account WHERE s.account = ? AND s.schedule = ? AND s.number < ? ORDER BY s.number DESC LIMIT ?`, func(r row) {
			list = append(list, schedule.Tick{
				Number: r.int(0), First: r.time(1), Last: r.time(2), Count: r.int(3), At: r.time(4), Manual: r.bool(5), Job: r.int(6),
				Reason: schedule.Reason(r.text(7)), Message: r.text(8), JobState: job.State(r.text(9)), ErrorCode: r.text(10),
			})
		}, int64(a), name, before, max(limit, 0))
	})
	return list, err
}

// blockUnlessFree tells whether a new job with a concurrency key has to wait for others.
func (t tx) blockUnlessFree(task *job.Task) (blocked bool, err error) {
	c := task.Concurrency
	if c.Key == "" {
		return false, nil
	}
	if blocked, err = t.has("SELECT 1 FROM jobs WHERE account = ? AND concurrency_key = ? AND concurrency_key IS NOT NULL AND program IS NOT NULL AND blocked = 1 LIMIT 1", int64(task.Account), c.Key); err != nil {
		return false, err
	}
	if !blocked {
		n, err := t.countUnblocked(task.Account, c.Key, c.Most)
		if err != nil || n < c.Most {
			return false, err
		}
	}
	if task.MostBlocked > 0 {
		n := 0
		if err := t.each("SELECT 1 FROM jobs WHERE account = ? AND blocked = 1 LIMIT ?", func(row) { n++ }, int64(task.Account), task.MostBlocked); err != nil {
			return false, err
		}
		if n >= task.MostBlocked {
			return false, job.ErrBlockedLimit
		}
	}
	return true, nil
}

// countUnblocked counts the jobs of a key that are under way, or may be: no more than most.
func (t tx) countUnblocked(a account.ID, key string, most int) (n int, err error) {
	err = t.each("SELECT 1 FROM jobs WHERE account = ? AND concurrency_key = ? AND concurrency_key IS NOT NULL AND program IS NOT NULL AND blocked = 0 LIMIT ?", func(row) { n++ },
		int64(a), key, most)
	return n, err
}

// unblockNext has the jobs that waited longest for a key be due, as many as it has room for, after one
// has finished.
func (t tx) unblockNext(a account.ID, key string, now time.Time) error {
	if key == "" {
		return nil
	}
	for {
		var seq int64
		most := 0
		found, err := t.one("SELECT seq, concurrency_most FROM jobs WHERE account = ? AND concurrency_key = ? AND concurrency_key IS NOT NULL AND program IS NOT NULL AND blocked = 1 ORDER BY seq LIMIT 1",
			func(r row) { seq, most = r.int(0), int(r.int(1)) }, int64(a), key)
		if err != nil || !found {
			return err
		}
		n, err := t.countUnblocked(a, key, most)
		if err != nil || n >= most {
			return err
		}
		if _, err := t.exec("UPDATE jobs SET blocked = 0, due = ? WHERE seq = ?", now, seq); err != nil {
			return err
		}
	}
}
