package worker

import (
	"encoding/json"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/lang/vm"
)

// newRun makes a run of the attempt's machine, whose results are collected for the job's history.
func (a *attempt) newRun(j engine.Journal) *engine.Run {
	if most := a.limits.HistoryBytes; a.history == nil && most > 0 && len(a.program.Sites) > 0 {
		a.history = &journal.Collector{}
		a.history.Init(a.w.holder(a.lease), most, int(a.historyBytes))
	}
	if a.history != nil {
		a.x.Observe = a.history.Observe
	}
	a.x.MachineOutput, a.x.Job, a.x.EndedCall = a.machineOutput, a.job, nil
	if j != nil {
		a.x.EndedCall = a.journal.AppendCall
	}
	return a.x.Run(a.machine, a.engineState, j)
}

// releaseHistory forgets what was collected: it is collected again by who replays the journal.
func (a *attempt) releaseHistory() {
	if a.history != nil {
		a.history.Release()
		a.history = nil
	}
}

// historyPart is what was collected since the last snapshot, sealed. What cannot be sealed is
// missing in the history, which is no reason for a job to fail.
func (a *attempt) historyPart() (p job.HistoryPart) {
	if a.history == nil {
		return p
	}
	step, part := a.history.Part(nil)
	if part == nil {
		return p
	}
	sealed, err := a.seal(sealHistory, part)
	if err != nil {
		a.w.o.Log.Error("a part of a job's history is not kept", "job", a.lease.ID, "error", err)
		return p
	}
	return job.HistoryPart{Step: step, Entries: sealed}
}

// lastHistory is the last part of the history of a job that has ended, with what it was run with
// where that is not stored.
func (a *attempt) lastHistory() job.History {
	if a.history == nil || a.machine == nil {
		return job.History{}
	}
	var spec *execution.Spec
	if a.lease.Seq == 0 {
		spec = &a.spec
	}
	h, err := a.w.SealHistory(a.lease.Account, a.lease.ID, spec, a.history, a.machine)
	if err != nil {
		a.w.o.Log.Error("the history of a job is not kept", "job", a.lease.ID, "error", err)
	}
	return h
}

// SealHistory seals the history of a run that has ended, with what it was run with; nil for what is
// stored already.
func (w *Worker) SealHistory(a account.ID, id job.ID, spec *execution.Spec, c *journal.Collector, ended *vm.Machine) (h job.History, err error) {
	_, part := c.Part(ended)
	if part == nil {
		return h, nil
	}
	if spec != nil {
		plain, err := json.Marshal(spec)
		if err != nil {
			return h, err
		}
		if h.Spec, err = w.o.Sealer.Seal(a, sealName(sealTask, id), plain); err != nil {
			return job.History{}, err
		}
	}
	if h.Part, err = w.o.Sealer.Seal(a, sealName(sealHistory, id), part); err != nil {
		return job.History{}, err
	}
	return h, nil
}

// OpenHistory opens what SealHistory and the snapshots of a job have sealed.
func OpenHistory(s Sealer, a account.ID, id job.ID, spec []byte, parts [][]byte) (plain []byte, opened [][]byte, err error) {
	if plain, err = s.Open(a, sealName(sealTask, id), spec); err != nil {
		return nil, nil, err
	}
	for _, sealed := range parts {
		part, err := s.Open(a, sealName(sealHistory, id), sealed)
		if err != nil {
			return nil, nil, err
		}
		opened = append(opened, part)
	}
	return plain, opened, nil
}
