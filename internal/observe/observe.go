// Package observe shows what the parts of a service count as metrics, and counts what none of
// them keeps count of: jobs and webhooks in the store, what is free of the disk. When that is
// counted is said by its caller, and how metrics are shown by internal/telemetry.
package observe

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"ql/internal/admit"
	"ql/internal/password"
	"ql/internal/platform"
	"ql/internal/record"
	"ql/internal/schedule"
	"ql/internal/store"
	"ql/internal/tlscert"
	"ql/internal/webhook"
	"ql/internal/worker"
	"ql/lang"
)

// Parts are what is observed. All are needed but Certificates.
type Parts struct {
	Gate         *admit.Gate
	Limiter      *admit.Limiter
	Ledger       *admit.Ledger
	Logins       *password.Gate // hashes of those who log in
	Hashing      *password.Gate // hashes that scripts make
	Certificates *tlscert.Monitor
	Programs     *lang.Cache
	Store        store.Store
	Recorder     *record.Recorder
	Worker       *worker.Worker
	Schedules    *schedule.Runner
	LinesLeftOut func() uint64 // of the log
	Data         string        // the folder whose disk is looked at
	// RequiredDisk is how many bytes of a disk must be free for the service to be ready.
	RequiredDisk func(total uint64) uint64
}

// Observer has what was counted last. It is safe for concurrent use.
type Observer struct {
	p Parts

	accepted, running, paused, waiting sample
	oldestAccepted, dueLag             sample
	webhooks, webhookLag               sample
	mails, mailLag                     sample
	diskFree, diskSize, diskRequired   sample
	members, versions, behind          sample
}

// New returns an observer that has counted nothing yet.
func New(p Parts) *Observer { return &Observer{p: p} }

// mostCounted bounds what is looked at to count jobs in a state, or webhooks: metrics show
// so many for more. To count so many of each takes 0.1 to 0.3 seconds of one core.
const mostCounted = 100_000

// sample is a number that was counted last.
type sample struct{ bits atomic.Uint64 }

func (s *sample) set(v float64) { s.bits.Store(math.Float64bits(v)) }

func (s *sample) value() float64 { return math.Float64frombits(s.bits.Load()) }

// Observe counts what metrics show and nobody keeps count of. It is called by the clock, so
// that whoever reads metrics makes no work by it. What could not be counted is no number: an
// old one would be taken for true.
func (o *Observer) Observe(ctx context.Context, now time.Time) error {
	return errors.Join(o.countJobs(ctx, now), o.countWebhooks(ctx, now), o.countMails(ctx, now), o.countMembers(ctx), o.measureDisk())
}

func (o *Observer) countJobs(ctx context.Context, now time.Time) error {
	c, err := o.p.Store.Queue.Count(ctx, now, mostCounted)
	setAll(err, map[*sample]float64{
		&o.accepted: float64(c.Accepted), &o.running: float64(c.Running), &o.paused: float64(c.Paused), &o.waiting: float64(c.Waiting),
		&o.oldestAccepted: secondsSince(c.OldestAccepted, now), &o.dueLag: secondsSince(c.OldestDue, now),
	})
	return err
}

func (o *Observer) countMails(ctx context.Context, now time.Time) error {
	c, err := o.p.Store.Mails.Count(ctx, now, mostCounted)
	setAll(err, map[*sample]float64{&o.mails: float64(c.Pending), &o.mailLag: secondsSince(c.OldestDue, now)})
	return err
}

func (o *Observer) countMembers(ctx context.Context) error {
	list, err := o.p.Store.Members.List(ctx)
	last := int64(0)
	if err == nil {
		last, err = o.p.Store.Members.LastChange(ctx)
	}
	versions, behind := map[string]bool{}, int64(0)
	for _, one := range list {
		versions[one.Version] = true
		behind = max(behind, last-one.Seen)
	}
	setAll(err, map[*sample]float64{&o.members: float64(len(list)), &o.versions: float64(len(versions)), &o.behind: float64(behind)})
	return err
}

func (o *Observer) countWebhooks(ctx context.Context, now time.Time) error {
	c, err := o.p.Store.Deliveries.Count(ctx, now, mostCounted)
	setAll(err, map[*sample]float64{&o.webhooks: float64(c.Pending), &o.webhookLag: secondsSince(c.OldestDue, now)})
	return err
}

func (o *Observer) measureDisk() error {
	free, total, err := platform.DiskSpace(o.p.Data)
	setAll(err, map[*sample]float64{&o.diskFree: float64(free), &o.diskSize: float64(total), &o.diskRequired: float64(o.p.RequiredDisk(total))})
	return err
}

func setAll(err error, values map[*sample]float64) {
	for s, v := range values {
		if err != nil {
			v = math.NaN()
		}
		s.set(v)
	}
}

// secondsSince is how long ago a moment was; 0 where there was none.
func secondsSince(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at).Seconds(), 0)
}

// WebhookOutcome says what became of a delivery by an attempt.
func WebhookOutcome(s webhook.State) string {
	if s == webhook.Pending {
		return "retried"
	}
	return string(s)
}
