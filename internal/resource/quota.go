package resource

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/lang/value"
)

// quotaLimits are the limits that !QUOTA shows.
type quotaLimits struct {
	storage, calls, egress int64
	running, machine       time.Duration
}

func quotaOf(l account.Limits) quotaLimits {
	return quotaLimits{l.StorageBytes, l.CallsPerMonth, l.EgressPerMonth, l.RunningPerMonth, l.MachinePerMonth}
}

// quota is what !QUOTA holds. Times are milliseconds.
func (p *Pool) quota(ctx context.Context, h *handle, l quotaLimits) (value.Value, error) {
	stored, err := h.storage.used(ctx)
	if err != nil {
		return value.Null, err
	}
	used, err := p.o.Tally.Used(ctx, h.account)
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
		{usage.Machine, used.Machine.Milliseconds(), l.machine.Milliseconds()},
	} {
		m := value.NewMap(nil, 2)
		m.SetText("used", value.Int(entry.used))
		m.SetText("limit", limitValue(entry.limit))
		all.SetText(entry.name, m.Value())
	}
	return all.Value(), nil
}

// limitValue is a limit as scripts see it: null for none.
func limitValue(limit int64) value.Value {
	if limit == 0 {
		return value.Null
	}
	return value.Int(limit)
}

// StoredBytes returns how many bytes an account has on the disk.
func (p *Pool) StoredBytes(ctx context.Context, a account.Account, l account.Limits) (int64, error) {
	h := p.acquire(a.ID)
	defer p.release(h)
	h.storage.setLimits(l.StorageBytes, l.Databases)
	return h.storage.used(ctx)
}
