package wire

import (
	"strconv"
	"time"
)

// Concurrency bounds how many jobs with the same key are under way.
type Concurrency struct {
	Key  string // "" for none
	Most int
}

// NewSchedule is a request of PUT /v1/schedules/{name}. Amounts of time are texts as they were sent,
// "" where they were left out.
type NewSchedule struct {
	Script      string
	Input       string // an object as it was sent, checked; "" where it was left out
	Every       string
	Cron        string
	Zone        string
	Jitter      string
	Overlap     string
	CatchUp     string
	PauseAfter  int
	Concurrency Concurrency
}

const (
	mostFailures    = 1000
	mostConcurrency = 10_000
	longestKey      = 200
)

// DecodeNewSchedule reads the body of PUT /v1/schedules/{name}. The error is a *Refusal.
func DecodeNewSchedule(body []byte, l Limits) (*NewSchedule, error) {
	n := new(NewSchedule)
	plain := map[string]*string{"script": &n.Script, "every": &n.Every, "cron": &n.Cron, "zone": &n.Zone, "jitter": &n.Jitter, "overlap": &n.Overlap, "catch_up": &n.CatchUp}
	err := decodeFields(body, l, []string{"script", "input", "every", "cron", "zone", "jitter", "overlap", "catch_up", "pause_after", "concurrency"}, func(name string, value node) (r *Refusal) {
		switch name {
		case "input":
			n.Input, r = decodeInput(value)
		case "pause_after":
			if value == "0" {
				return nil
			}
			n.PauseAfter, r = number(name, value, mostFailures)
		case "concurrency":
			n.Concurrency, r = decodeConcurrency(name, value)
		default:
			if *plain[name], r = optionalText(name, value); r == nil && *plain[name] == "" {
				r = invalid(name, "is empty: leave the field out, or say what you mean")
			}
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case n.Script == "":
		return nil, invalid("script", "is missing: the name of a published script fits, such as import, or import@3 for a version of it")
	}
	return n, nil
}

// decodeConcurrency reads how many jobs with a key may be under way.
func decodeConcurrency(field string, n node) (c Concurrency, r *Refusal) {
	if r := wantOptional(field, n, '{'); r != nil {
		return c, r
	}
	c.Most = 1
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		switch name {
		case "key":
			c.Key, r = text(field+".key", value)
		case "most":
			c.Most, r = number(field+".most", value, mostConcurrency)
		default:
			r = unknown(field, name, []string{"key", "most"})
		}
		if r != nil {
			return c, r
		}
	}
	if c.Key == "" || len(c.Key) > longestKey || !isPrintable(c.Key) {
		return c, invalid(field+".key", "names what no more than so many jobs do at once: a text of 1 to "+strconv.Itoa(longestKey)+" bytes without control characters fits, such as import")
	}
	return c, nil
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// Schedule is a schedule of an account.
type Schedule struct {
	Name        string
	Script      string
	Input       Raw    // nil for nothing, and in lists
	Every       string // "" where there is a timetable
	Cron        string // "" where there is an interval
	Zone        string
	Jitter      string
	Overlap     string
	CatchUp     string
	PauseAfter  int
	Concurrency Concurrency
	SetAt       time.Time
	PausedAt    time.Time // zero where it is not
	PausedBy    string
	Failures    int
	Next        []time.Time
	Last        *ScheduleTick // nil where there was none
}

// ScheduleTick is what became of a tick, or of several in a row that were skipped.
type ScheduleTick struct {
	Number      int64
	First, Last time.Time
	Count       int64
	At          time.Time
	Reason      string // why it has no job, "" where it has
	Message     string // "" for none
	Manual      bool
	Ref         int64  // of its job, 0 for none
	State       string // of that, "" where it is gone
	Error       string // the code of its error, "" for none
}

// AppendSchedule appends the answer of GET and PUT /v1/schedules/{name}.
func AppendSchedule(dst []byte, s *Schedule) []byte {
	dst = append(dst, `{"status":"ok",`...)
	dst = appendSchedule(dst, s)
	dst = appendName(dst, "input")
	if s.Input == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, s.Input...)
	}
	return append(dst, '}')
}

// AppendSchedules appends the answer of GET /v1/schedules. Next is where the following page begins, ""
// at the end.
func AppendSchedules(dst []byte, list []Schedule, next string) []byte {
	dst = append(dst, `{"status":"ok","schedules":[`...)
	for i := range list {
		dst = append(appendComma(dst), '{')
		dst = append(appendSchedule(dst, &list[i]), '}')
	}
	return appendNext(dst, next)
}

// appendSchedule appends the fields of a schedule without its input.
func appendSchedule(dst []byte, s *Schedule) []byte {
	dst = append(dst, `"name":`...)
	dst = appendText(dst, s.Name)
	dst = appendTextField(dst, "script", s.Script)
	if s.Cron == "" {
		dst = appendTextField(dst, "every", s.Every)
	} else {
		dst = appendTextField(dst, "cron", s.Cron)
		dst = appendTextField(dst, "zone", s.Zone)
	}
	dst = appendTextField(dst, "jitter", s.Jitter)
	dst = appendTextField(dst, "overlap", s.Overlap)
	dst = appendTextField(dst, "catch_up", s.CatchUp)
	dst = appendNumber(dst, "pause_after", int64(s.PauseAfter))
	dst = appendConcurrency(dst, s.Concurrency)
	dst = appendTime(appendName(dst, "set_at"), s.SetAt)
	dst = appendOptionalTime(appendName(dst, "paused_at"), s.PausedAt)
	dst = appendTextOrNull(dst, "paused_by", s.PausedBy)
	dst = appendNumber(dst, "failures", int64(s.Failures))
	dst = append(appendName(dst, "next"), '[')
	for _, at := range s.Next {
		dst = appendTime(appendComma(dst), at)
	}
	dst = append(dst, ']')
	dst = appendName(dst, "last")
	if s.Last == nil {
		return append(dst, "null"...)
	}
	return appendTick(dst, s.Last)
}

func appendConcurrency(dst []byte, c Concurrency) []byte {
	dst = appendName(dst, "concurrency")
	if c.Key == "" {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"key":`...)
	dst = appendText(dst, c.Key)
	return append(appendNumber(dst, "most", int64(c.Most)), '}')
}

// AppendTicks appends the answer of GET /v1/schedules/{name}/ticks. Next is where the following page
// begins, "" at the end.
func AppendTicks(dst []byte, name string, list []ScheduleTick, next string) []byte {
	dst = append(dst, `{"status":"ok","name":`...)
	dst = appendText(dst, name)
	dst = append(dst, `,"ticks":[`...)
	for i := range list {
		dst = appendTick(appendComma(dst), &list[i])
	}
	return appendNext(dst, next)
}

func appendTick(dst []byte, t *ScheduleTick) []byte {
	dst = append(dst, `{"number":`...)
	dst = strconv.AppendInt(dst, t.Number, 10)
	dst = appendTime(appendName(dst, "first"), t.First)
	dst = appendTime(appendName(dst, "last"), t.Last)
	dst = appendNumber(dst, "count", t.Count)
	dst = appendTime(appendName(dst, "at"), t.At)
	dst = appendTextOrNull(dst, "skipped", t.Reason)
	dst = appendTextOrNull(dst, "message", t.Message)
	dst = appendBool(dst, "manual", t.Manual)
	dst = appendNumberOrNull(dst, "ref", t.Ref)
	dst = appendTextOrNull(dst, "job_status", t.State)
	dst = appendTextOrNull(dst, "error", t.Error)
	return append(dst, '}')
}
