package auth

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/guard"
	"ql/internal/principal"
)

const (
	// loginInterval is how often a log-in from one network is logged, and failedInterval how
	// often it is that log-ins failed, wherever from: entries in between are counted.
	loginInterval  = time.Hour
	failedInterval = time.Hour
	// mostLogins bounds the accounts and networks of which is known when they were last logged,
	// and mostPending what waits to be logged.
	mostLogins  = 10_000
	mostPending = 1_000
)

// logins logs log-ins by password, beside the calls: no call waits for it. A caller that sends its
// password with every call, and a stranger who guesses, fill no log.
type logins struct {
	log    audit.Log // nil logs nothing
	limits func(account.Plan) account.Limits
	guard  *guard.Guard

	mu        sync.Mutex
	succeeded *lru[loginKey, time.Time]
	failed    *lru[account.ID, *failedLogins]
	waits     []login
	idle      chan struct{} // closed when all is logged; nil where nothing is being logged
}

type loginKey struct {
	account account.ID
	network netip.Prefix
}

// failedLogins are those of an account since the last that was logged.
type failedLogins struct {
	logged time.Time
	count  int64
}

// login waits to be logged.
type login struct {
	actor audit.Actor
	event audit.Event
}

func newLogins(log audit.Log, limits func(account.Plan) account.Limits, g *guard.Guard) *logins {
	if limits == nil {
		limits = account.Plan.Limits
	}
	return &logins{log: log, limits: limits, guard: g, succeeded: newLRU[loginKey, time.Time](mostLogins), failed: newLRU[account.ID, *failedLogins](mostLogins)}
}

// noteSuccess notes that somebody logged in to an account.
func (l *logins) noteSuccess(a *account.Account, from netip.Addr, now time.Time) {
	if l.log == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := loginKey{a.ID, audit.NetworkOf(from)}
	if last, ok := l.succeeded.Get(key); ok && now.Sub(last) < loginInterval {
		return
	}
	if l.add(a, from, audit.Event{Account: a.ID, Act: audit.LoggedIn}) {
		l.succeeded.Add(key, now)
	}
}

// noteFailure notes that somebody failed to log in to an account.
func (l *logins) noteFailure(a *account.Account, from netip.Addr, now time.Time) {
	if l.log == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.failed.Get(a.ID)
	if !ok {
		f = &failedLogins{}
		l.failed.Add(a.ID, f)
	}
	f.count++
	if ok && now.Sub(f.logged) < failedInterval {
		return
	}
	if l.add(a, from, audit.Event{Account: a.ID, Act: audit.LogInFailed, Result: audit.Failed, Count: f.count}) {
		f.logged, f.count = now, 0
	}
}

// add has an event logged, and reports whether there is room for it. It is locked.
func (l *logins) add(a *account.Account, from netip.Addr, e audit.Event) bool {
	if len(l.waits) >= mostPending {
		return false
	}
	by := principal.Principal{Account: *a, By: principal.ByPassword}
	l.waits = append(l.waits, login{audit.ActorOf(&by, from, a.Limits(l.limits).LogBytes), e})
	if l.idle == nil {
		l.idle = make(chan struct{})
		l.guard.Go("log-ins", l.drain)
	}
	return true
}

// drain logs all that waits.
func (l *logins) drain() {
	ended := false
	defer func() {
		if !ended { // by a panic: what waits is logged with the next one
			l.mu.Lock()
			defer l.mu.Unlock()
			l.end()
		}
	}()
	for {
		waits := l.take()
		if waits == nil {
			ended = true
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), useTime)
		for _, w := range waits {
			// Where the store takes nothing, log-ins are the least of what is missing.
			_ = l.log.Append(audit.By(ctx, w.actor), w.event)
		}
		cancel()
	}
}

// end says that nothing is being logged.
func (l *logins) end() {
	close(l.idle)
	l.idle = nil
}

// take returns what waits; where there is nothing, logging ends in the same moment.
func (l *logins) take() []login {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waits) == 0 {
		l.end()
		return nil
	}
	waits := l.waits
	l.waits = nil
	return waits
}

// flush returns when nothing waits to be logged.
func (l *logins) flush(ctx context.Context) error {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
