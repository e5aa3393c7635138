package webhook

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/guard"
	"ql/internal/network"
)

// Caller makes calls to other hosts; *network.Client is one.
type Caller interface {
	Do(ctx context.Context, r network.Request) (network.Answer, error)
}

// Options are what a Sender is made of. A zero field below the first four means
// its default.
type Options struct {
	Store  Store
	Client Caller
	// Secrets returns those that sign an account's webhooks now, one or more.
	Secrets func(ctx context.Context, a account.ID) ([]string, error)
	// Body returns what a server is told, as JSON: what a poll of the finished
	// job shows, shortened where it has more than MaxBody bytes. Where the job is
	// kept no more it answers job.ErrNotFound.
	Body func(ctx context.Context, d Delivery) ([]byte, error)

	Clock      func() time.Time // time.Now
	AtOnce     int              // calls under way; 32
	PerHost    int              // of them to one host; 4
	PerAccount int              // of them for one account; 10
	// Lease is how long a claim holds: longer than a call may take; 1 minute.
	Lease time.Duration
	// Poll is how long something that another process made due may lie
	// unnoticed; 15 seconds.
	Poll time.Duration
	Log  *slog.Logger // nowhere where left out
	// Guard recovers panics; nil tells nobody of them.
	Guard *guard.Guard
	// Tried is told of each attempt, and of the state that it led to; nil for
	// nobody.
	Tried func(a Attempt, s State)
}

// MaxBody is how many bytes a server is told at most.
const MaxBody = 256 << 10

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 32
	}
	if o.PerHost <= 0 {
		o.PerHost = 4
	}
	if o.PerAccount <= 0 {
		o.PerAccount = 10
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
	if o.Tried == nil {
		o.Tried = func(Attempt, State) {}
	}
	return o
}

const (
	// pageSize is how many deliveries are looked at together.
	pageSize = 256
	// breather is the pause after a look at many that could not be sent since
	// their hosts are busy.
	breather = 250 * time.Millisecond
	// retry is the pause after a failure of the service itself.
	retry = 5 * time.Second
)

// Sender sends what is due. Several may work on one store.
type Sender struct {
	o        Options
	wake     chan struct{}
	finished chan Delivery // has room for all that are under way

	start   sync.Once
	sending context.Context // ends with the stop
	halt    context.CancelFunc
	stopped chan struct{}
	calls   context.Context // ends when a stop waits no longer
	abandon context.CancelFunc

	// Of the loop alone:
	underWay  int
	hosts     map[string]int
	accounts  map[account.ID]int
	notBefore time.Time // when the store is looked at next
}

// NewSender returns a sender that is not started.
func NewSender(o Options) *Sender {
	o = o.withDefaults()
	s := &Sender{
		o:        o,
		wake:     make(chan struct{}, 1),
		finished: make(chan Delivery, o.AtOnce),
		stopped:  make(chan struct{}),
		hosts:    map[string]int{},
		accounts: map[account.ID]int{},
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
			for s.underWay > 0 {
				s.leave(<-s.finished)
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

// Stop sends no more and waits for the calls under way. Where ctx ends first,
// they are broken off, and will be made again after the next start. A second
// call waits for the first.
func (s *Sender) Stop(ctx context.Context) error {
	s.halt()
	s.start.Do(func() { close(s.stopped) }) // it never ran
	select {
	case <-s.stopped:
	case <-ctx.Done():
		s.abandon()
		<-s.stopped
	}
	s.abandon()
	return nil
}

func (s *Sender) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-s.finished:
			s.leave(d)
		case <-s.wake:
		case <-timer.C:
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
	var after Delivery
	for pages := 0; s.underWay < s.o.AtOnce; pages++ {
		page, err := s.o.Store.Due(s.calls, now, after, pageSize)
		if err == nil {
			err = s.begin(page, now)
		}
		if err != nil {
			return s.failed(err, now)
		}
		if len(page) < pageSize {
			if pages > 0 {
				s.notBefore = now.Add(breather)
			}
			break
		}
		after = page[len(page)-1]
	}
	next, err := s.o.Store.Next(s.calls, now)
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

// begin claims those of a page that there is room for, and calls their hosts.
func (s *Sender) begin(page []Delivery, now time.Time) error {
	chosen := slices.DeleteFunc(slices.Clone(page), func(d Delivery) bool { return !s.enter(d) })
	if len(chosen) == 0 {
		return nil
	}
	claimed, err := s.o.Store.Claim(s.calls, chosen, now.Add(s.o.Lease))
	if err != nil {
		claimed = nil
	}
	for _, d := range chosen {
		i := slices.IndexFunc(claimed, func(c Delivery) bool { return c.ID == d.ID })
		if i < 0 {
			s.leave(d) // another node was faster
			continue
		}
		s.o.Guard.Go("webhook", func() {
			defer func() { s.finished <- d }()
			s.deliver(claimed[i])
		})
	}
	return err
}

// enter takes a place for a call, and reports whether there is one.
func (s *Sender) enter(d Delivery) bool {
	h := hostOf(d.URL)
	if s.underWay >= s.o.AtOnce || s.hosts[h] >= s.o.PerHost || s.accounts[d.Account] >= s.o.PerAccount {
		return false
	}
	s.underWay++
	s.hosts[h]++
	s.accounts[d.Account]++
	return true
}

// leave gives a place back.
func (s *Sender) leave(d Delivery) {
	s.underWay--
	lower(s.hosts, hostOf(d.URL))
	lower(s.accounts, d.Account)
}

func lower[K comparable](counts map[K]int, k K) {
	if counts[k]--; counts[k] == 0 {
		delete(counts, k)
	}
}

// hostOf is what counts as one host: its name, whatever the port.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}
