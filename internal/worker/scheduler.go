package worker

import (
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/job"
)

// scheduler has the slots of jobs, and turns between the accounts. Which jobs of an account
// begin is the store's to say, where all of them are: here is known only how many there
// may be. Suspended jobs are none of its business.
type scheduler struct {
	maxRunning int
	lifted     bool // accounts have no bounds of their own
	running    int
	accounts   map[account.ID]*accountQueue
	ready      []*accountQueue // that have a job to claim and a slot for it, in turns
	accepted   int             // how many accepted jobs are known, of all accounts
	known      int64           // grows with all that becomes known

	// quarantine has the accounts of jobs that may be what ended the last processes. One
	// of those runs at a time, so that the next crash says whether it is that one.
	quarantine []*accountQueue
	probing    bool // one of them runs, or is being claimed

	// shared says that other nodes have jobs of the same accounts, so that their limits are shared out.
	shared    bool
	unsettled map[*accountQueue]bool // whose shares are to be looked at
	unsettle  chan struct{}          // there may be some
}

// accountQueue is what is known of the jobs of one account that may be claimed.
type accountQueue struct {
	account     account.ID
	maxRunning  int
	running     int
	incoming    int // being stored, to be added
	accepted    map[job.ID]*entry
	due         int   // how many others there are whose time has come
	orphans     int   // how many others dead members had begun
	listed      int64 // when the two became known
	claiming    int   // slots that were acquired for jobs that are being claimed
	cachedBytes int64 // of what is cached in it
	suspects    int64 // when it became known that some are in quarantine; 0 where none is
	ready       bool
	reserved    int // slots in the reservation that is being made

	// waiters are submissions that wait for a slot to be released soon: to be accepted
	// first, and begun later, costs far more than most jobs do.
	waiters []chan struct{} // closed when it has one
	turned  time.Time       // when a slot was last acquired or released

	maxQueued int // as of the last submission
	shares    limitShares
}

// queued is how many jobs of an account are not under way, beside those that were.
func (q *accountQueue) queued() int { return len(q.accepted) + q.incoming + len(q.waiters) }

// backlog is how many jobs there may be that nobody is claiming.
func (q *accountQueue) backlog() int { return len(q.accepted) + q.due + q.orphans - q.claiming }

// entry is an accepted job in its queue. What it was accepted with is cached where that is
// little, so that it need not be read again.
type entry struct {
	cached *attempt // or nil
	bytes  int64    // that it holds
	known  int64    // when it became known
}

// evict gives back what is cached of a job that does not begin.
func (e *entry) evict() {
	if e.cached != nil {
		e.cached.memory.Release()
		e.cached = nil
	}
}

const (
	// maxCached bounds the jobs that are cached with all they were accepted with, and
	// maxCachedBytes what those of one account hold so.
	maxCached      = 16_384
	maxCachedBytes = 1 << 20
	// maxClaim bounds the jobs that are claimed in one change of the store, which keeps
	// others waiting.
	maxClaim = 64
)

// cache has a job hold what it was accepted with while it is queued, as long as there is
// room for it.
func (s *scheduler) cache(q *accountQueue, e *entry) {
	if e.cached == nil {
		return
	}
	if s.accepted >= maxCached || q.cachedBytes+e.bytes > maxCachedBytes || !e.cached.memory.TryGrow(e.bytes) {
		e.evict()
		return
	}
	q.cachedBytes += e.bytes
}

// evictAll gives back what is cached.
func (s *scheduler) evictAll() {
	for _, q := range s.accounts {
		s.forget(q, s.known)
	}
}

// queue returns the queue of an account.
func (s *scheduler) queue(a account.ID, maxRunning int) *accountQueue {
	q := s.accounts[a]
	if q == nil {
		q = &accountQueue{account: a, maxRunning: maxRunning, accepted: map[job.ID]*entry{}}
		s.accounts[a] = q
	}
	if maxRunning > 0 {
		q.maxRunning = maxRunning
	}
	return q
}

func (s *scheduler) mayBegin(q *accountQueue) bool { return s.fits(q, q.running+1) }

// fits tells whether so many jobs of an account may be under way here.
func (s *scheduler) fits(q *accountQueue, running int) bool {
	if !s.isBounded(q) {
		return true
	}
	return running <= q.maxRunning && (!s.shared || running <= q.shares.held[admit.SharedRunning])
}

func (s *scheduler) isBounded(q *accountQueue) bool { return !s.lifted && q.maxRunning > 0 }

// enqueue puts an accepted job into its account's queue, unless it is in it.
func (s *scheduler) enqueue(q *accountQueue, id job.ID, e *entry) {
	if q.accepted[id] != nil {
		e.evict()
		return
	}
	s.cache(q, e)
	s.known++
	e.known = s.known
	q.accepted[id] = e
	s.accepted++
	s.markReady(q)
}

// dequeue takes an accepted job out of its account's queue. What is cached of it is the
// caller's.
func (s *scheduler) dequeue(q *accountQueue, id job.ID) *attempt {
	e := q.accepted[id]
	if e == nil {
		return nil
	}
	delete(q.accepted, id)
	s.accepted--
	if e.cached != nil {
		q.cachedBytes -= e.bytes
	}
	return e.cached
}

// add takes note of jobs that the store has listed.
func (s *scheduler) add(q *accountQueue, b *backlog) {
	for _, id := range b.accepted {
		s.enqueue(q, id, &entry{})
	}
	s.known++
	if b.due+b.orphans > 0 {
		q.due, q.orphans, q.listed = max(q.due, b.due), max(q.orphans, b.orphans), s.known
		s.markReady(q)
	}
	if b.suspects {
		if q.suspects == 0 {
			s.quarantine = append(s.quarantine, q)
		}
		q.suspects = s.known
	}
	s.dropIdle(q)
}

// forget takes out of a queue what became known up to a moment.
func (s *scheduler) forget(q *accountQueue, known int64) {
	for id, e := range q.accepted {
		if e.known <= known {
			s.dequeue(q, id)
			e.evict()
		}
	}
	if q.listed <= known {
		q.due, q.orphans = 0, 0
	}
}

// forgetSuspects takes an account out of the quarantine, unless something became known
// since a moment.
func (s *scheduler) forgetSuspects(q *accountQueue, known int64) {
	if q.suspects == 0 || q.suspects > known {
		return
	}
	q.suspects = 0
	s.quarantine = slices.DeleteFunc(s.quarantine, func(one *accountQueue) bool { return one == q })
}

// markReady gives a queue its turn where it can use one.
func (s *scheduler) markReady(q *accountQueue) {
	switch {
	case q.ready || q.backlog() <= 0:
	case s.mayBegin(q):
		q.ready = true
		s.ready = append(s.ready, q)
	case s.shared && q.running < q.maxRunning:
		s.markUnsettled(q)
	}
}

// reservation is slots that were acquired for jobs that are yet to be claimed.
type reservation struct {
	places   []job.Places
	suspects bool  // for one that is in quarantine
	known    int64 // what was known then
}

// reserve acquires slots for jobs to be claimed: in turns, one for each account that has
// any, and again.
func (s *scheduler) reserve() (r reservation, ok bool) {
	if r, ok := s.reserveProbe(); ok {
		return r, true
	}
	var queues []*accountQueue
	for n := 0; n < maxClaim && s.running < s.maxRunning && len(s.ready) > 0; {
		q := s.ready[0]
		s.ready = s.ready[1:]
		q.ready = false
		if q.backlog() <= 0 || !s.mayBegin(q) {
			s.dropIdle(q)
			continue
		}
		if q.reserved == 0 {
			queues = append(queues, q)
		}
		q.reserved++
		q.claiming++
		s.acquire(q)
		s.markReady(q)
		n++
	}
	for _, q := range queues {
		r.places = append(r.places, job.Places{Account: q.account, N: q.reserved, Due: q.due > 0, NoneAccepted: len(q.accepted) == 0})
		q.reserved = 0
	}
	r.known = s.known
	return r, len(r.places) > 0
}

// reserveProbe acquires a slot for a job in quarantine, if it is time for one.
func (s *scheduler) reserveProbe() (reservation, bool) {
	if s.probing || s.running >= s.maxRunning {
		return reservation{}, false
	}
	i := slices.IndexFunc(s.quarantine, s.mayBegin)
	if i < 0 {
		return reservation{}, false
	}
	q := s.quarantine[i]
	s.quarantine = append(slices.Delete(s.quarantine, i, i+1), q) // others have the next turn
	s.probing = true
	s.acquire(q)
	return reservation{[]job.Places{{Account: q.account, N: 1, Due: true}}, true, s.known}, true
}

// settle takes note of the jobs that were claimed in the slots of a reservation, and
// releases the others: there are no more jobs of their accounts, or they are looked for
// again. It returns what is cached of each job.
func (s *scheduler) settle(r reservation, claimed []job.Claimed) []*attempt {
	cached := make([]*attempt, len(claimed))
	for i := range claimed {
		q := s.accounts[claimed[i].Account]
		q.reserved++
		if claimed[i].From == job.Accepted && q.accepted[claimed[i].ID] != nil {
			cached[i] = s.dequeue(q, claimed[i].ID)
			continue
		}
		switch {
		case r.suspects:
		case q.due > 0:
			q.due--
		case q.orphans > 0:
			q.orphans--
		}
	}
	if r.suspects && len(claimed) == 0 {
		s.probing = false
	}
	for _, p := range r.places {
		q := s.accounts[p.Account]
		left := p.N - q.reserved
		q.reserved = 0
		if r.suspects {
			if left > 0 {
				s.forgetSuspects(q, r.known)
			}
		} else {
			q.claiming -= p.N
			if left > 0 {
				s.forget(q, r.known)
			}
		}
		for range left {
			s.release(p.Account)
		}
		s.markReady(q)
	}
	return cached
}

// tryAcquire acquires a slot for a job that is about to be accepted; false where it has
// to be queued.
func (s *scheduler) tryAcquire(q *accountQueue) bool {
	if q.backlog() > 0 || !s.mayBegin(q) || s.running >= s.maxRunning {
		return false
	}
	s.acquire(q)
	return true
}

// addWaiter has a submission wait for a slot of its account's, after those in its queue;
// nil where none was acquired or released since a moment: those who have them run for
// longer.
func (s *scheduler) addWaiter(q *accountQueue, since time.Time) chan struct{} {
	if !q.turned.After(since) {
		return nil
	}
	turn := make(chan struct{})
	q.waiters = append(q.waiters, turn)
	return turn
}

// removeWaiter ends a wait; false where it has got a slot meanwhile.
func (s *scheduler) removeWaiter(q *accountQueue, turn chan struct{}) bool {
	i := slices.Index(q.waiters, turn)
	if i < 0 {
		return false
	}
	q.waiters = slices.Delete(q.waiters, i, i+1)
	return true
}

// passToWaiter gives the slot of a job that has ended to a submission of the same account,
// where nobody else waits for it.
func (s *scheduler) passToWaiter(q *accountQueue) bool {
	if len(q.waiters) == 0 || q.backlog() > 0 || len(s.ready) > 0 || s.running > s.maxRunning || !s.fits(q, q.running) {
		return false
	}
	close(q.waiters[0])
	q.waiters = slices.Delete(q.waiters, 0, 1)
	return true
}

// acquire acquires a slot, also beyond what there is.
func (s *scheduler) acquire(q *accountQueue) {
	q.turned = time.Now()
	q.running++
	s.running++
	q.notePeak(admit.SharedRunning)
}

// release gives a slot back.
func (s *scheduler) release(a account.ID) {
	q := s.accounts[a]
	q.turned = time.Now()
	if !q.shares.contended && s.passToWaiter(q) {
		return
	}
	q.running--
	s.running--
	if q.shares.contended { // another node may wait for it
		q.leaveToOthers()
		s.markUnsettled(q)
	}
	s.markReady(q)
	s.dropIdle(q)
}

// clear takes all jobs of an account out of its queue.
func (s *scheduler) clear(a account.ID) {
	if q := s.accounts[a]; q != nil {
		s.forget(q, s.known)
		s.forgetSuspects(q, s.known)
		s.dropIdle(q)
	}
}

// remove takes an accepted job out of its queue, where it is in one.
func (s *scheduler) remove(id job.ID) {
	for _, q := range s.accounts {
		if e := q.accepted[id]; e != nil {
			s.dequeue(q, id)
			e.evict()
			s.dropIdle(q)
			return
		}
	}
}

// dropIdle drops a queue of which nothing is left.
func (s *scheduler) dropIdle(q *accountQueue) {
	if q.running == 0 && q.queued() == 0 && q.due+q.orphans == 0 && q.suspects == 0 && !q.ready && !q.shares.any() {
		delete(s.accounts, q.account)
		delete(s.unsettled, q)
	}
}
