package cli

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/operator"
)

// jobCommand is ql job. Its commands work on the data folder, while a server
// runs or not, and most of them on a service elsewhere.
type jobCommand struct {
	remoteSettings

	List   jobList   `cmd:"" help:"List an account's jobs, the newest first."`
	Show   jobShow   `cmd:"" help:"Show a job."`
	Cancel jobCancel `cmd:"" help:"Stop a job."`
	Replay jobReplay `cmd:"" help:"Run a finished job again from its history, and compare."`
}

func newJobCommand() jobCommand {
	return jobCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// jobJSON is a job in a listing.
type jobJSON struct {
	JobID      string     `json:"job_id"`
	Ref        int64      `json:"ref,omitempty"`
	Name       string     `json:"name,omitempty"`
	Status     string     `json:"status"`
	ErrorCode  string     `json:"error,omitempty"` // in the record of one job that is all of it
	Mode       string     `json:"mode"`
	Convention string     `json:"convention"`
	By         string     `json:"by"`
	Program    string     `json:"program,omitempty"`
	Created    time.Time  `json:"created_at"`
	Finished   *time.Time `json:"finished_at,omitempty"`
	Duration   *int64     `json:"duration_ms,omitempty"`
	Steps      int64      `json:"steps"`
}

func newJobJSON(s job.Listed) jobJSON {
	j := jobJSON{
		JobID: s.ID.String(), Ref: s.Ref, Name: s.Name, Status: string(s.State), ErrorCode: s.ErrorCode, Mode: string(s.Mode), Convention: string(s.Convention),
		By: string(s.Credential), Program: s.ProgramName, Created: s.Created, Steps: s.Steps,
	}
	if !s.Finished.IsZero() {
		ms := s.Ran.Round(time.Millisecond).Milliseconds()
		j.Finished, j.Duration = &s.Finished, &ms
	}
	return j
}

type jobList struct {
	who
	Status string `placeholder:"STATE" help:"Only those in a state, such as failed."`
	Limit  int    `default:"50" placeholder:"N" help:"How many at most (${default})."`
	Before string `placeholder:"ID" help:"Those before a job, to go on from the last one listed."`
}

// Run implements the command.
func (k *jobList) Run(c *console, line *commands) error {
	q := job.Query{State: job.State(k.Status), Limit: k.Limit}
	if k.Status != "" && !q.State.Valid() {
		return usage("--status: %q is no state of a job: %s fits", k.Status, job.StatesText)
	}
	if k.Limit < 1 {
		return usage("--limit: %d is no number from 1 on", k.Limit)
	}
	if k.Before != "" {
		var ok bool
		if q.Before, ok = job.ParseID(k.Before); !ok {
			return usage("--before: %q is no id of a job", k.Before)
		}
	}
	if line.Job.Server != "" {
		return k.remote(c, &line.Job.remoteSettings)
	}
	return line.Job.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		jobs, err := o.Jobs.List(c.ctx, a.ID, q)
		if err != nil {
			return err
		}
		list := []jobJSON{}
		for _, j := range jobs {
			list = append(list, newJobJSON(j))
		}
		c.showJobs(list)
		return nil
	})
}

func (c *console) showJobs(list []jobJSON) {
	if c.json {
		c.print(struct {
			Jobs []jobJSON `json:"jobs"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("REF", "JOB", "NAME", "STATUS", "ERROR", "MODE", "CALLED BY", "CREATED", "TOOK", "STEPS")
		for _, j := range list {
			took := "-"
			if j.Duration != nil {
				took = rounded(time.Duration(*j.Duration) * time.Millisecond).String()
			}
			row(j.Ref, j.JobID, cmp.Or(printable(j.Name), "-"), j.Status, cmp.Or(j.ErrorCode, "-"), j.Mode, j.Convention, moment(j.Created), took, j.Steps)
		}
	})
}

// theJob is the job that a command is about.
type theJob struct {
	ID      string `arg:"" help:"The job's id, or its number."`
	Account string `placeholder:"NAME" help:"Whose job it is: where it is named by its number, or opened by the account's password."`
}

// number is the number that the job is named by. Each account counts its own.
func (k *theJob) number() (n int64, ok bool) {
	n, err := strconv.ParseInt(k.ID, 10, 64)
	return n, err == nil && n > 0
}

// find does something with the job.
func (k *theJob) find(c *console, line *commands, do func(*operator.Operator, job.ID) error) error {
	return line.Job.with(c, false, func(o *operator.Operator) error {
		missing := fault.New(fault.JobNotFound, "there is no job %q", k.ID)
		id, ok := job.ParseID(k.ID)
		if n, isNumber := k.number(); isNumber && k.Account == "" {
			return usage("%d is the number of a job, which each account counts for itself: say whose by --account", n)
		} else if isNumber {
			a, err := o.Accounts.Find(c.ctx, k.Account)
			if err != nil {
				return err
			}
			listed, err := o.Jobs.ByRef(c.ctx, a.ID, n)
			if errors.Is(err, job.ErrNotFound) {
				return fault.New(fault.JobNotFound, "%s has no job with the number %d", a.Username, n)
			}
			if err != nil {
				return err
			}
			id, ok = listed.ID, true
		}
		if !ok {
			return missing
		}
		err := do(o, id)
		if errors.Is(err, job.ErrNotFound) {
			return missing
		}
		return err
	})
}

type jobShow struct{ theJob }

// Run implements the command.
func (k *jobShow) Run(c *console, line *commands) error {
	if line.Job.Server != "" {
		return k.remote(c, &line.Job.remoteSettings)
	}
	return k.find(c, line, func(o *operator.Operator, id job.ID) error {
		v, err := o.Views.View(c.ctx, id)
		if err != nil {
			return err
		}
		listed, err := o.Jobs.ByRef(c.ctx, v.Account, v.Seq)
		if err == nil {
			c.showJob(v.Record, listed)
		}
		return err
	})
}

type jobCancel struct{ theJob }

// Run implements the command.
func (k *jobCancel) Run(c *console, line *commands) error {
	if line.Job.Server != "" {
		return k.remote(c, &line.Job.remoteSettings)
	}
	return k.find(c, line, func(o *operator.Operator, id job.ID) error {
		state, err := o.CancelJob(c.ctx, id)
		if err == nil {
			c.showCancelled(id.String(), state)
		}
		return err
	})
}

func (c *console) showCancelled(id string, state job.State) {
	switch {
	case c.json:
		c.print(struct {
			JobID  string `json:"job_id"`
			Status string `json:"status"`
		}{id, string(state)})
	case state == job.Running:
		fmt.Fprintln(c.out, "The job runs, and its server will stop it in a moment.")
	default:
		fmt.Fprintf(c.out, "The job is %s.\n", state)
	}
}

type jobReplay struct {
	theJob
	Check bool `required:"" help:"Perform nothing: check that each effect asks for the same, in the same state."`
}

// Run implements the command.
func (k *jobReplay) Run(c *console, line *commands) error {
	return k.find(c, line, func(o *operator.Operator, id job.ID) error {
		r, err := o.ReplayJob(c.ctx, id)
		if err != nil {
			return err
		}
		if c.json {
			shown := struct {
				JobID   string `json:"job_id"`
				Same    bool   `json:"same"`
				Effects int    `json:"effects"`
				Cut     bool   `json:"cut,omitempty"`
				Ended   bool   `json:"ended"`
				Effect  int64  `json:"left_at_effect,omitempty"`
				Step    string `json:"left_at_step,omitempty"`
				Line    int    `json:"left_at_line,omitempty"`
				Reason  string `json:"reason,omitempty"`
			}{JobID: id.String(), Same: r.Left == nil, Effects: r.Effects, Cut: r.Cut, Ended: r.Ended}
			if l := r.Left; l != nil {
				shown.Effect, shown.Step, shown.Line, shown.Reason = l.Effect, l.Step, l.Line, l.Reason
			}
			c.print(shown)
		}
		switch l := r.Left; {
		case l != nil && l.Effect > 0:
			return fault.New(fault.PreconditionFailed, "the job left its path at effect %d, %s in line %d: %s", l.Effect, l.Step, l.Line, l.Reason)
		case l != nil:
			return fault.New(fault.PreconditionFailed, "the job left its path after %d effects: %s", r.Effects, l.Reason)
		case c.json:
		case r.Cut:
			fmt.Fprintf(c.out, "The job does what it did, for the %d effects of which its history has the results.\n", r.Effects)
		case r.EndKnown:
			fmt.Fprintf(c.out, "The job does what it did at all of its %d effects, and ends in the same state.\n", r.Effects)
		default:
			fmt.Fprintf(c.out, "The job does what it did at its %d effects; the state in which it ended was not recorded.\n", r.Effects)
		}
		return nil
	})
}

func (c *console) showJob(r job.Record, listed job.Listed) {
	shown := shownJob{jobJSON: newJobJSON(listed), Result: string(r.Result), Trace: r.Trace, TraceDropped: r.TraceDropped, Response: r.Response, Error: r.Error}
	switch r.Encoding {
	case job.Base64:
		shown.Result, shown.ResultEncoding = base64.StdEncoding.EncodeToString(r.Result), string(r.Encoding)
	case job.JSONText:
		shown.ResultJSON = r.Result
	}
	c.showWholeJob(&shown)
}

// shownJob is a job with what came of it.
type shownJob struct {
	jobJSON
	Result         string          `json:"result"`
	ResultEncoding string          `json:"result_encoding,omitempty"`
	ResultJSON     json.RawMessage `json:"result_json,omitempty"`
	Trace          json.RawMessage `json:"trace,omitempty"`
	TraceDropped   int64           `json:"trace_dropped,omitempty"`
	Response       json.RawMessage `json:"response,omitempty"`
	Error          json.RawMessage `json:"error,omitempty"`
}

func (c *console) showWholeJob(j *shownJob) {
	if c.json {
		c.print(j)
		return
	}
	c.table(func(row func(...any)) {
		row("job", j.JobID)
		row("ref", j.Ref)
		if j.Name != "" {
			row("name", printable(j.Name))
		}
		row("status", j.Status)
		row("mode", j.Mode)
		row("called by", j.Convention)
		row("started by", j.By)
		if j.Program != "" {
			row("program", j.Program)
		}
		row("created", moment(j.Created))
		if j.Finished != nil {
			row("finished", moment(*j.Finished))
			row("took", rounded(j.Finished.Sub(j.Created)))
		}
		if j.Duration != nil {
			row("ran", rounded(time.Duration(*j.Duration)*time.Millisecond))
		}
		row("steps", j.Steps)
		if j.Error != nil {
			row("error", printable(string(j.Error)))
		}
	})
	if j.Result != "" {
		fmt.Fprintf(c.out, "\n%s\n", printable(j.Result))
	}
}
