package app

import (
	"ql/internal/admit"
	"ql/internal/password"
	"ql/internal/telemetry"
)

// registerMetrics shows what the parts count as metrics.
func (a *App) registerMetrics() error {
	p := &a.parts
	const (
		admission     = "ql_admission_total"
		admissionHelp = "Calls that asked to run a script, by what became of them; waited counts beside the others."
		programs      = "ql_programs_total"
		programsHelp  = "Scripts to be run, by whether they were found compiled."
	)
	gate := func(read func(admit.GateStats) uint64) func() float64 {
		return func() float64 { return float64(read(p.gate.Stats())) }
	}
	outcome := func(name string, read func(admit.GateStats) uint64) telemetry.Metric {
		return telemetry.Metric{Name: admission, Help: admissionHelp, Label: "outcome", LabelValue: name, Counter: true, Read: gate(read)}
	}
	hashes := func(name, help, is string, gate **password.Gate, counter bool, read func(password.GateStats) float64) telemetry.Metric {
		return telemetry.Metric{Name: name, Help: help, Label: "for", LabelValue: is, Counter: counter, Read: func() float64 { return read((*gate).Stats()) }}
	}
	for is, gate := range map[string]**password.Gate{"log-ins": &p.logins, "scripts": &p.hashing} {
		if err := p.metrics.Register(
			hashes("ql_password_hashes_running", "Passwords that are hashed now.", is, gate, false,
				func(s password.GateStats) float64 { return float64(s.Running) }),
			hashes("ql_password_hashes_waiting", "Passwords that wait for their turn to be hashed.", is, gate, false,
				func(s password.GateStats) float64 { return float64(s.Waiting) }),
			hashes("ql_password_hashes_total", "Passwords that had a turn to be hashed.", is, gate, true,
				func(s password.GateStats) float64 { return float64(s.Admitted) }),
			hashes("ql_password_hashes_refused_total", "Passwords that were not hashed, since too many others were waiting.", is, gate, true,
				func(s password.GateStats) float64 { return float64(s.Refused) }),
		); err != nil {
			return err
		}
	}
	if p.certificates != nil {
		if err := p.metrics.Register(
			telemetry.Metric{Name: "ql_tls_certificate_days_left", Help: "Days until the first TLS certificate expires; NaN where there is none yet.",
				Read: p.certificates.DaysLeft},
			telemetry.Metric{Name: "ql_tls_renewal_failures_total", Help: "Failures to renew, read or obtain a TLS certificate.", Counter: true,
				Read: func() float64 { return float64(p.certificates.Failures()) }},
		); err != nil {
			return err
		}
	}
	return p.metrics.Register(
		outcome("admitted", func(s admit.GateStats) uint64 { return s.Admitted }),
		outcome("waited", func(s admit.GateStats) uint64 { return s.Waited }),
		outcome("account_busy", func(s admit.GateStats) uint64 { return s.Busy }),
		outcome("overloaded", func(s admit.GateStats) uint64 { return s.Overloaded }),
		outcome("cancelled", func(s admit.GateStats) uint64 { return s.Cancelled }),
		telemetry.Metric{Name: admission, Help: admissionHelp, Label: "outcome", LabelValue: "rate_limited", Counter: true,
			Read: func() float64 { return float64(p.limiter.Stats().Refused) }},
		telemetry.Metric{Name: "ql_scripts_running", Help: "Scripts that run now.",
			Read: func() float64 { return float64(p.gate.Stats().Inside) }},
		telemetry.Metric{Name: "ql_scripts_computing", Help: "Of those, the ones that compute; the others wait for something, or for their turn.",
			Read: func() float64 { return float64(p.gate.Stats().Running) }},
		telemetry.Metric{Name: "ql_scripts_waiting", Help: "Calls that wait for a slot to run.",
			Read: func() float64 { return float64(p.gate.Stats().Waiting) }},
		telemetry.Metric{Name: "ql_scripts_memory_bytes", Help: "Memory granted to scripts that run now.",
			Read: func() float64 { return float64(p.gate.Stats().Memory) }},
		telemetry.Metric{Name: "ql_scripts_turns_after_leave_total", Help: "Turns to compute asked for by scripts that had ended; above 0 there is a bug.", Counter: true,
			Read: func() float64 { return float64(p.gate.Stats().UsedAfterRelease) }},

		telemetry.Metric{Name: "ql_call_memory_bytes", Help: "Memory reserved for what is held for callers besides running scripts: bodies, answers, states that are stored or restored.",
			Read: func() float64 { return float64(p.ledger.Stats().Held) }},
		telemetry.Metric{Name: "ql_call_memory_waiting", Help: "Calls that wait for such memory.",
			Read: func() float64 { return float64(p.ledger.Stats().Waiting) }},
		telemetry.Metric{Name: "ql_call_memory_refused_total", Help: "Calls that were refused for want of such memory.", Counter: true,
			Read: func() float64 { return float64(p.ledger.Stats().Refused) }},

		telemetry.Metric{Name: programs, Help: programsHelp, Label: "cache", LabelValue: "hit", Counter: true,
			Read: func() float64 { return float64(p.programs.Stats().Hits) }},
		telemetry.Metric{Name: programs, Help: programsHelp, Label: "cache", LabelValue: "miss", Counter: true,
			Read: func() float64 { return float64(p.programs.Stats().Misses) }},

		telemetry.Metric{Name: "ql_store_writes_total", Help: "Changes committed to the store; by ql_store_commits_total this is how many share a commit.", Counter: true,
			Read: func() float64 { return float64(p.store.Stats().Writes) }},
		telemetry.Metric{Name: "ql_store_commits_total", Help: "Commits of the store.", Counter: true,
			Read: func() float64 { return float64(p.store.Stats().Commits) }},
		telemetry.Metric{Name: "ql_store_waiting", Help: "Changes that wait for their commit.",
			Read: func() float64 { return float64(p.store.Stats().Waiting) }},
	)
}
