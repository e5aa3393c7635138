package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/account/usage"
	"ql/internal/fault"
	"ql/internal/wire"
)

// quotaError gives a code to the error of a month that is used up.
func (s *Service) quotaError(err error) error {
	var e *usage.Exceeded
	if !errors.As(err, &e) {
		return err
	}
	f := fault.Retryable(fault.QuotaExceeded, max(e.Until.Sub(s.o.Clock()), time.Second), "%s", e.Error())
	f.Limit, f.Value = e.What, e.Most
	return f
}

// countEgress counts what was sent for an account. Its owner's files are sent even when
// the month's egress is used up.
func (s *Service) countEgress(ctx context.Context, a account.ID, bytes int64) {
	if err := s.o.Usage.Sent(context.WithoutCancel(ctx), a, bytes); err != nil {
		s.o.Log.Error("what was sent for an account was not counted", "account", a, "bytes", bytes, "error", err)
	}
}

// LimitListing is what an account may use, and what it has used.
type LimitListing struct {
	Meta
	Plan   string
	Limits []wire.AccountLimit
}

// AccountLimits shows an account's limits. It counts as no call, and so is answered
// to an account that has used up all of them.
func (s *Service) AccountLimits(ctx context.Context, c Caller, p *Credentials) (LimitListing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{"limits", anyCredential, scope.Manage})
	a := LimitListing{Plan: string(owner.Account.Plan), Meta: Meta{Origin: owner.origin}}
	if err != nil {
		return a, err
	}
	l := owner.Account.Limits(s.o.Limits)
	used, err := s.o.Usage.Used(ctx, owner.Account.ID)
	if err != nil {
		return a, err
	}
	var stored *int64
	if s.o.StorageUsed != nil {
		n, err := s.o.StorageUsed(ctx, owner.Account, l)
		if err != nil {
			return a, err
		}
		stored = &n
	}
	var kept *int64
	if s.o.RecordsUsed != nil {
		n, err := s.o.RecordsUsed(ctx, owner.Account.ID)
		if err != nil {
			return a, err
		}
		kept = &n
	}
	scripts, scriptBytes, err := s.o.Scripts.ScriptUsage(ctx, owner.Account.ID)
	if err != nil {
		return a, err
	}
	a.Limits = listLimits(l, s.o.Unlimited, used, stored, kept)
	a.Limits = append(a.Limits, publishedLimits(l, int64(scripts), scriptBytes)...)
	return a, nil
}

// The names of the limits that turn calls away. A rate is a number of calls in a
// minute.
const (
	limitRate       = "rate"
	limitOriginRate = "origin_rate"
	limitSiteRate   = "site_rate"
	limitConcurrent = "concurrent"
	limitListeners  = "listeners"
)

// listLimits are the limits that callers may want to know, what is counted
// first. Times are milliseconds.
func listLimits(l account.Limits, lifted bool, used usage.Used, stored, kept *int64) []wire.AccountLimit {
	running, machine := used.Running.Milliseconds(), used.Machine.Milliseconds()
	rate, originRate := orNoLimit(int64(l.Rate)), orNoLimit(int64(l.OriginRate))
	concurrent, queued := int64(l.Concurrent), int64(l.Queued)
	standing, standingBytes := orNoLimit(int64(l.Suspended)), orNoLimit(l.SuspendedBytes)
	listeners, siteRate := orNoLimit(int64(l.Listeners)), orNoLimit(int64(l.SiteRate))
	if lifted {
		rate, originRate, concurrent, queued, standing, standingBytes = noLimit, noLimit, noLimit, noLimit, noLimit, noLimit
		listeners, siteRate = noLimit, noLimit
	}
	return []wire.AccountLimit{
		{Name: "storage", Value: orNoLimit(l.StorageBytes), Used: stored},
		{Name: "records", Value: orNoLimit(l.RecordsBytes), Used: kept},
		{Name: usage.Calls, Value: orNoLimit(l.CallsPerMonth), Used: &used.Calls},
		{Name: usage.Running, Value: orNoLimit(l.RunningPerMonth.Milliseconds()), Used: &running},
		{Name: usage.Egress, Value: orNoLimit(l.EgressPerMonth), Used: &used.Egress},
		{Name: usage.Machine, Value: orNoLimit(l.MachinePerMonth.Milliseconds()), Used: &machine},
		{Name: limitRate, Value: rate},
		{Name: limitOriginRate, Value: originRate},
		{Name: limitSiteRate, Value: siteRate},
		{Name: limitConcurrent, Value: concurrent},
		{Name: "queued", Value: queued},
		{Name: limitListeners, Value: listeners},
		{Name: "standing", Value: standing},
		{Name: "standing_bytes", Value: standingBytes},
		{Name: "named_keys", Value: int64(l.NamedKeys)},
		{Name: "domains", Value: int64(l.Domains)},
		{Name: "secrets", Value: int64(l.Secrets)},
		{Name: "machines", Value: int64(l.Machines)},
		{Name: "schedules", Value: int64(l.Schedules)},
		{Name: "schedule_every", Value: shortestEvery(l, lifted).Milliseconds()},
		{Name: "run_time", Value: l.RunTime.Milliseconds()},
		{Name: "runs_at_once", Value: int64(l.RunsAtOnce)},
		{Name: "mails_per_day", Value: int64(l.MailsPerDay)},
		{Name: "mails_per_minute", Value: orNoLimit(int64(l.MailsPerMinute))},
		{Name: "mail_bytes", Value: l.MailBytes},
		{Name: "sessions", Value: int64(l.Sessions)},
		{Name: "session_bytes", Value: int64(l.SessionBytes)},
		{Name: "session_keys", Value: int64(l.SessionKeys)},
		{Name: "script_bytes", Value: int64(l.ScriptBytes)},
		{Name: "body_bytes", Value: int64(l.BodyBytes)},
		{Name: "site_body_bytes", Value: orNoLimit(l.SiteBodyBytes)},
		{Name: "sync_time", Value: l.SyncTime.Milliseconds()},
		{Name: "async_time", Value: l.AsyncTime.Milliseconds()},
		{Name: "pause", Value: l.Pause.Milliseconds()},
		{Name: "sync_fuel", Value: l.SyncMachine().Fuel},
		{Name: "async_fuel", Value: l.AsyncMachine().Fuel},
		{Name: "sync_output", Value: int64(l.SyncOutput)},
		{Name: "async_output", Value: int64(l.AsyncOutput)},
		{Name: "memory", Value: l.Memory},
		{Name: "file_bytes", Value: orNoLimit(l.FileBytes)},
		{Name: "files", Value: orNoLimit(int64(l.Files))},
		{Name: "databases", Value: orNoLimit(int64(l.Databases))},
		{Name: "fetches", Value: int64(l.Fetches)},
	}
}

// publishedLimits are those of published scripts.
func publishedLimits(l account.Limits, scripts, bytes int64) []wire.AccountLimit {
	return []wire.AccountLimit{
		{Name: "published", Value: orNoLimit(int64(l.Published)), Used: &scripts},
		{Name: "published_bytes", Value: orNoLimit(l.PublishedBytes), Used: &bytes},
	}
}

// noLimit is none, as wire.AccountLimit has it.
const noLimit = -1

// orNoLimit is a limit of which 0 is none.
func orNoLimit(n int64) int64 {
	if n == 0 {
		return noLimit
	}
	return n
}
