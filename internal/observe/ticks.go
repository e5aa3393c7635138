package observe

import "ql/internal/schedule"

// TickOutcome is how metrics call what became of a tick of a schedule.
func TickOutcome(r schedule.Reason) string {
	switch r {
	case "":
		return "started"
	case schedule.ReasonOverlap, schedule.ReasonMissed:
		return string(r)
	}
	return "refused"
}
