package server_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/schedule"
	"ql/internal/service"
)

// scheduleFor gives accounts a schedule of the name that is asked for, and its script.
func (w *world) scheduleFor(usernames ...string) {
	w.t.Helper()
	w.publishFor(usernames...)
	for _, username := range usernames {
		a, err := w.accounts.Find(w.t.Context(), username)
		check(w.t, err)
		one := schedule.Schedule{Account: a.ID, Name: accessKey, Script: accessKey, Timing: schedule.Timing{Every: time.Hour}, Overlap: schedule.OverlapAll, Set: time.Now()}
		check(w.t, one.Begin(time.Now()))
		_, _, err = w.store.Schedules().Put(w.t.Context(), one, 0)
		check(w.t, err)
	}
}

type shownSchedule struct {
	Name, Script, Every, Cron, Zone, Jitter, Overlap string
	CatchUp                                          string `json:"catch_up"`
	PauseAfter                                       int    `json:"pause_after"`
	Input                                            json.RawMessage
	Next                                             []time.Time
	PausedAt                                         *time.Time `json:"paused_at"`
	PausedBy                                         string     `json:"paused_by"`
	Failures                                         int
	Last                                             *shownTick
}

type shownTick struct {
	Number, Count int64
	First, Last   time.Time
	Skipped       string
	Message       string
	Manual        bool
	Ref           int64
	JobStatus     string `json:"job_status"`
}

// scheduled is a service whose clock and schedules a test drives.
type scheduled struct {
	*world
	runner *schedule.Runner
	auth   []string
}

func bootScheduled(t *testing.T) *scheduled {
	w := boot(t, settings{service: func(o *service.Options) { o.OnSchedule = func() {} }})
	s := &scheduled{world: w}
	s.runner = schedule.NewRunner(schedule.Options{
		Store: w.store.Schedules(), Start: w.service.StartScheduled, Log: slog.New(slog.NewJSONHandler(w.log, nil)), Clock: w.clock,
	})
	ada := w.member("ada", account.Standard)
	s.auth = []string{"Authorization", basic(ada.name, ada.password)}
	return s
}

func (s *scheduled) publish(name, text string) {
	s.t.Helper()
	_, _, err := s.accounts.Publish(s.t.Context(), "ada", account.Publication{Name: name, Text: text, Switches: account.Switches{Callers: account.CallersKeys}})
	check(s.t, err)
}

func (s *scheduled) call(method, path, body string, want int, into any) {
	s.t.Helper()
	kind := ""
	if body != "" {
		kind = jsonType
	}
	r := s.send(method, "/v1/schedules"+path, kind, body, s.auth...)
	if r.status != want {
		s.t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
	}
	if into != nil {
		check(s.t, json.Unmarshal([]byte(r.body), into))
	}
}

// pass moves the clock, and settles all that is due then.
func (s *scheduled) pass(d time.Duration) {
	s.t.Helper()
	s.ahead.Add(int64(d))
	for more := true; more; {
		var err error
		more, err = s.runner.Round(s.t.Context())
		check(s.t, err)
	}
}

func (s *scheduled) ticks(name string) (list struct {
	Ticks []shownTick
	Next  *string
}) {
	s.t.Helper()
	s.call("GET", "/"+name+"/ticks", "", 200, &list)
	return list
}

// ended waits for the job with a number, and returns its result.
func (s *scheduled) ended(ref int64) string {
	s.t.Helper()
	var j struct {
		Status, Result, Schedule, By, Convention string
		JobID                                    string `json:"job_id"`
	}
	read := func() {
		r := s.send("GET", "/v1/jobs/"+strconv.FormatInt(ref, 10), "", "", s.auth...)
		check(s.t, json.Unmarshal([]byte(r.body), &j))
	}
	read()
	s.poll(j.JobID, "?wait=60", s.auth...)
	if read(); !job.State(j.Status).Finished() {
		s.t.Fatalf("the job is %+v", j)
	}
	if j.Schedule == "" || j.By != "schedule" || j.Convention != "schedule" {
		s.t.Errorf("the job is %+v", j)
	}
	return j.Result
}

// TestSchedules: what an owner sets is started when it is time, once, with its input.
func TestSchedules(t *testing.T) {
	s := bootScheduled(t)
	s.publish("greet", "INPUT FIELDS name TEXT REQUIRED EMIT \"Hello, {!INPUT.name}!\"")
	var one shownSchedule
	s.call("PUT", "/hello", `{"script":"greet","input":{"name":"Ada"},"every":"25h"}`, 201, &one)
	if one.Every != "25h" || one.Overlap != "skip" || one.CatchUp != "1h" || one.Jitter != "0s" || len(one.Next) != 5 || one.Next[4].Sub(one.Next[0]) != 100*time.Hour || one.Last != nil || string(one.Input) != `{"name":"Ada"}` {
		t.Errorf("set it is %+v", one)
	}
	s.pass(24 * time.Hour)
	if list := s.ticks("hello"); len(list.Ticks) > 0 {
		t.Errorf("a tick before its time: %+v", list)
	}
	s.pass(time.Hour + time.Second)
	list := s.ticks("hello")
	if len(list.Ticks) != 1 || list.Ticks[0].Skipped != "" || !list.Ticks[0].First.Equal(one.Next[0]) {
		t.Fatalf("at its time: %+v", list)
	}
	if got := s.ended(list.Ticks[0].Ref); got != "Hello, Ada!" {
		t.Errorf("the job put out %q", got)
	}
	r := s.send("GET", "/v1/jobs?schedule=hello", "", "", s.auth...)
	if r.status != 200 || strings.Count(r.body, `"schedule":"hello"`) != 1 {
		t.Errorf("the list: %d %s", r.status, r.body)
	}
	s.send("GET", "/v1/jobs?schedule="+url.QueryEscape("no name"), "", "", s.auth...).wantError(t, 400, "invalid_request")
	var shown shownSchedule
	s.call("GET", "/hello", "", 200, &shown)
	if shown.Last == nil || shown.Last.JobStatus != "complete" || !shown.Next[0].Equal(one.Next[1]) {
		t.Errorf("shown it is %+v", shown)
	}

	// The same times again keep the tick, other ones begin anew.
	s.call("PUT", "/hello", `{"script":"greet","input":{"name":"Bob"},"every":"25h"}`, 200, &shown)
	if !shown.Next[0].Equal(one.Next[1]) {
		t.Errorf("set again it is %+v", shown)
	}
	s.call("POST", "/hello/run", "", 202, nil)
	list = s.ticks("hello")
	if len(list.Ticks) != 2 || !list.Ticks[0].Manual || s.ended(list.Ticks[0].Ref) != "Hello, Bob!" {
		t.Errorf("run now: %+v", list)
	}

	// Paused there are no ticks, and those of then are none later.
	s.call("POST", "/hello/pause", "", 200, &shown)
	if shown.PausedAt == nil || shown.PausedBy != "owner" || len(shown.Next) > 0 {
		t.Errorf("paused it is %+v", shown)
	}
	s.pass(100 * time.Hour)
	s.call("POST", "/hello/resume", "", 200, &shown)
	if shown.PausedAt != nil || len(shown.Next) != 5 || !shown.Next[0].After(s.clock()) {
		t.Errorf("resumed it is %+v", shown)
	}
	s.pass(0)
	if list := s.ticks("hello"); len(list.Ticks) != 2 {
		t.Errorf("after the pause: %+v", list)
	}

	// An outage longer than its window is one entry.
	s.call("PUT", "/often", `{"script":"greet","input":{"name":"Ada"},"every":"1m","overlap":"all","catch_up":"3m"}`, 201, &one)
	s.pass(24 * time.Hour)
	list = s.ticks("often")
	jobs, missed := 0, int64(0)
	for _, tick := range list.Ticks {
		switch tick.Skipped {
		case "":
			jobs++
		case "missed":
			missed += tick.Count
		}
	}
	if int64(jobs)+missed != 1440 || jobs < 3 || jobs > 4 || len(list.Ticks) != jobs+1 {
		t.Errorf("after a day there are %d jobs, %d missed, %d entries", jobs, missed, len(list.Ticks))
	}
	s.call("DELETE", "/often", "", 204, nil)
	s.send("GET", "/v1/schedules/often", "", "", s.auth...).wantError(t, 404, "not_found")

	// What cannot be started any more is skipped, with its reason, and pauses.
	s.call("PUT", "/hello", `{"script":"greet","input":{"name":"Ada"},"every":"1h","pause_after":2}`, 200, nil)
	s.publish("greet", "INPUT FIELDS title TEXT REQUIRED EMIT !INPUT.title")
	for range 2 {
		s.pass(time.Hour + time.Second)
	}
	s.call("GET", "/hello", "", 200, &shown)
	if shown.Last.Skipped != "invalid_fields" || shown.PausedBy != "failures" || shown.Failures != 2 || !strings.Contains(shown.Last.Message, "title") {
		t.Errorf("after the script has changed it is %+v, last %+v", shown, shown.Last)
	}
}

// TestScheduleMistakes: what does not fit is refused when it is set, and says what would.
func TestScheduleMistakes(t *testing.T) {
	s := bootScheduled(t)
	s.publish("greet", "INPUT FIELDS name TEXT REQUIRED EMIT !INPUT.name")
	for body, want := range map[string][3]string{
		`{"every":"1h"}`: {"invalid_request", "script", "is missing"},
		`{"script":"greet","input":{"name":"x"}}`:                                                                   {"invalid_request", "every", "is missing"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","cron":"* * * * *"}`:                                   {"invalid_request", "cron", "one of the two"},
		`{"script":"greet","input":{"name":"x"},"every":"1s"}`:                                                      {"invalid_request", "every", "one tick every 1m"},
		`{"script":"greet","input":{"name":"x"},"every":"soon"}`:                                                    {"invalid_request", "every", "25h"},
		`{"script":"greet","input":{"name":"x"},"cron":"61 * * * *"}`:                                               {"invalid_request", "cron", "wrong minute"},
		`{"script":"greet","input":{"name":"x"},"cron":"0 4 * * *","zone":"Berlin"}`:                                {"invalid_request", "zone", "did you mean Europe/Berlin?"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","zone":"UTC"}`:                                         {"invalid_request", "zone", "timetables"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","overlap":"some"}`:                                     {"invalid_request", "overlap", "skip, queue or all"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","jitter":"2h"}`:                                        {"invalid_request", "jitter", "at most the interval"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","pause_after":-1}`:                                     {"invalid_request", "pause_after", "1 to 1000"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","concurrency":{"most":2}}`:                             {"invalid_request", "concurrency.key", "1 to 200"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","often":true}`:                                         {"invalid_request", "", "often"},
		`{"script":"none","every":"1h"}`:                                                                            {"script_not_found", "", "none"},
		`{"script":"greet","every":"1h"}`:                                                                           {"invalid_fields", "", "name"},
		`{"script":"greet","input":{"name":"x"},"every":"1h","overlap":"queue","concurrency":{"key":"k","most":2}}`: {"invalid_request", "concurrency", "most 1 fits"},
	} {
		for _, call := range [][2]string{{"PUT", ""}, {"POST", "/preview"}} {
			r := s.send(call[0], "/v1/schedules/x"+call[1], jsonType, body, s.auth...)
			if r.status < 400 || r.status >= 500 || !strings.Contains(r.body, want[0]) || !strings.Contains(r.body, want[1]) || !strings.Contains(r.body, want[2]) {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
	}
	var list struct{ Schedules []shownSchedule }
	s.call("GET", "", "", 200, &list)
	if len(list.Schedules) > 0 {
		t.Errorf("there are %+v", list)
	}
	var preview shownSchedule
	s.call("POST", "/x/preview", `{"script":"greet","input":{"name":"x"},"cron":"30 2 * * *","zone":"Europe/Berlin"}`, 200, &preview)
	if len(preview.Next) != 5 || preview.Zone != "Europe/Berlin" {
		t.Errorf("the preview is %+v", preview)
	}
}

// TestSlowStarts: the schedules of one account, all of which take their time to start, have their share
// of what starts at once, and those of another wait for none of them.
func TestSlowStarts(t *testing.T) {
	w := boot(t)
	due := func(username string, n int, at time.Time) account.ID {
		m := w.member(username, account.Standard)
		for i := range n {
			one := schedule.Schedule{Account: m.ID, Name: "s" + strconv.Itoa(i), Script: "x", Timing: schedule.Timing{Every: time.Hour}, Overlap: schedule.OverlapAll, CatchUp: time.Hour, Set: at}
			check(t, one.Begin(at))
			_, _, err := w.store.Schedules().Put(t.Context(), one, 0)
			check(t, err)
		}
		return m.ID
	}
	now := time.Now()
	slow := due("ada", 100, now.Add(-90*time.Minute))
	quick := due("bob", 1, now.Add(-70*time.Minute))
	started, heard := make(chan account.ID, 200), make(chan struct{})
	r := schedule.Run(schedule.Options{
		Store: w.store.Schedules(), Log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now },
		Start: func(ctx context.Context, s schedule.Schedule, _ schedule.Settle) error {
			started <- s.Account
			if s.Account == slow {
				select {
				case <-heard:
				case <-ctx.Done():
				}
			}
			return schedule.ErrDisabled // asked again in a minute, which does not pass
		},
	})
	t.Cleanup(func() { check(t, r.Stop(context.Background())) })
	of := 0
	for a := range started {
		if a == quick {
			break
		}
		of++
	}
	if of > 4 {
		t.Errorf("%d of one account are started at once", of)
	}
	close(heard)
	for ; of < 100; of++ {
		if a := <-started; a != slow {
			t.Errorf("of account %d there is one more", a)
		}
	}
}
