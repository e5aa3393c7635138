package relational

import (
	"context"
	"errors"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

const dueColumns = "seq, id, account, attempt, state, due, stopping, crashes"

func readDue(r row) job.Due {
	d := job.Due{
		Lease: job.Lease{Seq: r.int(0), Account: account.ID(r.int(2)), Attempt: r.int(3)},
		State: job.State(r.text(4)), At: r.time(5), Stopping: r.bool(6), Crashes: int(r.int(7)),
	}
	d.ID = r.id(1)
	return d
}

const (
	selectDue = "SELECT " + dueColumns + " FROM jobs WHERE program IS NOT NULL AND member IS NULL AND due <= ?1 AND (due, seq) > (?2, ?3) "
	someDue   = " ORDER BY due, seq LIMIT ?4"
	// notElsewhere leaves out the jobs that the home of their account's databases is to claim.
	notElsewhere = ` AND (uses_databases = 0 OR NOT EXISTS (SELECT 1 FROM homes JOIN members ON members.id = homes.member AND members.incarnation = homes.incarnation
		WHERE homes.account = jobs.account AND homes.incarnation <> ?5))`
)

// listDue are the statements that list jobs of a state, and of all states, which is one: each look at a distant server
// costs more than what it finds.
var listDue, listDueAtHome = listDueOf(""), listDueOf(notElsewhere)

func listDueOf(but string) map[job.State]string {
	of := map[job.State]string{}
	var all []string
	for _, s := range job.DueStates {
		of[s] = selectDue + "AND state = '" + string(s) + "'" + but + someDue
		all = append(all, "SELECT * FROM ("+of[s]+") AS "+string(s))
	}
	of[""] = strings.Join(all, " UNION ALL ")
	return of
}

// ListDue implements job.Leases.
func (q Queue) ListDue(ctx context.Context, d job.DueQuery) (list []job.Due, err error) {
	sql, args := listDue[d.State], []any{d.Now, d.After.At.UnixMicro(), d.After.Seq, max(d.Limit, 0)}
	if d.Incarnation != 0 {
		sql, args = listDueAtHome[d.State], append(args, d.Incarnation)
	}
	err = q.store.read(ctx, func(t tx) error {
		list = nil
		return t.each(sql, func(r row) { list = append(list, readDue(r)) }, args...)
	})
	return list, err
}

// ListHeld implements job.Leases.
func (q Queue) ListHeld(ctx context.Context, incarnation int64, s job.State, after job.Due, limit int) (list []job.Due, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+dueColumns+" FROM jobs WHERE member = ? AND member IS NOT NULL AND state = ? AND (account, seq) > (?, ?) ORDER BY account, seq LIMIT ?",
			func(r row) { list = append(list, readDue(r)) }, incarnation, string(s), int64(after.Account), after.Seq, max(limit, 0))
	})
	return list, err
}

// ListStopping implements job.Leases.
func (q Queue) ListStopping(ctx context.Context, m member.Member) (list []job.Lease, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+dueColumns+" FROM jobs WHERE member = ? AND member IS NOT NULL AND stopping = 1",
			func(r row) { list = append(list, readDue(r).Lease) }, m.Incarnation)
	})
	return list, err
}

// DeadHolders implements job.Leases.
func (q Queue) DeadHolders(ctx context.Context) (dead []int64, err error) {
	err = q.store.read(ctx, func(t tx) error { return t.snapshot(func() (err error) { dead, err = t.deadHolders(); return err }) })
	return dead, err
}

// deadHolders goes from one holder to the next, however many jobs each has.
func (t tx) deadHolders() (dead []int64, err error) {
	for after := int64(-1); ; {
		var alive bool
		found, err := t.one(`SELECT member, EXISTS (SELECT 1 FROM members WHERE incarnation = member) FROM jobs
			WHERE member > ? AND member IS NOT NULL ORDER BY member LIMIT 1`, func(r row) { after, alive = r.int(0), r.bool(1) }, after)
		if err != nil || !found {
			return dead, err
		}
		if !alive {
			dead = append(dead, after)
		}
	}
}

// NextDue implements job.Leases.
func (q Queue) NextDue(ctx context.Context, after time.Time) (next time.Time, err error) {
	err = q.store.read(ctx, func(t tx) error {
		next = time.Time{}
		return t.each(nextDue, func(r row) {
			if at := r.time(0); !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}, after.UnixMicro())
	})
	return next, err
}

// nextDue has the first moment of each state.
var nextDue = func() string {
	var all []string
	for _, s := range job.DueStates {
		all = append(all, "SELECT min(due) FROM jobs WHERE program IS NOT NULL AND member IS NULL AND state = '"+string(s)+"' AND due > ?1")
	}
	return strings.Join(all, " UNION ALL ")
}()

// ClaimListed implements job.Leases.
func (q Queue) ClaimListed(ctx context.Context, m member.Member, d job.Due, now time.Time) (l job.Lease, err error) {
	err = q.store.write(ctx, func(t tx) (err error) {
		l, err = t.claimListed(m, d, now)
		return err
	})
	return l, err
}

func (t tx) claimListed(m member.Member, d job.Due, now time.Time) (job.Lease, error) {
	n, err := t.exec(`UPDATE jobs SET state = 'running', attempt = attempt + 1, begun = CASE WHEN crashes = 0 THEN 1 ELSE 0 END, due = ?, member = ?
		WHERE seq = ? AND attempt = ? AND state = ? AND
		(member IS NULL AND due = ? OR member = ? OR member NOT IN (SELECT incarnation FROM members)) AND `+isMember,
		now, m.Incarnation, d.Seq, d.Attempt, string(d.State), d.At, m.Incarnation, m.ID, m.Incarnation)
	if err == nil && n == 0 {
		err = t.whyNotClaimed(m)
	}
	if err == nil && d.State == job.Paused {
		if _, err = t.exec("DELETE FROM job_prompts WHERE job = ?", d.Seq); err == nil {
			err = t.endQuestions(d.Seq, job.QuestionExpired, now)
		}
	}
	if err != nil {
		return job.Lease{}, err
	}
	l := d.Lease
	l.Attempt++
	return l, nil
}

// whyNotClaimed is the error of a claim of nothing: the member may be none, or another
// was faster.
func (t tx) whyNotClaimed(m member.Member) error {
	if err := t.whyNoMember(m); !errors.Is(err, member.ErrBehind) {
		return err
	}
	return job.ErrLeaseLost
}

// Postpone implements job.Leases.
func (q Queue) Postpone(ctx context.Context, a account.ID, now, until time.Time) error {
	return q.store.write(ctx, func(t tx) error {
		for _, s := range []job.State{job.Accepted, job.Running, job.Waiting, job.Paused} {
			if _, err := t.exec("UPDATE jobs SET due = ? WHERE program IS NOT NULL AND member IS NULL AND state = ? AND due <= ? AND account = ? AND stopping = 0",
				until, string(s), now, int64(a)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordCrashes implements job.Leases. Begun says that an attempt has the job in its
// hands.
func (q Queue) RecordCrashes(ctx context.Context, early time.Time) error {
	return q.store.write(ctx, func(t tx) error {
		dead, err := t.deadHolders()
		if err != nil {
			return err
		}
		const begun = " WHERE member = ? AND member IS NOT NULL AND state = 'running' AND begun = 1"
		n := 0
		for _, m := range dead {
			if err := t.each("SELECT 1 FROM jobs"+begun+" LIMIT 2", func(row) { n++ }, m); err != nil {
				return err
			}
		}
		each := job.CrashWeight
		if n == 1 {
			each = job.CrashWeightAlone
		}
		for _, m := range dead {
			if _, err := t.exec("UPDATE jobs SET crashes = crashes + CASE WHEN due > ? THEN ? ELSE ? END, begun = 0"+begun, early, job.CrashWeightEarly, each, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaseLostUnless is what a guarded change that changed nothing returns.
func leaseLostUnless(err error) error {
	if err != nil {
		return err
	}
	return job.ErrLeaseLost
}
