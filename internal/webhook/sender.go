package webhook

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/guard"
	"ql/internal/network"
	"ql/internal/redacted"
)

// Caller makes calls to other hosts; *network.Client is one.
type Caller interface {
	Do(ctx context.Context, r network.Request) (network.Answer, error)
}

// Options are what a Sender is made of. A zero field below the first four means
// its default.
type Options struct {
	Outbox Outbox
	Client Caller
	// Secrets returns those that sign an account's webhooks now, one or more.
	Secrets func(ctx context.Context, a account.ID) ([]redacted.Text, error)
	// Body returns what a delivery says, as JSON: what a poll of the finished
	// job shows, shortened where it has more than MaxBody bytes. Where the job is
	// kept no more it answers job.ErrNotFound, and where a pause is over ErrOver.
	Body func(ctx context.Context, d Delivery) ([]byte, error)

	Clock      func() time.Time // time.Now
	AtOnce     int              // calls under way; 64
	PerAccount int              // of them for one account; an eighth of all
	PerHost    int              // of those to one host; half of an account's
	// Lease is how long a claim holds: longer than a call may take; 1 minute.
	Lease time.Duration
	// Poll is how long something that another process made due may lie
	// unnoticed; 15 seconds.
	Poll time.Duration
	Log  *slog.Logger // nowhere where left out
	// Guard recovers panics; nil tells nobody of them.
	Guard *guard.Guard
	// OnAttempt is called after each attempt, with the state that it led to; nil for
	// nobody.
	OnAttempt func(a Attempt, s State)
}

// MaxBody is how many bytes a delivery has at most.
const MaxBody = 256 << 10

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 64
	}
	if o.PerAccount <= 0 {
		o.PerAccount = max(1, o.AtOnce/8)
	}
	if o.PerHost <= 0 {
		o.PerHost = max(1, o.PerAccount/2)
	}
	if o.Lease <= 0 {
		o.Lease = time.Minute
	}
	if o.Poll <= 0 {
		o.Poll = 15 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnAttempt == nil {
		o.OnAttempt = func(Attempt, State) {}
	}
	return o
}

const (
	// pageSize is how many deliveries are looked at together.
	pageSize = 256
	// accountsAtOnce and pagesAtOnce bound how many accounts and pages of their
	// deliveries are looked at together where more is due than a page, and
	// pagesOfOne how many of one account.
	accountsAtOnce = 1024
	pagesAtOnce    = 128
	pagesOfOne     = 4
	// breather is the pause after a look at many.
	breather = 250 * time.Millisecond
	// retry is the pause after a failure of the service itself.
	retry = 5 * time.Second
)

// Sender sends what is due. Several may work on one store.
type Sender struct {
	o        Options
	wake     chan struct{}
	finished chan finished // has room for all that are under way

	start   sync.Once
	sending context.Context // ends with the stop
	halt    context.CancelFunc
	stopped chan struct{}
	calls   context.Context // ends when a stop waits no longer
	abandon context.CancelFunc

	// Of the loop alone:
	slots       *slotPool
	lastAccount account.ID              // whose deliveries were looked at
	resume      map[account.ID]Delivery // after which those of an account are looked at
	notBefore   time.Time               // when the store is looked at next
}

// finished is a call that is over.
type finished struct {
	slot slot
	took time.Duration
}

// NewSender returns a sender that is not started.
func NewSender(o Options) *Sender {
	o = o.withDefaults()
	s := &Sender{
		o:        o,
		wake:     make(chan struct{}, 1),
		finished: make(chan finished, o.AtOnce),
		stopped:  make(chan struct{}),
		slots:    newSlotPool(o.AtOnce, o.PerAccount, o.PerHost),
		resume:   map[account.ID]Delivery{},
	}
	s.sending, s.halt = context.WithCancel(context.Background())
	s.calls, s.abandon = context.WithCancel(context.Background())
	return s
}

// Start begins to send. It returns at once; a second time it does nothing.
func (s *Sender) Start() {
	s.start.Do(func() {
		s.o.Guard.Go("webhook", func() {
			defer close(s.stopped)
			s.o.Guard.Loop(s.sending, "webhook", s.run)
			for s.slots.taken > 0 {
				s.releaseSlot(<-s.finished)
			}
		})
	})
}

// Wake says that a delivery may have become due.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// stopGrace is how long a stop waits for calls under way: long enough for a
// server that answers, and nothing beside the time of one that does not.
const stopGrace = 500 * time.Millisecond

// Stop sends no more, and waits a moment for the calls under way, at most until
// ctx ends. Then they are broken off, and will be made again, under the same ids,
// after the next start. A second call waits for the first.
func (s *Sender) Stop(ctx context.Context) error {
	s.halt()
	s.start.Do(func() { close(s.stopped) }) // it never ran
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-s.stopped:
	case <-grace.C:
	case <-ctx.Done():
	}
	s.abandon()
	<-s.stopped
	return nil
}

func (s *Sender) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.finished:
			s.releaseSlot(f)
		case <-s.wake:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		now := s.o.Clock()
		if !now.Before(s.notBefore) {
			s.notBefore = time.Time{}
			timer.Reset(s.fill(now))
			continue
		}
		timer.Reset(s.notBefore.Sub(now))
	}
}

// fill begins as many calls as there is room for, and returns when to look
// again at the latest.
func (s *Sender) fill(now time.Time) time.Duration {
	if !s.slots.isFull() {
		queues, whole, err := s.due(now)
		if err == nil {
			err = s.begin(s.slots.assign(queues, now), now)
		}
		if err != nil {
			return s.failed(err, now)
		}
		if !whole {
			s.notBefore = now.Add(breather)
		}
	}
	next, err := s.o.Outbox.Next(s.calls, now)
	if err != nil {
		return s.failed(err, now)
	}
	if next.IsZero() {
		return s.o.Poll
	}
	return min(next.Sub(now), s.o.Poll)
}

func (s *Sender) failed(err error, now time.Time) time.Duration {
	if s.calls.Err() == nil {
		s.o.Log.Error("due webhooks could not be read and will be tried again", "error", err)
	}
	s.notBefore = now.Add(retry)
	return retry
}

// due returns deliveries that are due, by accounts, and whether these are all.
// Where they are many, it asks account by account, so that the number of one
// account's deliveries is nothing to the others.
func (s *Sender) due(now time.Time) (queues map[account.ID][]Delivery, whole bool, err error) {
	queues = map[account.ID][]Delivery{}
	page, err := s.o.Outbox.Due(s.calls, now, pageSize)
	if err != nil {
		return nil, false, err
	}
	if len(page) < pageSize {
		for _, d := range page {
			queues[d.Account] = append(queues[d.Account], d)
		}
		return queues, true, nil
	}
	accounts, err := s.o.Outbox.DueAccounts(s.calls, now, s.lastAccount, accountsAtOnce)
	if err != nil {
		return nil, false, err
	}
	pages := 0
	for _, id := range accounts {
		s.lastAccount = id
		if !s.slots.mayHaveRoom(id, now) {
			continue
		}
		queue, read, err := s.dueOf(id, now)
		if err != nil {
			return nil, false, err
		}
		if len(queue) > 0 {
			queues[id] = queue
		}
		if pages += read; pages >= pagesAtOnce {
			break
		}
	}
	return queues, false, nil
}

// dueOf returns deliveries of an account whose hosts have room. Where many to busy
// hosts come before them, it continues there the next time. It returns how many pages
// it has read.
func (s *Sender) dueOf(id account.ID, now time.Time) (queue []Delivery, pages int, err error) {
	after := s.resume[id]
	delete(s.resume, id)
	chosen := map[target]int{}
	for pages < pagesOfOne {
		page, err := s.o.Outbox.DueOf(s.calls, id, now, after, pageSize)
		if err != nil {
			return nil, pages, err
		}
		pages++
		for _, d := range page {
			if t := targetOf(d); s.slots.hasRoom(t, chosen[t], now) {
				chosen[t]++
				queue = append(queue, d)
			}
			if len(queue) >= s.o.PerAccount {
				return queue, pages, nil
			}
		}
		if len(page) < pageSize {
			return queue, pages, nil
		}
		after = page[len(page)-1]
	}
	if len(s.resume) >= pageSize {
		clear(s.resume)
	}
	s.resume[id] = after
	return queue, pages, nil
}

// begin claims deliveries that were given slots, and calls their hosts.
func (s *Sender) begin(chosen []assignment, now time.Time) error {
	if len(chosen) == 0 {
		return nil
	}
	list := make([]Delivery, len(chosen))
	for i, c := range chosen {
		list[i] = c.Delivery
	}
	claimed, err := s.o.Outbox.Claim(s.calls, list, now.Add(s.o.Lease))
	if err != nil {
		claimed = nil
	}
	for _, c := range chosen {
		i := slices.IndexFunc(claimed, func(d Delivery) bool { return d.ID == c.ID })
		if i < 0 {
			s.slots.release(c.slot) // another node was faster
			continue
		}
		s.o.Guard.Go("webhook", func() {
			var took time.Duration
			defer func() { s.finished <- finished{c.slot, took} }()
			took = s.deliver(claimed[i])
		})
	}
	return err
}

// releaseSlot gives the slot of a call back.
func (s *Sender) releaseSlot(f finished) {
	s.slots.slowness.note(f.slot.target, f.took, s.o.Clock())
	s.slots.release(f.slot)
}
