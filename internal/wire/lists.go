package wire

import (
	"strconv"
	"time"
)

// JobEntry is a job in an account's list of them.
type JobEntry struct {
	ID         string
	Ref        int64  // its number, for its owner alone
	Name       string // "" for none
	Status     string
	Error      string // the code, "" for none
	Mode       string // "sync" or "async"
	Convention string // "form", "json", "site", "run", "script" or "schedule"
	By         string // the credential by which it was started
	Key        string // the name of the named key, "" for none, and for one that was revoked
	Program    string // the published program, "" for a script that was sent
	Schedule   string // what started it, "" for a caller
	CreatedAt  time.Time
	FinishedAt time.Time // zero while it is not
	Ran        time.Duration
	Steps      int64
}

// AppendJobs appends the answer of GET /v1/jobs. Next is where the following
// page begins, "" at the end.
func AppendJobs(dst []byte, jobs []JobEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","jobs":[`...)
	for i := range jobs {
		j := &jobs[i]
		dst = appendComma(dst)
		dst = appendJobEntry(append(dst, '{'), j)
		dst = append(dst, '}')
	}
	return appendNext(dst, next)
}

// AppendFeedJob appends the data of an event of an account's feed: a job as lists show it, or nothing
// for nil.
func AppendFeedJob(dst []byte, j *JobEntry) []byte {
	dst = append(dst, '{')
	if j != nil {
		dst = appendJobEntry(dst, j)
	}
	return append(dst, '}')
}

// appendJobEntry appends the fields of a job in a listing.
func appendJobEntry(dst []byte, j *JobEntry) []byte {
	dst = append(dst, `"job_id":`...)
	dst = appendText(dst, j.ID)
	dst = appendName(dst, "ref")
	dst = strconv.AppendInt(dst, j.Ref, 10)
	dst = appendTextOrNull(dst, "name", j.Name)
	dst = appendTextField(dst, "status", j.Status)
	dst = appendTextOrNull(dst, "error", j.Error)
	dst = appendTextField(dst, "mode", j.Mode)
	dst = appendTextField(dst, "convention", j.Convention)
	dst = appendTextField(dst, "by", j.By)
	dst = appendTextOrNull(dst, "key", j.Key)
	dst = appendTextOrNull(dst, "program", j.Program)
	dst = appendTextOrNull(dst, "schedule", j.Schedule)
	dst = appendTime(appendName(dst, "created_at"), j.CreatedAt)
	dst = appendEnd(dst, j)
	dst = appendName(dst, "steps")
	return strconv.AppendInt(dst, j.Steps, 10)
}

// appendEnd appends when a job finished, and how long it ran.
func appendEnd(dst []byte, j *JobEntry) []byte {
	dst = appendName(dst, "finished_at")
	if j.FinishedAt.IsZero() {
		dst = append(dst, "null"...)
	} else {
		dst = appendTime(dst, j.FinishedAt)
	}
	dst = appendName(dst, "duration_ms")
	if j.FinishedAt.IsZero() {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, j.Ran.Round(time.Millisecond).Milliseconds(), 10)
	}
	return dst
}

// appendTextOrNull appends a field, null where it is empty.
func appendTextOrNull(dst []byte, name, value string) []byte {
	if value == "" {
		return append(appendName(dst, name), "null"...)
	}
	return appendTextField(dst, name, value)
}

// AccountLimit is one of an account's limits.
type AccountLimit struct {
	Name  string
	Value int64  // negative where there is none
	Used  *int64 // nil for what is not counted
}

// AppendLimits appends the answer of GET /v1/limits.
func AppendLimits(dst []byte, plan string, limits []AccountLimit) []byte {
	dst = append(dst, `{"status":"ok","plan":`...)
	dst = appendText(dst, plan)
	dst = append(dst, `,"limits":{`...)
	for _, l := range limits {
		dst = appendComma(dst)
		dst = appendText(dst, l.Name)
		dst = append(dst, `:{"value":`...)
		if l.Value < 0 {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendInt(dst, l.Value, 10)
		}
		if l.Used != nil {
			dst = append(dst, `,"used":`...)
			dst = strconv.AppendInt(dst, *l.Used, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, "}}"...)
}

// appendNext ends a list, and says where its next page begins, "" for no more.
func appendNext(dst []byte, next string) []byte {
	dst = append(dst, `],"next":`...)
	if next == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendText(dst, next)
	}
	return append(dst, '}')
}
