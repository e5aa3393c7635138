package app

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/lang/value"
)

// quotaLimits are the limits that !QUOTA shows.
type quotaLimits struct {
	storage, calls, egress int64
	running                time.Duration
}

func quotaOf(l account.Limits) quotaLimits {
	return quotaLimits{l.StorageBytes, l.CallsPerMonth, l.EgressPerMonth, l.RunningPerMonth}
}

// quota is what !QUOTA holds. Times are milliseconds.
func (r *resources) quota(ctx context.Context, h *holding, l quotaLimits) (value.Value, error) {
	stored, err := h.storage.total(ctx)
	if err != nil {
		return value.Null, err
	}
	used, err := r.tally.Used(ctx, h.account)
	if err != nil {
		return value.Null, err
	}
	all := value.NewMap(nil, 4)
	for _, entry := range []struct {
		name        string
		used, limit int64
	}{
		{"storage", stored, l.storage},
		{usage.Calls, used.Calls, l.calls},
		{usage.Running, used.Running.Milliseconds(), l.running.Milliseconds()},
		{usage.Egress, used.Egress, l.egress},
	} {
		m := value.NewMap(nil, 2)
		m.SetText("used", value.Int(entry.used))
		m.SetText("limit", bound(entry.limit))
		all.SetText(entry.name, m.Value())
	}
	return all.Value(), nil
}

// bound is a limit as scripts see it: null for none.
func bound(limit int64) value.Value {
	if limit == 0 {
		return value.Null
	}
	return value.Int(limit)
}

// stored returns how many bytes an account keeps.
func (r *resources) stored(ctx context.Context, a account.Account, l account.Limits) (int64, error) {
	h := r.acquire(a.ID)
	defer r.release(h)
	h.storage.hold(l.StorageBytes, l.Databases)
	return h.storage.total(ctx)
}

// Quota is what an account has used, and may use: 0 is no limit.
type Quota struct {
	Plan   account.Plan
	Month  usage.Month
	Stored int64 // bytes
	Kept   int64 // bytes of records
	Used   usage.Used
	Limits account.Limits
}

// Quota returns what an account has used.
func (o *Operator) Quota(ctx context.Context, name string) (Quota, error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return Quota{}, err
	}
	limits := o.settings.Limits(a.LimitPlan())
	q := Quota{Plan: a.Plan, Month: usage.MonthOf(time.Now()), Limits: limits}
	if q.Used, err = o.store.Usage.Used(ctx, a.ID, q.Month); err != nil {
		return q, err
	}
	if q.Kept, err = o.store.Jobs.Kept(ctx, a.ID); err != nil {
		return q, err
	}
	r := &resources{data: o.data, usage: o.store.Files, held: map[account.ID]*holding{}}
	q.Stored, err = r.stored(ctx, a, limits)
	return q, errors.Join(err, r.close())
}
