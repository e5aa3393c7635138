package server_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/service"
)

// counted boots a service that holds the plan free to some limits.
func counted(t *testing.T, change func(*account.Limits)) (*world, *usage.Tally) {
	t.Helper()
	var tally *usage.Tally
	var w *world
	w = boot(t, settings{service: func(o *service.Options) {
		o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true})
		o.Gate = admit.NewGate(admit.GateOptions{Slots: 4, Unlimited: true})
		o.Limits = func(p account.Plan) account.Limits {
			l := p.Limits()
			if p == account.Free {
				change(&l)
			}
			return l
		}
		o.StorageUsed = func(context.Context, account.Account, account.Limits) (int64, error) { return 77, nil }
		o.RecordsUsed = func(context.Context, account.ID) (int64, error) { return 66, nil }
		tally = usage.NewTally(later{&w}, time.Now)
		o.Usage = tally
	}})
	return w, tally
}

// later is the store of a world that is not there yet.
type later struct{ w **world }

func (l later) Used(ctx context.Context, a account.ID, m usage.Month) (usage.Used, error) {
	return (*l.w).store.Usage().Used(ctx, a, m)
}

func (l later) Reserve(ctx context.Context, a account.ID, d usage.Day, bytes, most int64) (bool, error) {
	return (*l.w).store.Usage().Reserve(ctx, a, d, bytes, most)
}

func (l later) Days(ctx context.Context, a account.ID, from usage.Day) ([]usage.UsedDay, error) {
	return (*l.w).store.Usage().Days(ctx, a, from)
}

func (l later) Count(ctx context.Context, a account.ID, d usage.Day, used usage.Used) error {
	return (*l.w).store.Usage().Count(ctx, a, d, used)
}

type shownLimits struct {
	Plan   string `json:"plan"`
	Limits map[string]struct {
		Value *int64 `json:"value"`
		Used  *int64 `json:"used"`
	} `json:"limits"`
}

func (w *world) limits(m member) shownLimits {
	w.t.Helper()
	r := w.send("GET", "/v1/limits", "", "", "Authorization", basic(m.name, m.key))
	var s shownLimits
	if err := json.Unmarshal([]byte(r.body), &s); err != nil || r.status != 200 {
		w.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return s
}

// TestCallsOfAMonth: of many calls at once as many run as the month has, what is
// refused says until when, and what came to nothing does not count.
func TestCallsOfAMonth(t *testing.T) {
	const most = 10
	w, _ := counted(t, func(l *account.Limits) { l.CallsPerMonth = most })
	ada := w.member("ada", account.Free)
	first := w.query(ada, `EMIT "once"`, "").read(t).JobID
	var ok, refused int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 3 * most {
		group.Go(func() {
			r := w.query(ada, `EMIT "it"`, "")
			mu.Lock()
			defer mu.Unlock()
			switch r.status {
			case 200:
				ok++
			case 429:
				refused++
				r.wantError(t, 429, "quota_exceeded")
				after, err := strconv.Atoi(r.header.Get("Retry-After"))
				end := usage.MonthOf(time.Now()).End()
				if err != nil || time.Duration(after)*time.Second < time.Until(end)-time.Minute || after > 31*24*3600 {
					t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
				}
			default:
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	group.Wait()
	if ok != most-1 || refused != 2*most+1 {
		t.Errorf("%d ran and %d were refused", ok, refused)
	}
	form := w.form(ada, `EMIT 1`, nil)
	if form.status != 429 || form.header.Get("Ql-Error") != "quota_exceeded" {
		t.Errorf("the form convention: %d %s", form.status, form.body)
	}
	if r := w.send("GET", "/v1/job/"+first, "", ""); r.status != 200 {
		t.Errorf("a poll over quota: %d %s", r.status, r.body)
	}
	check(t, w.recorder.Flush(t.Context()))
	l := w.limits(ada).Limits["calls"]
	if *l.Value != most || *l.Used != most {
		t.Errorf("calls are %d of %d", *l.Used, *l.Value)
	}
	// Another account is another matter.
	if r := w.query(w.member("bob", account.Standard), `EMIT 1`, ""); r.status != 200 {
		t.Errorf("another account: %d", r.status)
	}
}

func TestRunningTimeOfAMonth(t *testing.T) {
	w, _ := counted(t, func(l *account.Limits) { l.RunningPerMonth = time.Nanosecond })
	ada := w.member("ada", account.Free)
	if r := w.query(ada, `EMIT 1`, ""); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	w.query(ada, `EMIT 1`, "").wantError(t, 429, "quota_exceeded")
}

// TestJobsOfAMonth: a job counts when it is accepted, and not where it is not.
func TestJobsOfAMonth(t *testing.T) {
	w, tally := counted(t, func(l *account.Limits) { l.CallsPerMonth = 2 })
	ada := w.member("ada", account.Free)
	a, err := w.accounts.Find(t.Context(), "ada")
	check(t, err)
	send := func(script string, headers ...string) response {
		return w.send("POST", "/v1/query", jsonType, `{"auth":{"username":"ada","password":`+quote(ada.password)+`},"mode":"async","query":`+quote(script)+`}`, headers...)
	}
	for range 2 { // the second finds the first
		if r := send(`EMIT 1`, "Idempotency-Key", "k"); r.status != 202 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if r := send(`EMIT 2`, "Idempotency-Key", "k"); r.status != 422 {
		t.Errorf("another body: %d", r.status)
	}
	if used, err := tally.Used(t.Context(), a.ID); err != nil || used.Calls != 1 {
		t.Errorf("used %+v, %v", used, err)
	}
	if r := send(`EMIT 2`); r.status != 202 {
		t.Errorf("the second: %d", r.status)
	}
	send(`EMIT 3`).wantError(t, 429, "quota_exceeded")
}

func TestLiftedLimitsAreShown(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) { o.Unlimited, o.Usage = true, usage.NewTally(nothingUsed{}, time.Now) }})
	s := w.limits(w.member("ada", account.Free))
	for _, name := range []string{"rate", "concurrent", "queued", "standing", "standing_bytes"} {
		if l, ok := s.Limits[name]; !ok || l.Value != nil {
			t.Errorf("%s is %+v", name, l)
		}
	}
	if l := s.Limits["memory"]; l.Value == nil {
		t.Error("memory has no limit")
	}
}

// TestUsageByDay: the days of a month come to what the limits say is used.
func TestUsageByDay(t *testing.T) {
	w, _ := counted(t, func(*account.Limits) {})
	ada, bob := w.member("ada", account.Free), w.member("bob", account.Standard)
	for _, m := range []member{ada, bob} {
		as := []string{"Authorization", basic(m.name, m.password)}
		for range 3 {
			w.query(m, `EMIT 1`, "")
		}
		w.sql(m, "main", `{"sql":"CREATE TABLE t(a)","write":true}`)
		w.send("PUT", "/v1/files/a.txt", "", "hello", as...)
		w.send("GET", "/v1/files/a.txt", "", "", as...)
		check(t, w.recorder.Flush(t.Context()))
		var limits shownLimits
		var days struct {
			By       string
			ResetsAt time.Time `json:"resets_at"`
			Usage    []struct {
				Day     string
				Calls   int64
				Running int64 `json:"running_time"`
				Egress  int64
			}
		}
		check(t, json.Unmarshal([]byte(w.send("GET", "/v1/limits", "", "", as...).body), &limits))
		r := w.send("GET", "/v1/usage?by=day", "", "", as...)
		check(t, json.Unmarshal([]byte(r.body), &days))
		var calls, running, egress int64
		for _, d := range days.Usage {
			if strings.HasPrefix(d.Day, time.Now().UTC().Format("2006-01")) {
				calls, running, egress = calls+d.Calls, running+d.Running, egress+d.Egress
			}
		}
		used := func(name string) int64 { return *limits.Limits[name].Used }
		if len(days.Usage) != usage.RetentionDays || calls != used("calls") || running != used("running_time") || egress != used("egress") || calls != 4 || egress != 5 {
			t.Errorf("%s: %d days, %d calls, %d ms, %d bytes; the limits say %d, %d, %d", m.name, len(days.Usage), calls, running, egress, used("calls"), used("running_time"), used("egress"))
		}
	}
	w.send("GET", "/v1/usage?by=week", "", "", "Authorization", basic(ada.name, ada.password)).wantError(t, 400, "invalid_request")
}

// nothingUsed is the store of a month in which nothing happened.
type nothingUsed struct{ usage.Store }

func (nothingUsed) Used(context.Context, account.ID, usage.Month) (usage.Used, error) {
	return usage.Used{}, nil
}

func TestLimitsAreShown(t *testing.T) {
	w, _ := counted(t, func(l *account.Limits) { l.Databases = 0 })
	ada := w.member("ada", account.Free)
	w.query(ada, `EMIT 1`, "")
	s := w.limits(ada)
	if l, ok := s.Limits["databases"]; !ok || l.Value != nil {
		t.Errorf("any number of databases is %+v", l)
	}
	if s.Plan != "free" || *s.Limits["storage"].Used != 77 || *s.Limits["storage"].Value != 100<<20 || *s.Limits["egress"].Value != 10<<30 ||
		*s.Limits["records"].Used != 66 || *s.Limits["records"].Value != 100<<20 ||
		*s.Limits["running_time"].Value != 36_000_000 || *s.Limits["calls"].Used != 1 || s.Limits["memory"].Used != nil {
		t.Errorf("got %+v", s)
	}
	bob := w.limits(w.member("bob", account.Unlimited))
	if bob.Limits["calls"].Value != nil || *bob.Limits["calls"].Used != 0 || bob.Limits["storage"].Value != nil || bob.Limits["records"].Value != nil {
		t.Errorf("got %+v", bob)
	}
	w.send("GET", "/v1/limits?x=1", "", "", "Authorization", basic("ada", ada.key)).wantError(t, 400, "invalid_request")
}

// TestOwnLimits: a limit of an account's own holds for the next call, and for no other account.
func TestOwnLimits(t *testing.T) {
	w := boot(t, settings{})
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	const script = `EMIT "more than ten bytes"`
	check(t, w.accounts.SetLimit(t.Context(), "ada", "script_bytes", "10"))
	if a := w.query(ada, script, "").read(t); a.Error.Limit != "script_bytes" || a.Error.Value != 10 {
		t.Errorf("answer %+v", a)
	}
	if r := w.query(bob, script, ""); r.status != 200 {
		t.Errorf("answer %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/v1/limits", "", "", "Authorization", basic("ada", ada.key)); !strings.Contains(r.body, `"script_bytes":{"value":10}`) {
		t.Errorf("limits %s", r.body)
	}
	check(t, w.accounts.UnsetLimit(t.Context(), "ada", "script_bytes"))
	if r := w.query(ada, script, ""); r.status != 200 {
		t.Errorf("answer %d %s", r.status, r.body)
	}
}
