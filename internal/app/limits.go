package app

import (
	"context"

	"ql/internal/account"
	"ql/internal/config"
)

// planLimits returns the limits of a plan under some settings; those of free for
// an unknown one, as a mistake never widens. A month protects those who share a
// node, and so do a bound on records and a plan without FETCH: one developer is
// bound by none of them.
func planLimits(s *config.Settings, plan account.Plan) account.Limits {
	if plan == account.OfDevelopment && s.Dev {
		// Nobody else is on the node, and what a developer tries would work.
		plan = account.Standard
	}
	l, ok := s.Plans[plan]
	if !ok {
		l = s.Plans[account.Free]
	}
	if !s.Dev {
		return l
	}
	l.CallsPerMonth, l.RunningPerMonth, l.EgressPerMonth, l.RecordsBytes = 0, 0, 0, 0
	if l.Fetches == 0 {
		from := s.Plans[account.Standard]
		l.Fetches, l.FetchesAtOnce, l.FetchTime, l.FetchBytes, l.FetchRatio = from.Fetches, from.FetchesAtOnce, from.FetchTime, from.FetchBytes, from.FetchRatio
	}
	return l
}

// mostListeners is how many wait for changes of jobs on a node at once, each counted
// for its account and for its network.
const mostListeners = 2 * 8192

// limits returns the limits of a plan.
func (a *App) limits(plan account.Plan) account.Limits { return planLimits(&a.settings, plan) }

// Limits returns the limits of an account.
func (o *Operator) Limits(ctx context.Context, name string) (account.Limits, error) {
	a, err := o.Accounts.Find(ctx, name)
	return o.limits(a.LimitPlan()), err
}

// limits returns the limits of a plan.
func (o *Operator) limits(plan account.Plan) account.Limits { return planLimits(&o.settings, plan) }
