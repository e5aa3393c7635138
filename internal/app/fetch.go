package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/engine"
	"ql/internal/network"
	"ql/internal/resource/fetch"
	"ql/lang/value"
)

// fetcher makes what FETCH reaches.
type fetcher struct {
	client *network.Client
	// dev says that the development account is one person's, not everybody's.
	dev  bool
	done func(how string, took time.Duration)
}

// newFetcher returns a fetcher whose client takes as much as the widest plan.
func (a *App) newFetcher() *fetcher {
	o := network.ForFetches()
	for _, l := range a.settings.Plans {
		o.Bytes = max(o.Bytes, int64(l.FetchBytes))
		o.Ratio = max(o.Ratio, int64(l.FetchRatio))
		o.Total = max(o.Total, l.FetchTime)
	}
	return &fetcher{client: network.NewClient(a.egress(), o), dev: a.settings.Dev, done: a.parts.metrics.Fetched}
}

// outgoing are an account's calls.
type outgoing struct {
	limiter fetch.Limiter
	made    atomic.Pointer[made]
}

// made is what makes them, which is the same for all runs until the account's
// plan changes.
type made struct {
	*fetch.Network
	limits fetch.Limits
	most   int64
}

// open returns the network of one run of an account.
func (f *fetcher) open(a account.Account, l account.Limits, o *outgoing, tally *usage.Tally) engine.Network {
	limits := fetch.LimitsOf(l)
	if isDevelopment(a) && !f.dev {
		limits = fetch.Limits{} // its credentials are known to everybody
	}
	if m := o.made.Load(); m != nil && m.limits == limits && m.most == l.EgressPerMonth {
		return m
	}
	m := &made{limits: limits, most: l.EgressPerMonth, Network: fetch.New(fetch.Options{
		Client: f.client, Limits: limits, Limiter: &o.limiter, Allowance: egress{tally, a.ID, l.EgressPerMonth}, Done: f.done,
	})}
	o.made.Store(m)
	return m
}

// egress is what may leave for an account in a month.
type egress struct {
	tally *usage.Tally
	id    account.ID
	most  int64
}

// Reserve implements fetch.Allowance.
func (e egress) Reserve(ctx context.Context, bytes int64) (giveBack func(), err error) {
	unsent, err := e.tally.Send(ctx, e.id, bytes, e.most)
	var over *usage.Exceeded
	if errors.As(err, &over) {
		return nil, value.Errorf("quota_exceeded", "%s", over.Error()).AtLimit(over.What, over.Most)
	}
	if err != nil {
		return nil, err
	}
	// Where the store is away, a little too much is counted.
	return func() { _ = unsent(context.WithoutCancel(ctx), bytes) }, nil
}
