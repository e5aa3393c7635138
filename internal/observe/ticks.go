package observe

import (
	"time"

	"ql/internal/schedule"
	"ql/internal/telemetry"
)

// Ticks returns what counts the ticks of schedules.
func Ticks(m *telemetry.Metrics) func(r schedule.Reason, count int64, late time.Duration) {
	return func(r schedule.Reason, count int64, _ time.Duration) {
		outcome := "refused"
		switch r {
		case "":
			outcome = "started"
		case schedule.ReasonOverlap, schedule.ReasonMissed:
			outcome = string(r)
		}
		m.CountTicks(outcome, count)
	}
}
