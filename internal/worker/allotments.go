package worker

import (
	"context"
	"maps"
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/member"
)

// Among several processes each has a share of how many jobs of an account may be under way, and queued. It asks for
// more when it needs them, a few ahead, and gives back what it has not used for a while. One that is alone asks nobody.

const (
	// settleEvery is how often shares are looked at, and askTimeout how long one waits for an answer.
	settleEvery = time.Second
	askTimeout  = time.Second
	// askAgain is how long after it got too little a queue asks for more, and turnTime how long it lets another node
	// have its turn that does not take it.
	askAgain = 100 * time.Millisecond
	turnTime = settleEvery + settleEvery/2
	// mostSwaps is how often a change is tried that another process has overtaken.
	mostSwaps = 10
	// mostContended bounds the accounts that are looked at since another process waits for a share.
	mostContended = 1000
)

// limitShares are what this process has of the limits of an account.
type limitShares struct {
	incarnation int64 // whose they are
	held        [admit.SharedLimits]int
	peak        [admit.SharedLimits]int       // how many were used, since they were last looked at
	asking      [admit.SharedLimits]int       // submissions that wait for more
	known       admit.Allotment               // what all have, as far as is known
	contended   bool                          // another process waits for a part
	after       [admit.SharedLimits]time.Time // when it may ask again
	yields      time.Time                     // until when another process has its turn
	hinted      bool                          // others say that there may be more to be had
	busy        chan struct{}                 // closed when an ask is over; nil where none is under way
}

// any tells whether there is something to give back.
func (s *limitShares) any() bool {
	return s.busy != nil || s.asking != [admit.SharedLimits]int{} || s.held != [admit.SharedLimits]int{} || s.known.Of(s.incarnation).Of != [admit.SharedLimits]admit.Share{}
}

// used is how many of a limit are used up.
func (q *accountQueue) used(l admit.SharedLimit) int {
	if l == admit.SharedRunning {
		return q.running
	}
	return q.queued()
}

func (q *accountQueue) limit(l admit.SharedLimit) int {
	if l == admit.SharedRunning {
		return q.maxRunning
	}
	return q.maxQueued
}

func (q *accountQueue) notePeak(l admit.SharedLimit) {
	q.shares.peak[l] = max(q.shares.peak[l], q.used(l))
}

// demand is what the queue needs of a limit.
func (q *accountQueue) demand(l admit.SharedLimit) admit.Demand {
	d := admit.Demand{Used: q.used(l), More: q.shares.asking[l], Keep: q.shares.peak[l]}
	if d.More > 0 {
		d.Keep, d.Spare = q.limit(l), d.Used
	}
	if l == admit.SharedRunning {
		// Those that are about to be queued would run if they could.
		d.More += q.shares.asking[admit.SharedQueued] + q.incoming + max(0, q.backlog())
		d.More = max(0, min(d.More, q.maxRunning-q.running))
		d.Yields = time.Now().Before(q.shares.yields)
	}
	return d
}

// leaveToOthers holds no more of the limit than is fair, as far as is known.
func (q *accountQueue) leaveToOthers() {
	const running = admit.SharedRunning
	s := &q.shares
	s.held[running] = min(s.held[running], s.known.Share(s.incarnation, running, q.maxRunning, q.demand(running)).Held)
}

// markUnsettled has the shares of an account looked at soon.
func (s *scheduler) markUnsettled(q *accountQueue) {
	if s.unsettled == nil {
		s.unsettled = map[*accountQueue]bool{}
	}
	s.unsettled[q] = true
	s.settleSoon()
}

func (s *scheduler) settleSoon() {
	select {
	case s.unsettle <- struct{}{}:
	default:
	}
}

// mayAsk tells whether a job that may not begin might with a greater share.
func (s *scheduler) mayAsk(q *accountQueue) bool {
	return s.shared && s.isBounded(q) && q.backlog() <= 0 && s.running < s.maxRunning && q.running < q.maxRunning && q.running >= q.shares.held[admit.SharedRunning]
}

// isFull tells whether an account may queue no more jobs. It is called under mu, which is free while it asks for a
// share.
func (w *Worker) isFull(q *accountQueue, most int) bool {
	q.maxQueued = most
	switch {
	case w.o.Unlimited:
		return false
	case q.queued() >= most:
		return true
	case !w.scheduler.shared || q.queued() < q.shares.held[admit.SharedQueued]:
		q.notePeak(admit.SharedQueued)
		return false
	}
	if err := w.askShare(q, admit.SharedQueued, func() bool { return q.queued() < q.shares.held[admit.SharedQueued] }); err != nil {
		return false // the store that cannot be asked does not take it either
	}
	q.notePeak(admit.SharedQueued)
	return q.queued() >= most || w.scheduler.shared && q.queued() >= q.shares.held[admit.SharedQueued]
}

// askShare asks for a greater share, until it has got what it needs or was told that there is none. It is called under
// mu, which is free meanwhile.
func (w *Worker) askShare(q *accountQueue, l admit.SharedLimit, enough func() bool) error {
	q.shares.asking[l]++
	defer func() { q.shares.asking[l]-- }()
	for q.shares.busy != nil {
		busy := q.shares.busy
		w.mu.Unlock()
		<-busy
		w.mu.Lock()
		if enough() {
			return nil
		}
	}
	if time.Now().Before(q.shares.after[l]) {
		return nil
	}
	return w.settleShares(q)
}

// settleShares makes the shares of an account what it needs, and others leave. It is called under mu, which is free
// while the store is asked.
func (w *Worker) settleShares(q *accountQueue) (err error) {
	s := &q.shares
	if s.busy != nil {
		return nil
	}
	s.busy, s.hinted = make(chan struct{}), false
	defer func() {
		close(s.busy)
		s.busy = nil
	}()
	ctx, cancel := context.WithTimeout(w.ctx, askTimeout)
	defer cancel()
	looked := false
	for range mostSwaps {
		now, short := w.fairShares(q)
		if short != nothingShort && !looked { // others may have given back some, or be dead
			looked = true
			if err := w.lookAtShares(ctx, q); err != nil {
				return err
			}
			continue
		}
		before := s.known.Of(now.Incarnation)
		// What is given back is used no more before others may have it.
		for l := range s.held {
			s.held[l] = min(s.held[l], now.Of[l].Held)
		}
		if before != now {
			next := s.known.With(now)
			version, err := w.swapShares(ctx, q, next)
			if err != nil {
				s.known = admit.Allotment{} // whatever it is now
				return err
			}
			if version == 0 {
				looked = true
				if err := w.lookAtShares(ctx, q); err != nil {
					return err
				}
				continue
			}
			if next.Version = version; len(next.Nodes) == 0 {
				next.Version = 0
			}
			s.known = next
		}
		for l := range s.held {
			s.held[l] = now.Of[l].Held
		}
		w.noteShares(q, before, now, short)
		return nil
	}
	return nil
}

// nothingShort says that there is enough of each limit.
var nothingShort [admit.SharedLimits]bool

// fairShares returns what the process may have of an account, and of which limits that is less than it needs.
func (w *Worker) fairShares(q *accountQueue) (now admit.NodeShares, short [admit.SharedLimits]bool) {
	s := &q.shares
	now.Incarnation = w.session.Member().Incarnation
	if s.incarnation != now.Incarnation { // what one had that was taken for dead is nobody's
		s.incarnation, s.held = now.Incarnation, [admit.SharedLimits]int{}
	}
	if !w.scheduler.shared || !w.scheduler.isBounded(q) {
		return now, nothingShort
	}
	for l := range admit.SharedLimits {
		d := q.demand(l)
		now.Of[l] = s.known.Share(now.Incarnation, l, q.limit(l), d)
		short[l] = now.Of[l].Held < d.Used+d.More
	}
	return now, short
}

// noteShares notes what came of an ask.
func (w *Worker) noteShares(q *accountQueue, before, now admit.NodeShares, short [admit.SharedLimits]bool) {
	s := &q.shares
	others := s.known.With(admit.NodeShares{Incarnation: now.Incarnation})
	s.contended = others.IsContended()
	const running = admit.SharedRunning
	for l := range s.after {
		if short[l] {
			s.after[l] = time.Now().Add(askAgain)
		}
	}
	if s.contended && now.Of[running].Held < before.Of[running].Held {
		s.yields = time.Now().Add(turnTime)
		w.hint(member.HintDue)
	}
	w.scheduler.markReady(q)
	if !short[running] {
		delete(w.scheduler.unsettled, q)
	}
}

func (w *Worker) swapShares(ctx context.Context, q *accountQueue, next admit.Allotment) (int64, error) {
	w.mu.Unlock()
	defer w.mu.Lock()
	return w.o.Allotments.SwapAllotment(ctx, int64(q.account), next.Version, next)
}

// lookAtShares reads what all have of an account.
func (w *Worker) lookAtShares(ctx context.Context, q *accountQueue) error {
	w.mu.Unlock()
	known, members, err := w.o.Allotments.Allotment(ctx, int64(q.account))
	w.mu.Lock()
	if err == nil {
		q.shares.known = known.Among(members)
	}
	return err
}

// settleLoop looks after the shares of accounts.
func (w *Worker) settleLoop(ctx context.Context) {
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	later := time.NewTimer(settleEvery)
	defer later.Stop()
	for {
		all := false
		select {
		case <-ticker.C:
			all = true
		case <-later.C:
		case <-w.scheduler.unsettle:
		case <-ctx.Done():
			return
		}
		next, err := w.settle(ctx, all)
		if err != nil {
			w.logRetry("shares of accounts' limits could not be stored and will be tried again", err)
		}
		later.Reset(next)
		w.dispatch()
	}
}

// settle looks at the shares of accounts that need it, and returns when it is to look again.
func (w *Worker) settle(ctx context.Context, all bool) (next time.Duration, err error) {
	next = settleEvery
	if all {
		if err := w.noteContended(ctx); err != nil {
			return next, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.listUnsettled(all) {
		s := &q.shares
		if w.scheduler.accounts[q.account] != q {
			delete(w.scheduler.unsettled, q)
			continue
		}
		gives := s.held[admit.SharedRunning] < s.known.Of(s.incarnation).Of[admit.SharedRunning].Held
		if wait := time.Until(s.after[admit.SharedRunning]); !all && !gives && wait > 0 {
			if s.hinted {
				next = min(next, wait)
			}
			continue
		}
		if w.scheduler.shared || s.any() {
			if err := w.settleShares(q); err != nil {
				return next, err
			}
		}
		if all {
			s.peak = [admit.SharedLimits]int{q.running, q.queued()}
		}
		w.scheduler.dropIdle(q)
	}
	return next, nil
}

// listUnsettled returns the queues whose shares are to be looked at, or all.
func (w *Worker) listUnsettled(all bool) (list []*accountQueue) {
	if all {
		return slices.Collect(maps.Values(w.scheduler.accounts))
	}
	return slices.Collect(maps.Keys(w.scheduler.unsettled))
}

// onShareHint has shares asked for that others may have given back.
func (w *Worker) onShareHint() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.scheduler.unsettled) == 0 {
		return
	}
	for q := range w.scheduler.unsettled {
		q.shares.hinted = true
	}
	w.scheduler.settleSoon()
}

// noteContended takes note of what other processes want of accounts that have something here.
func (w *Worker) noteContended(ctx context.Context) error {
	w.mu.Lock()
	shared := w.scheduler.shared && len(w.scheduler.accounts) > 0
	w.mu.Unlock()
	if !shared {
		return nil
	}
	list, err := w.o.Allotments.Contended(ctx, mostContended)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	contended := make(map[account.ID]bool, len(list))
	for _, a := range list {
		contended[account.ID(a)] = true
	}
	for _, q := range w.scheduler.accounts {
		if !contended[q.account] {
			q.shares.contended = false
			continue
		}
		if err := w.lookAtShares(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
