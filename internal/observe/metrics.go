package observe

import (
	"errors"

	"ql/internal/admit"
	"ql/internal/password"
	"ql/internal/telemetry"
	"ql/internal/upkeep"
	"ql/internal/worker"
)

// Register shows all as metrics. It is called once, with the upkeep that has Observe called.
func (o *Observer) Register(m *telemetry.Metrics, u *upkeep.Upkeep) error {
	return errors.Join(o.registerHashes(m), o.registerCertificates(m), m.Register(o.ofNode()...), m.Register(o.ofJobs()...), m.Register(ofUpkeep(u)...))
}

// ofNode are the metrics of what a node does for its callers.
func (o *Observer) ofNode() []telemetry.Metric {
	p := &o.p
	const (
		admission     = "ql_admission_total"
		admissionHelp = "Calls that asked to run a script, by what became of them; waited counts beside the others."
		programs      = "ql_programs_total"
		draws         = "ql_rate_draws_total"
		drawsHelp     = "Times that calls were drawn in advance from a rate of all nodes. While that fails, each node counts for itself."
		programsHelp  = "Scripts to be run, by whether they were found compiled."
	)
	gate := func(read func(admit.GateStats) uint64) func() float64 {
		return func() float64 { return float64(read(p.Gate.Stats())) }
	}
	outcome := func(name string, read func(admit.GateStats) uint64) telemetry.Metric {
		return telemetry.Metric{Name: admission, Help: admissionHelp, Label: "outcome", LabelValue: name, Counter: true, Read: gate(read)}
	}
	return []telemetry.Metric{
		outcome("admitted", func(s admit.GateStats) uint64 { return s.Admitted }),
		outcome("waited", func(s admit.GateStats) uint64 { return s.Waited }),
		outcome("account_busy", func(s admit.GateStats) uint64 { return s.Busy }),
		outcome("overloaded", func(s admit.GateStats) uint64 { return s.Overloaded }),
		outcome("cancelled", func(s admit.GateStats) uint64 { return s.Cancelled }),
		{Name: admission, Help: admissionHelp, Label: "outcome", LabelValue: "rate_limited", Counter: true,
			Read: func() float64 { return float64(p.Limiter.Stats().Refused) }},
		{Name: draws, Help: drawsHelp, Label: "outcome", LabelValue: "drawn", Counter: true,
			Read: func() float64 { s := p.Limiter.Stats(); return float64(s.Draws - s.DrawFailures) }},
		{Name: draws, Help: drawsHelp, Label: "outcome", LabelValue: "failed", Counter: true,
			Read: func() float64 { return float64(p.Limiter.Stats().DrawFailures) }},
		{Name: "ql_scripts_running", Help: "Scripts that run now.",
			Read: func() float64 { return float64(p.Gate.Stats().Inside) }},
		{Name: "ql_scripts_computing", Help: "Of those, the ones that compute; the others wait for something, or for their turn.",
			Read: func() float64 { return float64(p.Gate.Stats().Running) }},
		{Name: "ql_scripts_waiting", Help: "Calls that wait for a slot to run.",
			Read: func() float64 { return float64(p.Gate.Stats().Waiting) }},
		{Name: "ql_scripts_memory_bytes", Help: "Memory granted to scripts that run now.",
			Read: func() float64 { return float64(p.Gate.Stats().Memory) }},
		{Name: "ql_scripts_turns_after_leave_total", Help: "Turns to compute asked for by scripts that had ended; above 0 there is a bug.", Counter: true,
			Read: func() float64 { return float64(p.Gate.Stats().UsedAfterRelease) }},

		{Name: "ql_call_memory_bytes", Help: "Memory reserved for what is held for callers besides running scripts: bodies, answers, states that are stored or restored.",
			Read: func() float64 { return float64(p.Ledger.Stats().Held) }},
		{Name: "ql_call_memory_waiting", Help: "Calls that wait for such memory.",
			Read: func() float64 { return float64(p.Ledger.Stats().Waiting) }},
		{Name: "ql_call_memory_refused_total", Help: "Calls that were refused for want of such memory.", Counter: true,
			Read: func() float64 { return float64(p.Ledger.Stats().Refused) }},

		{Name: programs, Help: programsHelp, Label: "cache", LabelValue: "hit", Counter: true,
			Read: func() float64 { return float64(p.Programs.Stats().Hits) }},
		{Name: programs, Help: programsHelp, Label: "cache", LabelValue: "miss", Counter: true,
			Read: func() float64 { return float64(p.Programs.Stats().Misses) }},

		{Name: "ql_store_writes_total", Help: "Changes committed to the store; by ql_store_commits_total this is how many share a commit.", Counter: true,
			Read: func() float64 { return float64(p.Store.Stats().Writes) }},
		{Name: "ql_store_commits_total", Help: "Commits of the store.", Counter: true,
			Read: func() float64 { return float64(p.Store.Stats().Commits) }},
		{Name: "ql_store_waiting", Help: "Changes that wait for their commit.",
			Read: func() float64 { return float64(p.Store.Stats().Waiting) }},
		{Name: "ql_store_failing", Help: "1 where the last change could not be stored, 0 otherwise.",
			Read: func() float64 { return oneIf(p.Store.Stats().Failing) }},
		{Name: "ql_log_lines_left_out_total", Help: "Lines that were not logged, since there were too many of their kind.", Counter: true,
			Read: func() float64 { return float64(p.LinesLeftOut()) }},
	}
}

// registerHashes shows who hashes passwords.
func (o *Observer) registerHashes(m *telemetry.Metrics) error {
	var errs []error
	for is, gate := range map[string]*password.Gate{"log-ins": o.p.Logins, "scripts": o.p.Hashing} {
		metric := func(name, help string, counter bool, read func(password.GateStats) float64) telemetry.Metric {
			return telemetry.Metric{Name: name, Help: help, Label: "for", LabelValue: is, Counter: counter, Read: func() float64 { return read(gate.Stats()) }}
		}
		errs = append(errs, m.Register(
			metric("ql_password_hashes_running", "Passwords that are hashed now.", false,
				func(s password.GateStats) float64 { return float64(s.Running) }),
			metric("ql_password_hashes_waiting", "Passwords that wait for their turn to be hashed.", false,
				func(s password.GateStats) float64 { return float64(s.Waiting) }),
			metric("ql_password_hashes_total", "Passwords that had a turn to be hashed.", true,
				func(s password.GateStats) float64 { return float64(s.Admitted) }),
			metric("ql_password_hashes_refused_total", "Passwords that were not hashed, since too many others were waiting.", true,
				func(s password.GateStats) float64 { return float64(s.Refused) }),
		))
	}
	return errors.Join(errs...)
}

// registerCertificates shows how long those of TLS are valid, where there are any.
func (o *Observer) registerCertificates(m *telemetry.Metrics) error {
	c := o.p.Certificates
	if c == nil {
		return nil
	}
	return m.Register(
		telemetry.Metric{Name: "ql_tls_certificate_days_left", Help: "Days until the first TLS certificate expires; NaN where there is none yet.", Read: c.DaysLeft},
		telemetry.Metric{Name: "ql_tls_renewal_failures_total", Help: "Failures to renew, read or obtain a TLS certificate.", Counter: true,
			Read: func() float64 { return float64(c.Failures()) }},
	)
}

// ofJobs are the metrics of jobs and of what they leave behind. What has to be looked for in the
// store or on the disk is looked for by Observe.
func (o *Observer) ofJobs() []telemetry.Metric {
	p := &o.p
	const (
		jobs         = "ql_jobs"
		jobsHelp     = "Jobs that are not finished, by state."
		attempts     = "ql_job_attempts_total"
		attemptsHelp = "Attempts at jobs that are over, by how: the job's end was stored, it was suspended, or another attempt continues."
	)
	state := func(name string, read *sample) telemetry.Metric {
		return telemetry.Metric{Name: jobs, Help: jobsHelp, Label: "state", LabelValue: name, Read: read.value}
	}
	outcome := func(name string, read func(worker.Stats) uint64) telemetry.Metric {
		return telemetry.Metric{Name: attempts, Help: attemptsHelp, Label: "outcome", LabelValue: name, Counter: true,
			Read: func() float64 { return float64(read(p.Worker.Stats())) }}
	}
	return []telemetry.Metric{
		state("accepted", &o.accepted),
		state("running", &o.running),
		state("paused", &o.paused),
		state("waiting", &o.waiting),
		{Name: "ql_jobs_oldest_accepted_seconds", Help: "How long the job has waited that has waited longest to begin; 0 where none does.", Read: o.oldestAccepted.value},
		{Name: "ql_jobs_due_lag_seconds", Help: "How long the job is overdue that is due longest and not claimed; 0 where none is.", Read: o.dueLag.value},
		{Name: "ql_jobs_quarantined_accounts", Help: "Accounts that have jobs which may have ended the process; they run one at a time.",
			Read: func() float64 { return float64(p.Worker.Stats().Quarantined) }},
		outcome("finished", func(s worker.Stats) uint64 { return s.Finished }),
		outcome("suspended", func(s worker.Stats) uint64 { return s.Suspended }),
		outcome("released", func(s worker.Stats) uint64 { return s.Released }),
		{Name: "ql_job_crashes_total", Help: "Jobs that were taken up after attempts that ended with their process.", Counter: true,
			Read: func() float64 { return float64(p.Worker.Stats().Crashes) }},

		{Name: "ql_members", Help: "Nodes of the service that are members.", Read: o.members.value},
		{Name: "ql_members_versions", Help: "How many versions of the program they run.", Read: o.versions.value},
		{Name: "ql_members_changes_behind", Help: "How many changes of accounts the member has not seen that is furthest behind.", Read: o.behind.value},
		{Name: "ql_member_valid", Help: "1 where this node may answer from memory and run jobs, 0 where its membership was not renewed in time.",
			Read: func() float64 { return oneIf(p.Worker.Stats().Valid) }},
		{Name: "ql_members_buried_total", Help: "Nodes that this one took for dead, and whose jobs were taken over.", Counter: true,
			Read: func() float64 { return float64(p.Worker.Stats().Buried) }},
		{Name: "ql_member_lost_total", Help: "How often this node was taken for dead by others, and joined again.", Counter: true,
			Read: func() float64 { return float64(p.Worker.Stats().Lost) }},

		{Name: "ql_schedule_lag_seconds", Help: "How late the tick of a schedule is that is due longest and not settled; 0 where none is.",
			Read: func() float64 { return p.Schedules.Lag().Seconds() }},

		{Name: "ql_mails_waiting", Help: "Mails that are not sent and not given up.", Read: o.mails.value},
		{Name: "ql_mails_due_lag_seconds", Help: "How long the mail is overdue that is due longest; 0 where none is.", Read: o.mailLag.value},
		{Name: "ql_webhooks_waiting", Help: "Webhooks that are not delivered and not given up.", Read: o.webhooks.value},
		{Name: "ql_webhooks_due_lag_seconds", Help: "How long the webhook is overdue that is due longest; 0 where none is.", Read: o.webhookLag.value},

		{Name: "ql_records_waiting", Help: "Records of ended jobs that are not stored yet.",
			Read: func() float64 { return float64(p.Recorder.Stats().Pending) }},
		{Name: "ql_intake_used_bytes", Help: "What the intake holds of records that are not stored yet.",
			Read: func() float64 { return float64(p.Store.Stats().IntakeUsed) }},
		{Name: "ql_intake_size_bytes", Help: "How much the intake can hold; 0 where the disk had no room for it.",
			Read: func() float64 { return float64(p.Store.Stats().IntakeSize) }},
		{Name: "ql_intake_failed", Help: "1 where the intake failed and is used no more until the next start, 0 otherwise.",
			Read: func() float64 { return oneIf(p.Recorder.Stats().LogFailed) }},

		{Name: "ql_disk_free_bytes", Help: "What is free of the disk that has the data folder.", Read: o.diskFree.value},
		{Name: "ql_disk_size_bytes", Help: "How large that disk is.", Read: o.diskSize.value},
		{Name: "ql_disk_required_bytes", Help: "Where less is free, the service is not ready.", Read: o.diskRequired.value},
	}
}

// ofUpkeep are the metrics of the upkeep.
func ofUpkeep(u *upkeep.Upkeep) []telemetry.Metric {
	return []telemetry.Metric{
		{Name: "ql_upkeep_success_timestamp_seconds", Help: "When the hourly upkeep last succeeded; at first when the process began.",
			Read: func() float64 { return float64(u.Stats().Succeeded.Unix()) }},
		{Name: "ql_upkeep_failures_total", Help: "Runs of the hourly upkeep that failed.", Counter: true,
			Read: func() float64 { return float64(u.Stats().Failures) }},
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
