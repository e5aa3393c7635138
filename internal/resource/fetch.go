package resource

import (
	"context"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/internal/network"
	"ql/internal/resource/fetch"
)

// Fetcher makes what FETCH reaches.
type Fetcher struct {
	client *network.Client
	o      FetcherOptions
}

// FetcherOptions are what a fetcher is made of.
type FetcherOptions struct {
	Policy network.Policy
	Plans  map[account.Plan]account.Limits
	// Dev says that the development account is one person's, not everybody's.
	Dev  bool
	Done func(how string, took time.Duration) // is called after each fetch
	// Guard runs calls that are made side by side, and Ledger counts their replies until scripts take
	// them; both may be left out.
	Guard  *guard.Guard
	Ledger *admit.Ledger
}

// NewFetcher returns a fetcher whose client takes as much as the widest plan.
func NewFetcher(o FetcherOptions) *Fetcher {
	widest := network.ForFetches()
	for _, l := range o.Plans {
		widest.Bytes = max(widest.Bytes, int64(l.FetchBytes))
		widest.Ratio = max(widest.Ratio, int64(l.FetchRatio))
		widest.Total = max(widest.Total, l.FetchTime)
	}
	return &Fetcher{client: network.NewClient(o.Policy, widest), o: o}
}

// Close closes the connections that are open.
func (f *Fetcher) Close() { f.client.Close() }

// outgoing are an account's calls.
type outgoing struct {
	limiter fetch.Limiter
	network atomic.Pointer[cachedNetwork]
}

// cachedNetwork makes them, and is the same for all runs until the account's plan
// changes.
type cachedNetwork struct {
	*fetch.Network
	limits fetch.Limits
	most   int64
}

// open returns the network of one run of an account.
func (f *Fetcher) open(a account.Account, l account.Limits, o *outgoing, tally *usage.Tally) engine.Network {
	limits := fetch.LimitsOf(l)
	if isDevelopment(a) && !f.o.Dev {
		limits = fetch.Limits{} // its credentials are known to everybody
	}
	if m := o.network.Load(); m != nil && m.limits == limits && m.most == l.EgressPerMonth {
		return m
	}
	m := &cachedNetwork{limits: limits, most: l.EgressPerMonth, Network: fetch.New(fetch.Options{
		Client: f.client, Limits: limits, Limiter: &o.limiter, Allowance: egress{tally, a.ID, l.EgressPerMonth}, Done: f.o.Done,
		Guard: f.o.Guard, Reserve: f.reserve(a.ID),
	})}
	o.network.Store(m)
	return m
}

// reserve returns what reserves memory for replies of an account's calls.
func (f *Fetcher) reserve(id account.ID) func(context.Context, int64) (func(), error) {
	if f.o.Ledger == nil {
		return nil
	}
	return func(ctx context.Context, bytes int64) (func(), error) {
		r := f.o.Ledger.Open(admit.AccountHolder(int64(id)))
		if err := r.GrowBlocking(ctx, bytes); err != nil {
			return nil, err
		}
		return r.Release, nil
	}
}

// egress is what may leave for an account in a month.
type egress struct {
	tally *usage.Tally
	id    account.ID
	most  int64
}

// Reserve implements fetch.Allowance.
func (e egress) Reserve(ctx context.Context, bytes int64, more bool) (giveBack func(int64), err error) {
	unsent, err := e.tally.Send(ctx, e.id, bytes, e.most, more)
	return unsent, usedUp(err)
}
