package relational

import (
	"context"
	"time"

	"ql/internal/job"
)

// Prune implements job.Maintenance. One that is given meanwhile stays, and so does one
// that a new job needs without giving it: its caller knows that it was given
// lately.
func (q Queue) Prune(ctx context.Context, now time.Time, limit int) (n int, err error) {
	before := now.Add(-job.ProgramRetention)
	old, err := q.oldPrograms(ctx, before, limit)
	if err != nil {
		return 0, err
	}
	err = q.store.write(ctx, func(t tx) error {
		keys, err := t.exec("DELETE FROM idempotency_keys WHERE (account, hash) IN (SELECT account, hash FROM idempotency_keys WHERE ends <= ? ORDER BY ends LIMIT ?)",
			now, max(limit, 0))
		if err != nil {
			return err
		}
		n = int(keys)
		for _, p := range old {
			if p.needed {
				if _, err := t.exec("UPDATE programs SET used = CASE WHEN used > ?1 THEN used ELSE ?1 END WHERE hash = ?2", now, p.hash); err != nil {
					return err
				}
				continue
			}
			gone, err := t.dropProgram(p.hash, before)
			if err != nil {
				return err
			}
			if gone {
				n++
			}
		}
		return nil
	})
	return n, err
}

// Jobs that are not finished belong to a member or to nobody: each is in one index.
const (
	unfinished = "SELECT seq FROM jobs WHERE program IS NOT NULL AND member IS NULL AND state IN ('running', 'paused', 'waiting', 'accepted') " +
		"UNION ALL SELECT seq FROM jobs WHERE member >= 0 AND member IS NOT NULL"
	neededPrograms = "SELECT program FROM jobs WHERE program IS NOT NULL AND member IS NULL AND state IN ('running', 'paused', 'waiting', 'accepted') " +
		"UNION ALL SELECT program FROM jobs WHERE member >= 0 AND member IS NOT NULL"
)

const (
	// countHeld goes through the index of jobs that a member holds, and countUnheld through
	// that of the others, by state. Neither reads a row.
	countHeld   = "SELECT count(*), min(seq) FROM (SELECT seq FROM jobs WHERE member = ? AND member IS NOT NULL AND state = ? ORDER BY account, seq LIMIT ?) AS few"
	countUnheld = "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE program IS NOT NULL AND member IS NULL AND state = ? LIMIT ?) AS few"
)

// Count implements job.Maintenance.
func (q Queue) Count(ctx context.Context, now time.Time, most int) (c job.Counts, err error) {
	most = max(most, 0)
	err = q.store.read(ctx, func(t tx) error { return t.snapshot(func() error { return t.countJobs(now, most, &c) }) })
	return c, err
}

func (t tx) countJobs(now time.Time, most int, c *job.Counts) error {
	var oldest int64 // 0 is no job's
	for member, left := int64(-1), true; left; {
		var err error
		if left, err = t.one("SELECT member FROM jobs WHERE member > ? AND member IS NOT NULL ORDER BY member LIMIT 1", func(r row) { member = r.int(0) }, member); err != nil {
			return err
		}
		for s, n := range map[job.State]*int{job.Accepted: &c.Accepted, job.Running: &c.Running} {
			if !left || *n >= most {
				continue
			}
			if _, err := t.one(countHeld, func(r row) {
				*n += int(r.int(0))
				if first := r.int(1); s == job.Accepted && first > 0 && (oldest == 0 || first < oldest) {
					oldest = first
				}
			}, member, string(s), most-*n); err != nil {
				return err
			}
		}
	}
	if _, err := t.one("SELECT created FROM jobs WHERE seq = ?", func(r row) { c.OldestAccepted = r.time(0) }, oldest); err != nil {
		return err
	}
	for s, n := range map[job.State]*int{job.Running: &c.Running, job.Paused: &c.Paused, job.Waiting: &c.Waiting} {
		if _, err := t.one(countUnheld, func(r row) { *n = min(*n+int(r.int(0)), most) }, string(s), most); err != nil {
			return err
		}
		_, err := t.one("SELECT due FROM jobs WHERE program IS NOT NULL AND member IS NULL AND state = ? AND due <= ? ORDER BY due LIMIT 1", func(r row) {
			if at := r.time(0); c.OldestDue.IsZero() || at.Before(c.OldestDue) {
				c.OldestDue = at
			}
		}, string(s), now.UnixMicro())
		if err != nil {
			return err
		}
	}
	return nil
}

// oldProgram is a program that was not used for long.
type oldProgram struct {
	hash   []byte
	needed bool // by a job that is not finished
}

// oldPrograms returns those that were used before a moment, the oldest first.
// Where there are any, all jobs that are not finished are looked at.
func (q Queue) oldPrograms(ctx context.Context, before time.Time, limit int) (list []oldProgram, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each(`SELECT hash, hash IN (`+neededPrograms+`)
			FROM programs WHERE used < ? ORDER BY used LIMIT ?`,
			func(r row) { list = append(list, oldProgram{r.bytes(0), r.bool(1)}) }, before, max(limit, 0))
	})
	return list, err
}
