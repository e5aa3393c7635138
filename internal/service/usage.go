package service

import (
	"context"
	"time"

	"ql/internal/account/scope"
	"ql/internal/account/usage"
	"ql/internal/wire"
)

// UsageListing is what an account has used, day by day.
type UsageListing struct {
	Meta
	Days   []wire.UsageEntry
	Resets time.Time // when the month is over
}

// UsageByDay shows what an account has used on each of the last days. Those of this month come to what
// AccountLimits shows.
func (s *Service) UsageByDay(ctx context.Context, c Caller, p *Credentials) (UsageListing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{"usage", anyCredential, scope.Manage})
	l := UsageListing{Meta: Meta{Origin: owner.origin}, Resets: usage.MonthOf(s.o.Clock()).End()}
	if err != nil {
		return l, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	l.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, usage.RetentionDays); err != nil {
		return l, err
	}
	days, err := s.o.Usage.Days(ctx, owner.Account.ID)
	if err != nil {
		return l, err
	}
	// Milliseconds of a month are those of its sum: what is left over goes to the next day.
	var month usage.Month
	var ran time.Duration
	for _, d := range days {
		if m := d.Day.Month(); m != month {
			month, ran = m, 0
		}
		before := ran.Milliseconds()
		ran += d.Running
		l.Days = append(l.Days, wire.UsageEntry{Period: d.Day.String(), Calls: d.Calls, Running: ran.Milliseconds() - before, Egress: d.Egress})
	}
	return l, nil
}
