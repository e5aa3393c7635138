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
	dead, err := t.stillDead(c.Dead)
	if err != nil {
		return nil, err
	}
	var found []claimable
	for _, p := range c.Free {
		p.N = min(p.N, c.Limit-len(found))
		if p.N <= 0 {
			continue
		}
		list, err := t.claimable(c, dead, p)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	// Who buries the member waits for this, and finds what it has claimed.
	lock := lockKey
	if len(found) == 0 {
		lock = ""
	}
	alive, err := t.has("SELECT 1 FROM members WHERE id = ? AND incarnation = ?"+lock, c.Member.ID, c.Member.Incarnation)
	if err != nil {
		return nil, err
	}
	if !alive {
		return nil, t.whyNoMember(c.Member)
	}
	return t.claimLocked(c, found)
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

// claimable is a job that may be claimed, the state that it is in, and since when it is due. What else is known of it is
// read when it is claimed: of those that are passed over nobody needs it.
type claimable struct {
	seq  int64
	from job.State
	at   time.Time
}

const (
	selectClaimable = "SELECT seq, state, due FROM jobs WHERE "

	ofMember    = "member = ?7 AND member IS NOT NULL AND account = ?1"
	mayBegin    = " AND format <= ?3 AND (CASE WHEN crashes >= ?4 THEN 1 ELSE 0 END) = ?5 AND stopping >= ?6 AND uses_databases <= "
	anywhere    = "?8 " // databases have no homes: all of them may be claimed
	atHome      = "(CASE WHEN EXISTS (SELECT 1 FROM homes JOIN members ON members.id = homes.member AND members.incarnation = homes.incarnation WHERE homes.account = ?1 AND homes.incarnation <> ?8) THEN 0 ELSE 1 END) "
	inItsOrder  = "ORDER BY seq LIMIT ?2" + lockJobs
	longestDue  = "ORDER BY due LIMIT ?2" + lockFreeJobs // which the index has: what is due at the same moment may be begun in any order
	ofNobodyDue = "program IS NOT NULL AND member IS NULL AND account = ?1 AND due <= ?7"
)

// claimable returns the jobs of an account that it has places for, the longest due first.
func (t tx) claimable(c *job.ClaimQuery, dead []int64, p job.Places) (list []claimable, err error) {
	condition, here := mayBegin+anywhere, int64(1)
	if c.Homes {
		condition, here = mayBegin+atHome, c.Member.Incarnation
	}
	sources := 0
	read := func(sql string, of any) error {
		sources++
		return t.each(sql, func(r row) { list = append(list, claimable{r.int(0), job.State(r.text(1)), r.time(2)}) },
			int64(p.Account), p.N, c.Formats, job.SuspectCrashes, c.Suspects, p.Stopping, of, here)
	}
	// One that was never begun has not crashed.
	if !c.Suspects && !p.NoneAccepted {
		if err := read(selectClaimable+ofMember+" AND state = 'accepted'"+condition+inItsOrder, c.Member.Incarnation); err != nil {
			return nil, err
		}
	}
	for _, incarnation := range dead {
		for _, state := range []string{" AND state = 'accepted'", " AND state = 'running'"} {
			if err := read(selectClaimable+ofMember+state+condition+inItsOrder, incarnation); err != nil {
				return nil, err
			}
		}
	}
	if p.Due {
		if err := read(selectClaimable+ofNobodyDue+condition+longestDue, c.Now); err != nil {
			return nil, err
		}
	}
	if sources > 1 || p.Due {
		slices.SortStableFunc(list, func(a, b claimable) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
	}
	return list[:min(len(list), p.N)], nil
}

// claimLocked makes jobs the member's that were found to be claimable, and locked, in the same transaction.
func (t tx) claimLocked(c *job.ClaimQuery, found []claimable) ([]job.Claimed, error) {
	if len(found) == 0 {
		return nil, nil
	}
	var fresh, others []int64
	places := make(map[int64]int, len(found))
	for i, f := range found {
		places[f.seq] = i
		if f.from == job.Accepted {
			fresh = append(fresh, f.seq)
		} else {
			others = append(others, f.seq)
		}
	}
	claimed := make([]job.Claimed, len(found))
	take := func(numbers []int64, returning string, read func(row) job.Claimed) error {
		for some := range slices.Chunk(numbers, mostListed) {
			in, args := listed([]any{c.Now, c.Member.Incarnation}, some)
			n := 0
			if err := t.each("UPDATE jobs SET state = 'running', attempt = attempt + 1, begun = CASE WHEN crashes = 0 THEN 1 ELSE 0 END, due = ?, member = ? WHERE seq IN "+in+returning, func(r row) {
				one := read(r)
				place := places[one.Lease.Seq]
				one.From = found[place].from
				claimed[place] = one
				n++
			}, args...); err != nil {
				return err
			}
			if n != len(some) {
				return fmt.Errorf("%d of %d jobs were claimed that were locked", n, len(some))
			}
		}
		return nil
	}
	if err := take(fresh, returningFresh, readFresh); err != nil {
		return nil, err
	}
	if err := take(others, returningBegun, readClaimed); err != nil {
		return nil, err
	}
	for i := range claimed {
		if err := t.endPause(c, &claimed[i]); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

// What a claim returns of jobs. One that was accepted, and never begun, has made nothing yet; what it was accepted with comes
// with it, so that it need not be read again, unless that is much: nobody has counted it yet.
const (
	returningClaimed = " RETURNING " + summaryColumns + ", seq, attempt, ran, failures, crashes, stopping, webhook, concurrency_key, " + taskSizes
	returningBegun   = returningClaimed + ", " + progressSizes
	returningFresh   = returningClaimed + ", 0, 0, 0, program, history_bytes, CASE WHEN length(task) <= 4096 THEN task END"
)

func readClaimed(r row) job.Claimed {
	h := job.Head{Summary: readSummary(r)}
	const next = 11 // after the summary's
	h.Lease = job.Lease{Seq: r.int(next), ID: h.ID, Account: h.Account, Attempt: r.int(next + 1)}
	h.Ran = time.Duration(r.int(next+2)) * time.Microsecond
	h.Failures, h.Crashes, h.Stopping, h.Webhook = int(r.int(next+3)), int(r.int(next+4)), r.bool(next+5), r.text(next+6)
	h.Keyed = r.text(next+7) != ""
	h.Sizes = job.Sizes{Task: r.int(next + 8), Program: r.int(next + 9), Snapshot: r.int(next + 10), Journal: r.int(next + 11), Output: r.int(next + 12)}
	return job.Claimed{Head: h}
}

func readFresh(r row) job.Claimed {
	one := readClaimed(r)
	const next = 24 // after readClaimed's
	if r.null(next + 2) {
		return one
	}
	one.Brought = &job.Stored{
		Summary: one.Summary, Lease: one.Lease, Spec: r.bytes(next + 2), Ran: one.Ran, Failures: one.Failures,
		Stopping: one.Stopping, Webhook: one.Webhook, HistoryBytes: r.int(next + 1),
	}
	copy(one.Brought.Program[:], r.s.Blob(next))
	return one
}

// endPause ends the question that a claimed job was paused at.
func (t tx) endPause(c *job.ClaimQuery, one *job.Claimed) error {
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
