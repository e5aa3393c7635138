package mail

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/guard"
)

// Transport hands messages over to who delivers them.
type Transport interface {
	// Send makes one attempt for some recipients of a message, by their numbers.
	Send(ctx context.Context, m *Message, recipients []int) Result
	// LongestAttempt is how long one takes at most.
	LongestAttempt() time.Duration
}

// Result is what became of an attempt.
type Result struct {
	// Unreached says that the transport could not be asked at all: it is no attempt.
	Unreached bool
	// Outcomes are those of the recipients, in the order asked for: Pending where another attempt may
	// do better.
	Outcomes []Outcome
	Failure  string // what went wrong, "" for nothing
	broken   error  // of a connection that is of no more use
}

// Sealer opens what mails say; account.Sealer is one.
type Sealer interface {
	Open(id account.ID, name string, sealed []byte) ([]byte, error)
}

// SealHead and SealBody are the names that parts of a mail are sealed by.
func SealHead(id string) string { return "mail-head:" + id }

// SealBody is that of what it says.
func SealBody(id string) string { return "mail-body:" + id }

// Options are what a Sender is made of. A zero field below the first five means its default.
type Options struct {
	Outbox    Outbox
	Transport Transport
	Sealer    Sealer
	Sender    Address // the operator's
	// Open opens the content of an attachment; what is damaged gives an error.
	Open func(Content) io.ReadSeekCloser

	Type       func(name string) string // of a file's content by its name; none
	Clock      func() time.Time         // time.Now
	AtOnce     int                      // attempts under way; 8
	PerAccount int                      // of them for one account; a quarter
	// Pause is how long nothing is sent after the server could not be asked; 30 seconds.
	Pause time.Duration
	// Poll is how long something that another process made due may lie unnoticed; 15 seconds.
	Poll time.Duration
	// By is which incarnation of a node this process is: what one that is no more has claimed is
	// sent again. 0 where left out.
	By func() int64
	// Hold reserves memory for a mail of an account while it is sent; where there is none, it waits.
	// Nothing is reserved where left out.
	Hold  func(ctx context.Context, a account.ID, bytes int64) (release func(), err error)
	Log   *slog.Logger // nowhere where left out
	Guard *guard.Guard // recovers panics; nil tells nobody of them
	// OnAttempt is called after each attempt with what it led to: sent, failed, retry or unreached. Nil
	// for nobody.
	OnAttempt func(outcome string)
	// OnSent is called with the size of a message that was handed over; nil for nobody.
	OnSent func(a account.ID, bytes int64)
}

func (o Options) withDefaults() Options {
	if o.Type == nil {
		o.Type = func(string) string { return "" }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 8
	}
	if o.PerAccount <= 0 {
		o.PerAccount = max(1, o.AtOnce/4)
	}
	if o.Pause <= 0 {
		o.Pause = 30 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = 15 * time.Second
	}
	if o.By == nil {
		o.By = func() int64 { return 0 }
	}
	if o.Hold == nil {
		o.Hold = func(context.Context, account.ID, int64) (func(), error) { return func() {}, nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnAttempt == nil {
		o.OnAttempt = func(string) {}
	}
	if o.OnSent == nil {
		o.OnSent = func(account.ID, int64) {}
	}
	return o
}

const (
	// accountsAtOnce is how many accounts are looked at together.
	accountsAtOnce = 256
	// retryPause is the pause after a failure of the service itself.
	retryPause = 5 * time.Second
	// storeTime is how long the store may take to note an attempt.
	storeTime = 10 * time.Second
	// stopGrace is how long a stop waits for attempts under way.
	stopGrace = 500 * time.Millisecond
	// MaxAge is how long a mail is tried.
	MaxAge = 3 * 24 * time.Hour
	// MaxBody is how many bytes a mail says, without attachments.
	MaxBody = 1 << 20
)

// retryDelays are those between attempts; the last holds for all that follow.
var retryDelays = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour}

// Sender sends what is due. Several may work on one store.
type Sender struct {
	o    Options
	wake chan struct{}
	done chan account.ID // whose attempt is over; has room for all that are under way

	start    sync.Once
	sending  context.Context // ends with the stop
	halt     context.CancelFunc
	stopped  chan struct{}
	attempts context.Context // ends when a stop waits no longer
	abandon  context.CancelFunc

	mu    sync.Mutex
	pause time.Time // before which nothing is sent

	// Of the loop alone:
	busy  int
	of    map[account.ID]int
	after account.ID
}

// NewSender returns a sender that is not started.
func NewSender(o Options) *Sender {
	o = o.withDefaults()
	s := &Sender{o: o, wake: make(chan struct{}, 1), done: make(chan account.ID, o.AtOnce), stopped: make(chan struct{}), of: map[account.ID]int{}}
	s.sending, s.halt = context.WithCancel(context.Background())
	s.attempts, s.abandon = context.WithCancel(context.Background())
	return s
}

// Start sends from now on. A second call does nothing.
func (s *Sender) Start() {
	s.start.Do(func() {
		s.o.Guard.Go("mail", func() {
			defer close(s.stopped)
			s.o.Guard.Loop(s.sending, "mail", s.run)
			for s.busy > 0 {
				s.ended(<-s.done)
			}
		})
	})
}

// Wake says that a mail may have become due.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Stop sends no more, and waits a moment for the attempts under way, at most until ctx ends. Then they
// are broken off, and will be made again after the next start. A second call waits for the first.
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

func (s *Sender) ended(a account.ID) {
	s.busy--
	if s.of[a]--; s.of[a] == 0 {
		delete(s.of, a)
	}
}

func (s *Sender) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-s.done:
			s.ended(a)
		case <-s.wake:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		timer.Reset(s.fill(s.o.Clock()))
	}
}

func (s *Sender) pausedUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pause
}

// fill begins as many attempts as there is room for, and returns when to look again at the latest.
func (s *Sender) fill(now time.Time) time.Duration {
	if until := s.pausedUntil(); now.Before(until) {
		return min(until.Sub(now), s.o.Poll)
	}
	more, err := s.begin(now)
	var next time.Time
	if err == nil && !more {
		next, err = s.o.Outbox.Next(s.attempts, now)
	}
	switch {
	case err != nil:
		if s.attempts.Err() == nil {
			s.o.Log.Error("due mails could not be read and will be tried again", "error", err)
		}
		return retryPause
	case more || next.IsZero():
		return s.o.Poll // the end of an attempt is looked at by itself
	}
	return min(next.Sub(now), s.o.Poll)
}

// begin claims mails account by account, so that the number of one account's is nothing to the others,
// and sends them. It reports whether there is more than room for it.
func (s *Sender) begin(now time.Time) (more bool, err error) {
	if n, err := s.o.Outbox.ReleaseDead(s.attempts, now); err != nil {
		return false, err
	} else if n > 0 {
		s.o.Log.Info("mails that a process had under way when it ended are sent again", "mails", n)
	}
	accounts, err := s.o.Outbox.DueAccounts(s.attempts, now, s.after, accountsAtOnce)
	if err != nil {
		return false, err
	}
	for _, a := range accounts {
		room := min(s.o.AtOnce-s.busy, s.o.PerAccount-s.of[a])
		if s.busy >= s.o.AtOnce {
			return true, nil
		}
		s.after = a
		if room <= 0 {
			more = true
			continue
		}
		list, err := s.o.Outbox.DueOf(s.attempts, a, now, room+1)
		if err != nil {
			return false, err
		}
		for i, m := range list {
			if i >= room {
				more = true
				break
			}
			claimed, err := s.o.Outbox.Claim(s.attempts, m, s.o.By(), now.Add(s.o.Transport.LongestAttempt()+time.Minute))
			if errors.Is(err, ErrClaimLost) {
				continue // another node was faster
			}
			if err != nil {
				return false, err
			}
			s.busy++
			s.of[a]++
			s.o.Guard.Go("mail", func() {
				defer func() { s.done <- a }()
				s.attempt(claimed)
			})
		}
	}
	return more || len(accounts) >= accountsAtOnce, nil
}

// attempt sends a mail and notes what became of it. Where it cannot, since the process dies or the store
// fails, the claim ends by itself and the next attempt follows.
func (s *Sender) attempt(m Mail) {
	defer func() {
		if p := recover(); p != nil {
			s.postpone(m, s.o.Guard.Report("mail", p))
		}
	}()
	if s.o.Clock().Sub(m.Made) > MaxAge {
		s.giveUp(m)
		return
	}
	release, err := s.o.Hold(s.attempts, m.Account, heldFor(m))
	if err != nil { // others use it now
		s.release(m, m.Error, s.o.Clock().Add(retryPause))
		return
	}
	defer release()
	message, err := s.message(m)
	if err != nil {
		if s.attempts.Err() != nil {
			s.release(m, m.Error, s.o.Clock())
			return
		}
		s.postpone(m, err)
		return
	}
	outcomes, waiting := waitingFor(m, len(message.To))
	r := s.o.Transport.Send(s.attempts, message, waiting)
	now := s.o.Clock()
	switch {
	case s.attempts.Err() != nil && (r.Unreached || r.broken != nil):
		s.release(m, m.Error, now) // broken off by our own stop
	case r.Unreached:
		s.unreached(m, r.Failure, now)
	default:
		s.settle(m, message, outcomes, waiting, r, now)
	}
}

// heldFor is how many bytes a mail takes while it is sent: what it says as it is stored, opened and
// written with other line ends, and what is read and written at once of its attachments, however large
// those are.
func heldFor(m Mail) int64 {
	const pieces = 1 << 20
	return 4*min(m.Size, MaxBody) + pieces
}

// waitingFor returns what became of a mail so far, and the numbers of the recipients that it is still
// to be sent to.
func waitingFor(m Mail, recipients int) (outcomes []Outcome, waiting []int) {
	outcomes = make([]Outcome, recipients)
	copy(outcomes, m.Outcomes)
	for i := range outcomes {
		if s := outcomes[i].State; s != Sent && s != Failed {
			waiting = append(waiting, i)
		}
	}
	return outcomes, waiting
}

func (s *Sender) settle(m Mail, message *Message, outcomes []Outcome, waiting []int, r Result, now time.Time) {
	sent := false
	for i, n := range waiting {
		outcomes[n] = r.Outcomes[i]
		sent = sent || outcomes[n].State == Sent
	}
	if sent {
		s.o.OnSent(m.Account, message.Size())
	}
	state, due := Sent, now
	for i := range outcomes {
		switch {
		case outcomes[i].State == Failed && state == Sent:
			state = Failed
		case outcomes[i].State == Pending:
			state = Pending
		}
	}
	if state == Pending {
		due = now.Add(jitter(retryDelays[min(m.Attempts, len(retryDelays)-1)]))
		if due.Sub(m.Made) > MaxAge {
			state, due = Failed, now
			expire(outcomes)
		}
	}
	s.note(m, outcomes, r.Failure, state, due)
	switch state {
	case Sent:
		s.o.OnAttempt("sent")
	case Failed:
		s.o.OnAttempt("failed")
		s.o.Log.Info("a mail was given up", "mail", m.ID, "account", m.Account, "attempt", m.Attempts+1)
	case Pending:
		s.o.OnAttempt("retry")
		s.o.Log.Info("a mail was not taken and will be tried again", "mail", m.ID, "account", m.Account, "attempt", m.Attempts+1, "after_seconds", int64(due.Sub(now).Seconds()))
	}
}

// expire gives up for whom a mail still waits.
func expire(outcomes []Outcome) {
	for i := range outcomes {
		if outcomes[i].State != Sent {
			outcomes[i].State = Failed
		}
	}
}

// giveUp settles a mail that nobody took in three days.
func (s *Sender) giveUp(m Mail) {
	recipients := max(1, len(m.Outcomes))
	if head, err := OpenHead(s.o.Sealer, &m); err == nil {
		recipients = max(recipients, len(head.To))
	}
	outcomes := make([]Outcome, recipients)
	copy(outcomes, m.Outcomes)
	expire(outcomes)
	failure := m.Error
	if failure == "" {
		failure = "the mail server took it at no time within three days"
	}
	s.note(m, outcomes, failure, Failed, s.o.Clock())
	s.o.OnAttempt("failed")
	s.o.Log.Info("a mail was given up", "mail", m.ID, "account", m.Account, "attempt", m.Attempts)
}

// message makes what is sent, the same at each attempt.
func (s *Sender) message(m Mail) (*Message, error) {
	sealed, contents, err := s.o.Outbox.Body(s.attempts, m)
	if err != nil {
		return nil, err
	}
	head, err := OpenHead(s.o.Sealer, &m)
	if err != nil {
		return nil, err
	}
	body, err := s.o.Sealer.Open(m.Account, SealBody(m.ID), sealed)
	if err != nil {
		return nil, err
	}
	if len(head.Names) != len(contents) {
		return nil, fmt.Errorf("a mail has %d attachments in place of %d", len(contents), len(head.Names))
	}
	message := &Message{ID: m.ID, Date: m.Made, From: s.o.Sender, Sender: s.o.Sender, Subject: head.Subject, Body: string(body), HTML: head.HTML}
	if head.From != "" {
		if message.From, err = ParseAddress(head.From); err != nil {
			return nil, err
		}
	}
	for _, to := range head.To {
		a, err := ParseAddress(to)
		if err != nil {
			return nil, err
		}
		message.To = append(message.To, a)
	}
	for i, c := range contents {
		message.Attachments = append(message.Attachments, Attachment{
			Name: head.Names[i], Type: s.o.Type(head.Names[i]), Size: c.Size, Open: func() io.ReadCloser { return s.o.Open(c) },
		})
	}
	return message, nil
}

func (s *Sender) storing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.attempts), storeTime)
}

func (s *Sender) note(m Mail, outcomes []Outcome, failure string, state State, at time.Time) {
	ctx, cancel := s.storing()
	defer cancel()
	if err := s.o.Outbox.Settle(ctx, m, outcomes, failure, state, at); err != nil {
		s.logNotStored(m, err)
	}
}

// unreached ends a claim where the server could not be asked, and waits with all others too.
func (s *Sender) unreached(m Mail, failure string, now time.Time) {
	s.mu.Lock()
	first := !now.Before(s.pause)
	s.pause = now.Add(s.o.Pause)
	s.mu.Unlock()
	if first {
		s.o.Log.Error("the mail server cannot be used: mails wait", "error", failure)
	}
	s.o.OnAttempt("unreached")
	s.release(m, failure, now.Add(s.o.Pause))
}

// postpone ends a claim after a failure of the service itself.
func (s *Sender) postpone(m Mail, err error) {
	s.o.Log.Error("a mail could not be made and will be tried again", "mail", m.ID, "account", m.Account, "error", err)
	s.release(m, "the service could not make the mail", s.o.Clock().Add(s.o.Pause))
}

func (s *Sender) release(m Mail, failure string, due time.Time) {
	ctx, cancel := s.storing()
	defer cancel()
	if err := s.o.Outbox.Release(ctx, m, failure, due); err != nil {
		s.logNotStored(m, err)
	}
}

// logNotStored says that a claim was not ended, which then ends by itself.
func (s *Sender) logNotStored(m Mail, err error) {
	if !errors.Is(err, ErrClaimLost) && !errors.Is(err, ErrNotFound) {
		s.o.Log.Error("an attempt at a mail could not be noted and may be made again", "mail", m.ID, "account", m.Account, "error", err)
	}
}

// jitter makes a pause up to a fifth longer or shorter, so that what failed together does not come back
// together.
func jitter(d time.Duration) time.Duration {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	fifth := uint64(d / 5)
	return d - time.Duration(fifth) + time.Duration(binary.BigEndian.Uint64(random[:])%(2*fifth+1))
}
