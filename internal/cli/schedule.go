package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	accounts "ql/internal/account"
	"ql/internal/remote"
)

// scheduleCommand is ql schedule. Its commands ask a service, which checks what a schedule starts.
type scheduleCommand struct {
	remoteSettings

	Set    scheduleSet    `cmd:"" help:"Start a published script by the clock: at an interval, or by a timetable."`
	List   scheduleList   `cmd:"" help:"List an account's schedules."`
	Show   scheduleShow   `cmd:"" help:"Show a schedule, its next ticks and what became of the last ones."`
	Run    scheduleRun    `cmd:"" help:"Start a job of a schedule now, out of turn."`
	Pause  schedulePause  `cmd:"" help:"Have a schedule start nothing until it is resumed."`
	Resume scheduleResume `cmd:"" help:"Have a paused schedule go on with its next tick."`
	Remove scheduleRemove `cmd:"" help:"Remove a schedule. Its jobs stay."`
}

func newScheduleCommand() scheduleCommand {
	return scheduleCommand{remoteSettings: newRemoteSettings("data")}
}

// theSchedule is the schedule that a command is about.
type theSchedule struct {
	who
	Name string `arg:"" help:"The schedule's name."`
}

// service says which service has the schedules.
func (k *scheduleCommand) service() (*remoteSettings, error) {
	if k.Server == "" {
		return nil, usage("ql schedule asks a service: name it by --server, such as --server http://127.0.0.1:8080")
	}
	return &k.remoteSettings, nil
}

// askSchedules makes a call about schedules.
func (c *console) askSchedules(line *commands, account string, call remote.Call, into any) error {
	s, err := line.Schedule.service()
	if err != nil {
		return err
	}
	call.Path = append([]string{"schedules"}, call.Path...)
	return c.ask(s, account, call, into)
}

// scheduleJSON is a schedule as commands show it.
type scheduleJSON struct {
	Name       string `json:"name"`
	Script     string `json:"script"`
	Every      string `json:"every,omitempty"`
	Cron       string `json:"cron,omitempty"`
	Zone       string `json:"zone,omitempty"`
	Jitter     string `json:"jitter"`
	Overlap    string `json:"overlap"`
	CatchUp    string `json:"catch_up"`
	PauseAfter int    `json:"pause_after"`

	Concurrency *concurrencyJSON `json:"concurrency"`

	Input    json.RawMessage `json:"input,omitempty"`
	PausedAt *time.Time      `json:"paused_at"`
	PausedBy string          `json:"paused_by,omitempty"`
	Failures int             `json:"failures"`
	Next     []time.Time     `json:"next"`
	Last     *tickJSON       `json:"last"`
}

// tickJSON is what became of a tick.
type tickJSON struct {
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Count   int64     `json:"count"`
	Skipped string    `json:"skipped,omitempty"`
	Message string    `json:"message,omitempty"`
	Manual  bool      `json:"manual,omitempty"`
	Ref     int64     `json:"ref,omitempty"`
	Status  string    `json:"job_status,omitempty"`
}

func (t *tickJSON) text() string {
	switch {
	case t == nil:
		return "-"
	case t.Skipped != "" && t.Count > 1:
		return fmt.Sprintf("%d skipped: %s", t.Count, t.Skipped)
	case t.Skipped != "":
		return "skipped: " + t.Skipped
	case t.Status == "":
		return "started"
	}
	return t.Status
}

func (s *scheduleJSON) when() string {
	if s.Cron == "" {
		return "every " + s.Every
	}
	return s.Cron + " " + s.Zone
}

func (s *scheduleJSON) next() string {
	switch {
	case s.PausedAt != nil:
		return "paused by " + s.PausedBy
	case len(s.Next) == 0:
		return "never"
	}
	return moment(s.Next[0])
}

type scheduleSet struct {
	theSchedule
	Script      string `arg:"" help:"The published script to start, or a version of it, such as import@3."`
	Every       string `xor:"when" placeholder:"TIME" help:"At this interval, such as 25h or 15m."`
	Cron        string `xor:"when" placeholder:"FIELDS" help:"By a timetable, such as \"30 2 * * *\" or @daily."`
	Zone        string `placeholder:"ZONE" help:"Whose clocks the timetable goes by, such as Europe/Berlin; UTC where left out."`
	Input       string `placeholder:"JSON" help:"What the script is given: a JSON object."`
	Jitter      string `placeholder:"TIME" help:"By how much later each tick may come."`
	Overlap     string `placeholder:"HOW" help:"What becomes of a tick while an earlier job is not finished: skip, queue or all (skip)."`
	CatchUp     string `placeholder:"TIME" help:"How late a tick may be (1h)."`
	PauseAfter  int    `placeholder:"N" help:"Pause it after so many failures in a row."`
	Concurrency string `placeholder:"KEY[=N]" help:"Let no more than N jobs with this key be under way at once (1)."`
}

// Run implements the command.
func (k *scheduleSet) Run(c *console, line *commands) error {
	body := map[string]any{"script": k.Script}
	for name, text := range map[string]string{"every": k.Every, "cron": k.Cron, "zone": k.Zone, "jitter": k.Jitter, "overlap": k.Overlap, "catch_up": k.CatchUp} {
		if text != "" {
			body[name] = text
		}
	}
	if k.PauseAfter != 0 {
		body["pause_after"] = k.PauseAfter
	}
	if k.Input != "" {
		if !json.Valid([]byte(k.Input)) {
			return usage("--input: that is no JSON: an object such as {\"day\": 1} fits")
		}
		body["input"] = json.RawMessage(k.Input)
	}
	if k.Concurrency != "" {
		limit, err := parseConcurrency(k.Concurrency)
		if err != nil {
			return err
		}
		body["concurrency"] = newConcurrencyJSON(limit)
	}
	var s scheduleJSON
	if err := c.askSchedules(line, k.Account, remote.Call{Method: remote.Put, Path: []string{k.Name}, JSON: body}, &s); err != nil {
		return err
	}
	c.showSchedule(&s, nil)
	return nil
}

// parseConcurrency takes a key, or a key and a number such as shop=2.
func parseConcurrency(text string) (c accounts.Concurrency, err error) {
	key, number, found := strings.Cut(text, "=")
	c = accounts.Concurrency{Key: key, Most: 1}
	if found {
		if c.Most, err = strconv.Atoi(number); err != nil || c.Most < 1 {
			return c, usage("--concurrency: %q is no number from 1 on", number)
		}
	}
	return c, nil
}

// concurrencyJSON bounds how many jobs with a key are under way.
type concurrencyJSON struct {
	Key  string `json:"key"`
	Most int    `json:"most"`
}

// newConcurrencyJSON returns nil for none.
func newConcurrencyJSON(c accounts.Concurrency) *concurrencyJSON {
	if c.Key == "" {
		return nil
	}
	return &concurrencyJSON{c.Key, c.Most}
}

func (c *concurrencyJSON) text() string { return fmt.Sprintf("%s=%d", c.Key, c.Most) }

type scheduleList struct{ who }

// Run implements the command.
func (k *scheduleList) Run(c *console, line *commands) error {
	s, err := line.Schedule.service()
	if err != nil {
		return err
	}
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	list, err := remote.List[scheduleJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{"schedules"}}, "schedules", "after", mostListed)
	if err != nil {
		return err
	}
	if c.json {
		c.print(struct {
			Schedules []scheduleJSON `json:"schedules"`
		}{list})
		return nil
	}
	c.table(func(row func(...any)) {
		row("NAME", "SCRIPT", "WHEN", "NEXT", "LAST")
		for i := range list {
			s := &list[i]
			row(s.Name, s.Script, s.when(), s.next(), s.Last.text())
		}
	})
	return nil
}

type scheduleShow struct{ theSchedule }

// Run implements the command.
func (k *scheduleShow) Run(c *console, line *commands) error {
	var s scheduleJSON
	if err := c.askSchedules(line, k.Account, remote.Call{Method: remote.Get, Path: []string{k.Name}}, &s); err != nil {
		return err
	}
	var history struct {
		Ticks []tickJSON `json:"ticks"`
	}
	if err := c.askSchedules(line, k.Account, remote.Call{Method: remote.Get, Path: []string{k.Name, "ticks"}}, &history); err != nil {
		return err
	}
	c.showSchedule(&s, history.Ticks)
	return nil
}

// showSchedule shows a schedule with the ticks that it had, the newest first.
func (c *console) showSchedule(s *scheduleJSON, ticks []tickJSON) {
	if c.json {
		c.print(struct {
			*scheduleJSON
			Ticks []tickJSON `json:"ticks,omitempty"`
		}{s, ticks})
		return
	}
	c.table(func(row func(...any)) {
		row("name", s.Name)
		row("script", s.Script)
		row("when", s.when())
		if input := bytes.NewBuffer(nil); json.Compact(input, s.Input) == nil && input.String() != "null" {
			row("input", printable(input.String()))
		}
		if s.Jitter != "" && s.Jitter != "0s" {
			row("jitter", "up to "+s.Jitter+" later")
		}
		row("overlap", s.Overlap)
		row("catch-up", s.CatchUp)
		if s.PauseAfter > 0 {
			row("pause", fmt.Sprintf("after %d failures in a row; now %d", s.PauseAfter, s.Failures))
		}
		if s.Concurrency != nil {
			row("concurrency", printable(s.Concurrency.text()))
		}
		if s.PausedAt != nil {
			row("paused", "by "+s.PausedBy+", "+moment(*s.PausedAt))
		}
		for i, at := range s.Next {
			what := ""
			if i == 0 {
				what = "next"
			}
			row(what, moment(at))
		}
	})
	if len(ticks) == 0 {
		return
	}
	fmt.Fprintln(c.out)
	c.table(func(row func(...any)) {
		row("TICK", "JOB", "RESULT")
		for i := range ticks {
			ref := "-"
			if ticks[i].Ref > 0 {
				ref = strconv.FormatInt(ticks[i].Ref, 10)
			}
			row(moment(ticks[i].First), ref, ticks[i].text())
		}
	})
}

type scheduleRun struct{ theSchedule }

// Run implements the command.
func (k *scheduleRun) Run(c *console, line *commands) error {
	var answer struct {
		JobID string `json:"job_id"`
	}
	if err := c.askSchedules(line, k.Account, remote.Call{Method: remote.Post, Path: []string{k.Name, "run"}}, &answer); err != nil {
		return err
	}
	if c.json {
		c.print(answer)
		return nil
	}
	c.said("%s has started the job %s", k.Name, answer.JobID)
	return nil
}

type schedulePause struct{ theSchedule }

// Run implements the command.
func (k *schedulePause) Run(c *console, line *commands) error {
	return k.do(c, line, "pause", "is paused")
}

type scheduleResume struct{ theSchedule }

// Run implements the command.
func (k *scheduleResume) Run(c *console, line *commands) error {
	return k.do(c, line, "resume", "goes on")
}

func (k *theSchedule) do(c *console, line *commands, what, said string) error {
	var s scheduleJSON
	if err := c.askSchedules(line, k.Account, remote.Call{Method: remote.Post, Path: []string{k.Name, what}}, &s); err != nil {
		return err
	}
	if c.json {
		c.print(s)
		return nil
	}
	c.said("%s %s", k.Name, said)
	return nil
}

type scheduleRemove struct{ theSchedule }

// Run implements the command.
func (k *scheduleRemove) Run(c *console, line *commands) error {
	if err := c.askSchedules(line, k.Account, remote.Call{Method: remote.Delete, Path: []string{k.Name}}, nil); err != nil {
		return err
	}
	c.said("%s is removed", k.Name)
	return nil
}
