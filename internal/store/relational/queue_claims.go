package relational

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ql/internal/job"
)

// Claim implements job.Leases.
func (q Queue) Claim(ctx context.Context, c *job.ClaimQuery) (claimed []job.Claimed, err error) {
	err = q.store.engine.WriteLocking(ctx, func(t tx) (err error) {
		claimed, err = t.claimJobs(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// claimJobs looks, locks what it finds, then changes: nobody else can claim that, or change it, meanwhile.
func (t tx) claimJobs(c *job.ClaimQuery) (claimed []job.Claimed, err error) {
	alive, err := t.has("SELECT 1 FROM members WHERE id = ? AND incarnation = ?", c.Member.ID, c.Member.Incarnation)
	if err != nil {
		return nil, err
	}
	if !alive {
		return nil, t.whyNoMember(c.Member)
	}
	dead, err := t.stillDead(c.Dead)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Free {
		p.N = min(p.N, c.Limit-len(claimed))
		if p.N <= 0 {
			continue
		}
		list, err := t.claimable(c, dead, p)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			claimed = append(claimed, one.Claimed)
		}
	}
	return claimed, t.claimLocked(c, claimed)
}

// stillDead returns those incarnations that are no members.
func (t tx) stillDead(incarnations []int64) (dead []int64, err error) {
	for _, i := range incarnations {
		alive, err := t.has("SELECT 1 FROM members WHERE incarnation = ?", i)
		if err != nil {
			return nil, err
		}
		if !alive {
			dead = append(dead, i)
		}
	}
	return dead, nil
}

// claimable is a job that may be claimed, and since when it is due.
type claimable struct {
	job.Claimed
	at time.Time
}

const (
	selectAccepted = "SELECT " + summaryColumns + ", seq, attempt, ran, failures, crashes, stopping, webhook, due, " + taskSizes + ", 0, 0, 0, concurrency_key FROM jobs WHERE "
	selectBegun    = "SELECT " + summaryColumns + ", seq, attempt, ran, failures, crashes, stopping, webhook, due, " + taskSizes + ", " + progressSizes + ", concurrency_key FROM jobs WHERE "

	ofMember    = "member = ?7 AND member IS NOT NULL AND account = ?1"
	mayBeBegun  = " AND format <= ?3 AND (CASE WHEN crashes >= ?4 THEN 1 ELSE 0 END) = ?5 AND stopping >= ?6 AND uses_databases <= ?8 "
	inItsOrder  = "ORDER BY seq LIMIT ?2" + lockJobs
	longestDue  = "ORDER BY due, seq LIMIT ?2" + lockFreeJobs
	ofNobodyDue = "program IS NOT NULL AND member IS NULL AND account = ?1 AND due <= ?7"
)

// claimable returns the jobs of an account that it has places for, the longest due first.
func (t tx) claimable(c *job.ClaimQuery, dead []int64, p job.Places) (list []claimable, err error) {
	elsewhere := false
	if c.Homes {
		if elsewhere, err = t.has("SELECT 1 FROM homes JOIN members ON members.id = homes.member AND members.incarnation = homes.incarnation WHERE homes.account = ? AND homes.incarnation <> ?",
			int64(p.Account), c.Member.Incarnation); err != nil {
			return nil, err
		}
	}
	sources := 0
	read := func(sql string, of any) error {
		sources++
		return t.each(sql, func(r row) { list = append(list, readClaimable(r)) },
			int64(p.Account), p.N, c.Formats, job.SuspectCrashes, c.Suspects, p.Stopping, of, !elsewhere)
	}
	// One that was never begun has not crashed.
	if !c.Suspects {
		if err := read(selectAccepted+ofMember+" AND state = 'accepted'"+mayBeBegun+inItsOrder, c.Member.Incarnation); err != nil {
			return nil, err
		}
	}
	for _, incarnation := range dead {
		for _, sql := range []string{
			selectAccepted + ofMember + " AND state = 'accepted'" + mayBeBegun + inItsOrder,
			selectBegun + ofMember + " AND state = 'running'" + mayBeBegun + inItsOrder,
		} {
			if err := read(sql, incarnation); err != nil {
				return nil, err
			}
		}
	}
	if p.Due {
		if err := read(selectBegun+ofNobodyDue+mayBeBegun+longestDue, c.Now); err != nil {
			return nil, err
		}
	}
	if sources > 1 {
		slices.SortStableFunc(list, func(a, b claimable) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Lease.Seq, b.Lease.Seq)) })
	}
	return list[:min(len(list), p.N)], nil
}

func readClaimable(r row) claimable {
	h := job.Head{Summary: readSummary(r)}
	const next = 11 // after the summary's
	h.Lease = job.Lease{Seq: r.int(next), ID: h.ID, Account: h.Account, Attempt: r.int(next + 1)}
	h.Ran = time.Duration(r.int(next+2)) * time.Microsecond
	h.Failures, h.Crashes, h.Stopping, h.Webhook = int(r.int(next+3)), int(r.int(next+4)), r.bool(next+5), r.text(next+6)
	h.Sizes = job.Sizes{Task: r.int(next + 8), Program: r.int(next + 9), Snapshot: r.int(next + 10), Journal: r.int(next + 11), Output: r.int(next + 12)}
	h.Keyed = r.text(next+13) != ""
	return claimable{job.Claimed{Head: h, From: h.State}, r.time(next + 7)}
}

// claimLocked makes jobs the member's that were found to be claimable, and locked, in the same transaction.
func (t tx) claimLocked(c *job.ClaimQuery, jobs []job.Claimed) error {
	if len(jobs) == 0 {
		return nil
	}
	// Who buries the member waits for this, and finds what it has claimed.
	alive, err := t.has("SELECT 1 FROM members WHERE id = ? AND incarnation = ?"+lockKey, c.Member.ID, c.Member.Incarnation)
	if err != nil {
		return err
	}
	if !alive {
		return t.whyNoMember(c.Member)
	}
	numbers := make([]int64, len(jobs))
	for i := range jobs {
		numbers[i] = jobs[i].Lease.Seq
	}
	for some := range slices.Chunk(numbers, mostListed) {
		in, args := listed([]any{c.Now, c.Member.Incarnation}, some)
		n, err := t.exec("UPDATE jobs SET state = 'running', attempt = attempt + 1, begun = CASE WHEN crashes = 0 THEN 1 ELSE 0 END, due = ?, member = ? WHERE seq IN "+in, args...)
		if err != nil {
			return err
		}
		if n != int64(len(some)) {
			return fmt.Errorf("%d of %d jobs were claimed that were locked", n, len(some))
		}
	}
	for i := range jobs {
		if err := t.beginClaimed(c, &jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// beginClaimed says of a job what has become of it by the claim; a question that it was paused at is over.
func (t tx) beginClaimed(c *job.ClaimQuery, one *job.Claimed) error {
	one.State = job.Running
	one.Lease.Attempt++
	if one.From != job.Paused {
		return nil
	}
	if _, err := t.exec("DELETE FROM job_prompts WHERE job = ?", one.Lease.Seq); err != nil {
		return err
	}
	how := job.QuestionExpired
	if one.Stopping {
		how = job.QuestionWithdrawn
	}
	return t.endQuestions(one.Lease.Seq, how, c.Now)
}

// mostListed is how many numbers a statement lists.
const mostListed = 64

// listed returns a list of numbers as parameters that follow others. There are few lengths of it, so that there are few
// statements: the last number is repeated.
func listed(args []any, numbers []int64) (in string, all []any) {
	n := 1
	for n < len(numbers) {
		n *= 4
	}
	for i := range n {
		args = append(args, numbers[min(i, len(numbers)-1)])
	}
	return "(?" + strings.Repeat(", ?", n-1) + ")", args
}
