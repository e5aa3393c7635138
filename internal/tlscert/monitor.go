package tlscert

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Monitor counts and logs failures to renew certificates. A server whose renewals fail
// serves with the old certificate, so nobody would notice before it expires.
type Monitor struct {
	log   *slog.Logger
	clock func() time.Time
	// notAfter returns when the certificate expires that does so first; zero where none
	// is known.
	notAfter func() time.Time

	failures atomic.Uint64
	mu       sync.Mutex
	logged   string // the last failure that was logged
	loggedAt time.Time
	warnedAt time.Time // of the expiry
}

const (
	// logAgainAfter is after how long the same failure is logged again.
	logAgainAfter = time.Hour
	// expiresSoon is how long before its expiry a certificate should have been renewed:
	// certificates of 90 days are 30 days before.
	expiresSoon    = 14 * 24 * time.Hour
	warnAgainAfter = 24 * time.Hour
)

// failed counts a failure, and logs it where it is new.
func (m *Monitor) failed(err error) {
	m.failures.Add(1)
	text, now := err.Error(), m.clock()
	m.mu.Lock()
	news := text != m.logged || now.Sub(m.loggedAt) >= logAgainAfter
	if news {
		m.logged, m.loggedAt = text, now
	}
	m.mu.Unlock()
	if news {
		m.log.Error("a TLS certificate could not be renewed: the previous one is used until it expires", "error", err, "days_left", m.DaysLeft())
	}
}

// DaysLeft returns in how many days the certificate expires that does so first, below 0
// where it has expired; NaN where none is known.
func (m *Monitor) DaysLeft() float64 {
	expires := m.notAfter()
	if expires.IsZero() {
		return math.NaN()
	}
	return math.Floor(float64(expires.Sub(m.clock()))/float64(24*time.Hour)*100) / 100
}

// Remind logs, once a day, that a certificate expires soon.
func (m *Monitor) Remind(context.Context, time.Time) error {
	if m == nil {
		return nil
	}
	now, expires := m.clock(), m.notAfter()
	if expires.IsZero() || expires.Sub(now) > expiresSoon || now.Sub(m.warnedAt) < warnAgainAfter {
		return nil
	}
	m.warnedAt = now
	m.log.Error("a TLS certificate expires soon and was not renewed: clients refuse the service from then on", "expires", expires.UTC().Format(time.RFC3339), "days_left", m.DaysLeft())
	return nil
}

// Failures returns how many renewals have failed.
func (m *Monitor) Failures() uint64 { return m.failures.Load() }
