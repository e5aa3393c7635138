package admit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// TransferOptions bound a TransferLimiter.
type TransferOptions struct {
	Max       int  // at once on this node
	Unlimited bool // nobody is turned away
	// Wait is how long somebody waits for one of its own transfers to end.
	Wait time.Duration
	// Reason is why somebody is turned away who has too many; TooManyTransfers where
	// it is left out.
	Reason Reason
}

// TransferLimiter bounds what is under way for a long time without computing: files that
// are sent or fetched, and changes that listeners wait for. Each holder may have so many
// at once, and so may all together. A transfer may last for hours, so nobody waits for
// long. But who has the last byte of a file and asks for the next is there before the
// first one has ended here. It may be used by any number of goroutines.
type TransferLimiter struct {
	o TransferOptions

	mu      sync.Mutex
	all     int
	holders map[Holder]transfers
}

// transfers are those of one holder.
type transfers struct {
	count   int
	waiters []transferWaiter // in the order of arrival
}

// transferWaiter waits for a transfer of its holder to end.
type transferWaiter struct {
	admitted chan struct{} // closed when it is
	most     int           // that its holder may have with it
}

// NewTransferLimiter returns a limiter of which nothing is under way.
func NewTransferLimiter(o TransferOptions) *TransferLimiter {
	if o.Reason == 0 {
		o.Reason = TooManyTransfers
	}
	return &TransferLimiter{o: o, holders: map[Holder]transfers{}}
}

// Acquire begins a transfer, if the account has fewer than most (0 for no bound) and so
// has the node, or one of its own ends in a moment. As many may wait for that as may be
// under way. The error is a *Refused; release is called once.
func (l *TransferLimiter) Acquire(ctx context.Context, account int64, most int) (release func(), err error) {
	return l.AcquireFor(ctx, AccountHolder(account), most)
}

// AcquireFor is Acquire for whomever transfers are charged to.
func (l *TransferLimiter) AcquireFor(ctx context.Context, h Holder, most int) (release func(), err error) {
	t, err := l.Begin(ctx, h, most)
	if err != nil {
		return nil, err
	}
	return t.Release, nil
}

// Transfer is one that is under way.
type Transfer struct {
	limiter *TransferLimiter
	holder  Holder
}

// Release ends the transfer. It is called once.
func (t Transfer) Release() { t.limiter.release(t.holder) }

// Begin is AcquireFor that allocates nothing where nobody waits.
func (l *TransferLimiter) Begin(ctx context.Context, h Holder, most int) (Transfer, error) {
	t := Transfer{l, h}
	admitted, err := l.begin(h, most)
	if err != nil || admitted == nil {
		return t, err
	}
	timeout := time.NewTimer(l.o.Wait)
	defer timeout.Stop()
	select {
	case <-admitted:
		return t, nil
	case <-timeout.C:
	case <-ctx.Done():
	}
	count, waits := l.withdraw(h, admitted)
	if !waits {
		return t, nil // it was admitted at this moment
	}
	return t, l.tooMany(most, count)
}

func (l *TransferLimiter) tooMany(most, count int) error {
	return &Refused{Reason: l.o.Reason, RetryAfter: time.Second, Limit: most, inside: count}
}

// begin counts a transfer, or returns what is closed when one of the holder's has ended.
func (l *TransferLimiter) begin(h Holder, most int) (admitted chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.holders[h]
	switch {
	case l.o.Unlimited:
	case most > 0 && own.count >= most:
		if l.o.Wait == 0 || len(own.waiters) >= most {
			return nil, l.tooMany(most, own.count)
		}
		admitted = make(chan struct{})
		own.waiters = append(own.waiters, transferWaiter{admitted, most})
		l.holders[h] = own
		return admitted, nil
	case l.all >= l.o.Max:
		return nil, &Refused{Reason: Overloaded, RetryAfter: time.Second}
	}
	l.all++
	own.count++
	l.holders[h] = own
	return nil, nil
}

// withdraw stops waiting, and reports false for who was admitted meanwhile. It returns
// how many the holder has.
func (l *TransferLimiter) withdraw(h Holder, admitted chan struct{}) (count int, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.holders[h]
	at := slices.IndexFunc(own.waiters, func(w transferWaiter) bool { return w.admitted == admitted })
	if at < 0 {
		return own.count, false
	}
	own.waiters = slices.Delete(own.waiters, at, at+1)
	l.holders[h] = own
	return own.count, true
}

// release ends a transfer, and admits the holder's next: the first in line for whom it has few enough.
func (l *TransferLimiter) release(h Holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.holders[h]
	if next := slices.IndexFunc(own.waiters, func(w transferWaiter) bool { return own.count <= w.most }); next >= 0 {
		close(own.waiters[next].admitted)
		own.waiters = slices.Delete(own.waiters, next, next+1)
		l.holders[h] = own
		return
	}
	l.all--
	own.count--
	l.holders[h] = own
	if own.count == 0 {
		delete(l.holders, h)
	}
}
