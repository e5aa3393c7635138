package replay

import (
	"context"
	"encoding/json"
	"errors"

	"ql/internal/account"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/worker"
	"ql/lang"
)

// Job is a finished job with what it is replayed from, as it is stored.
type Job struct {
	ID      job.ID
	Account account.ID
	Source  *job.Source
	Spec    []byte   // sealed
	Parts   [][]byte // of its history, sealed
}

// Check runs a job again from its history, and tells whether it does what it did.
func (j *Job) Check(ctx context.Context, s worker.Sealer) (Report, error) {
	if j.Source == nil || j.Spec == nil || len(j.Parts) == 0 {
		return Report{}, fault.New(fault.NotFound, "the job has no history: it is kept of jobs that got something from outside and were asynchronous, paused or failed, or asked for it, where the account's limit history_bytes is above 0")
	}
	plain, parts, err := worker.OpenHistory(s, j.Account, j.ID, j.Spec, j.Parts)
	if err != nil {
		return Report{}, err
	}
	var spec execution.Spec
	if err := json.Unmarshal(plain, &spec); err != nil {
		return Report{}, err
	}
	program, err := lang.Compile(j.Source.Text, lang.Options{Include: j.include})
	if err != nil {
		return Report{}, err
	}
	if program.Hash != j.Source.Hash {
		return Report{}, fault.New(fault.PreconditionFailed, "this version of ql makes another program of the script than the one that ran it: replay the job with that version")
	}
	collected, err := journal.ReadCollected(parts, max(spec.Limits.Memory, account.Unlimited.Limits().Memory))
	if err != nil {
		return Report{}, err
	}
	m := spec.Machine(program, func() {})
	defer m.Release()
	return Check(ctx, m, collected)
}

// include returns a file that the script included, as it was.
func (j *Job) include(path string) (string, error) {
	for _, f := range j.Source.Files {
		if f.Path == path {
			return f.Text, nil
		}
	}
	return "", errors.New("it is not kept with the job")
}
