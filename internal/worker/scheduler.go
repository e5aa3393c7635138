package worker

import (
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// scheduler holds the jobs that are due and wait in memory: a queue for each account, and
// turns between the accounts. Suspended jobs are none of its business.
type scheduler struct {
	maxRunning int
	lifted     bool // accounts have no bounds of their own
	running    int
	accounts   map[account.ID]*accountQueue
	ready      []*accountQueue // that have a job to begin and a slot for it, in turns
	enqueued   map[int64]bool  // jobs in the queues, by their number

	// quarantine holds the jobs of all accounts that may be what ended the last processes.
	// One of them runs at a time, so that the next crash says whether it is that one.
	quarantine []quarantined
	probing    bool // one of them runs
}

type quarantined struct {
	queue *accountQueue
	entry
}

// accountQueue is the jobs of one account.
type accountQueue struct {
	account     account.ID
	maxRunning  int
	running     int
	incoming    int // being stored, to be added
	entries     []entry
	cachedBytes int64 // of what is cached in it
	quarantined int   // of its jobs
	ready       bool

	// waiters are submissions that wait for a slot to be released soon: to be accepted
	// first, and begun later, costs far more than most jobs do.
	waiters []chan struct{} // closed when it has one
	turned  time.Time       // when a slot was last acquired or released
}

// queued is how many jobs of an account are not under way.
func (q *accountQueue) queued() int {
	return len(q.entries) + q.quarantined + q.incoming + len(q.waiters)
}

// entry is a job in its queue. What it was accepted with is cached where that is little,
// so that it need not be read again.
type entry struct {
	job.Due
	cached *attempt // or nil
	bytes  int64    // that it holds
}

func (e *entry) isQuarantined() bool { return e.Crashes >= quarantineCrashes }

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
)

// cache has a job hold what it was accepted with while it is queued, as long as there is
// room for it.
func (s *scheduler) cache(q *accountQueue, e *entry) {
	if e.cached == nil {
		return
	}
	if len(s.enqueued) >= maxCached || q.cachedBytes+e.bytes > maxCachedBytes || !e.cached.memory.TryGrow(e.bytes) {
		e.evict()
		return
	}
	q.cachedBytes += e.bytes
}

// uncount counts what is cached of a job that has left the queue no more.
func (q *accountQueue) uncount(e *entry) {
	if e.cached != nil {
		q.cachedBytes -= e.bytes
	}
}

// evictAll gives back what is cached.
func (s *scheduler) evictAll() {
	for _, q := range s.accounts {
		for i := range q.entries {
			q.uncount(&q.entries[i])
			q.entries[i].evict()
		}
	}
}

// queue returns the queue of an account.
func (s *scheduler) queue(a account.ID, maxRunning int) *accountQueue {
	q := s.accounts[a]
	if q == nil {
		q = &accountQueue{account: a, maxRunning: maxRunning}
		s.accounts[a] = q
	}
	if maxRunning > 0 {
		q.maxRunning = maxRunning
	}
	return q
}

func (s *scheduler) mayBegin(q *accountQueue) bool {
	return s.lifted || q.maxRunning <= 0 || q.running < q.maxRunning
}

// enqueue puts a job at the end of its account's queue, unless it is in it.
func (s *scheduler) enqueue(q *accountQueue, e entry) {
	if s.enqueued[e.Seq] {
		e.evict()
		return
	}
	s.enqueued[e.Seq] = true
	if e.isQuarantined() {
		q.quarantined++
		s.quarantine = append(s.quarantine, quarantined{q, e})
		return
	}
	s.cache(q, &e)
	q.entries = append(q.entries, e)
	s.markReady(q)
}

// markReady gives a queue its turn where it can use one.
func (s *scheduler) markReady(q *accountQueue) {
	if !q.ready && len(q.entries) > 0 && s.mayBegin(q) {
		q.ready = true
		s.ready = append(s.ready, q)
	}
}

// dequeue takes out the job to begin, and acquires its slot.
func (s *scheduler) dequeue() (entry, bool) {
	if e, ok := s.dequeueQuarantined(); ok {
		return e, true
	}
	for s.running < s.maxRunning && len(s.ready) > 0 {
		q := s.ready[0]
		s.ready = s.ready[1:]
		q.ready = false
		if len(q.entries) == 0 || !s.mayBegin(q) {
			s.dropIdle(q)
			continue
		}
		e := q.entries[0]
		q.entries[0] = entry{}
		q.entries = q.entries[1:]
		if len(q.entries) == 0 {
			q.entries = nil
		}
		delete(s.enqueued, e.Seq)
		q.uncount(&e)
		s.acquire(q)
		s.markReady(q)
		return e, true
	}
	return entry{}, false
}

// dequeueQuarantined takes out the quarantined job to run, if it is time for one.
func (s *scheduler) dequeueQuarantined() (entry, bool) {
	if s.probing || s.running >= s.maxRunning {
		return entry{}, false
	}
	i := slices.IndexFunc(s.quarantine, func(one quarantined) bool { return s.mayBegin(one.queue) })
	if i < 0 {
		return entry{}, false
	}
	one := s.quarantine[i]
	s.removeQuarantined(i)
	s.probing = true
	s.acquire(one.queue)
	return one.entry, true
}

func (s *scheduler) removeQuarantined(i int) {
	one := s.quarantine[i]
	s.quarantine = slices.Delete(s.quarantine, i, i+1)
	one.queue.quarantined--
	delete(s.enqueued, one.Seq)
}

// tryAcquire acquires a slot for a job that is about to be accepted; false where it has
// to be queued.
func (s *scheduler) tryAcquire(q *accountQueue) bool {
	if len(q.entries) > 0 || !s.mayBegin(q) || s.running >= s.maxRunning {
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
	fits := s.running <= s.maxRunning && (s.lifted || q.maxRunning <= 0 || q.running <= q.maxRunning)
	if len(q.waiters) == 0 || len(q.entries) > 0 || len(s.ready) > 0 || !fits {
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
}

// release gives a slot back.
func (s *scheduler) release(a account.ID) {
	q := s.accounts[a]
	q.turned = time.Now()
	if s.passToWaiter(q) {
		return
	}
	q.running--
	s.running--
	s.markReady(q)
	s.dropIdle(q)
}

// clear takes all jobs of an account out of its queue.
func (s *scheduler) clear(a account.ID) {
	q := s.accounts[a]
	if q == nil {
		return
	}
	for i := range q.entries {
		e := &q.entries[i]
		delete(s.enqueued, e.Seq)
		q.uncount(e)
		e.evict()
	}
	q.entries = nil
	for i := len(s.quarantine) - 1; i >= 0; i-- {
		if s.quarantine[i].queue == q {
			s.removeQuarantined(i)
		}
	}
}

// remove takes a job out of its queue, where it is in one.
func (s *scheduler) remove(id job.ID) {
	if i := slices.IndexFunc(s.quarantine, func(one quarantined) bool { return one.ID == id }); i >= 0 {
		q := s.quarantine[i].queue
		s.removeQuarantined(i)
		s.dropIdle(q)
		return
	}
	for _, q := range s.accounts {
		i := slices.IndexFunc(q.entries, func(e entry) bool { return e.ID == id })
		if i < 0 {
			continue
		}
		delete(s.enqueued, q.entries[i].Seq)
		q.uncount(&q.entries[i])
		q.entries[i].evict()
		q.entries = slices.Delete(q.entries, i, i+1)
		s.dropIdle(q)
		return
	}
}

// dropIdle drops a queue of which nothing is left.
func (s *scheduler) dropIdle(q *accountQueue) {
	if q.running == 0 && q.queued() == 0 && !q.ready {
		delete(s.accounts, q.account)
	}
}
