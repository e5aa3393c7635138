package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/lang/value"
)

// fakeCalls are jobs that end when they are told to.
type fakeCalls struct {
	log       []string
	ended     map[string]value.Value
	failed    map[string]*value.Error
	signals   []*Signal
	startFail error
}

func (f *fakeCalls) note(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fakeCalls) NewJob() string { return fmt.Sprintf("job-%d", len(f.log)+1) }

func (f *fakeCalls) Start(_ context.Context, id string, c ScriptCall, checkpoint func() context.Context) error {
	checkpoint()
	f.note("start %s %s %s %t", id, c.Name, c.Input, c.Wait)
	return f.startFail
}

func (f *fakeCalls) Ended(_ context.Context, id string, _ *value.Meter) (value.Value, bool, error) {
	if err := f.failed[id]; err != nil {
		return value.Null, true, err
	}
	v, ok := f.ended[id]
	return v, ok, nil
}

func (f *fakeCalls) Cancel(_ context.Context, id string) error {
	f.note("cancel %s", id)
	return nil
}

func (f *fakeCalls) Signal(_ context.Context, id string, s Signal) error {
	f.note("signal %s %s %s", id, s.Name, s.Data)
	return nil
}

func (f *fakeCalls) NextSignal(_ context.Context, name string) (*Signal, error) {
	for _, s := range f.signals {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, nil
}

func (f *fakeCalls) ConsumeSignal(_ context.Context, s *Signal) error {
	f.note("take %d", s.Number)
	f.signals = f.signals[1:]
	return nil
}

func TestRunScript(t *testing.T) {
	w := newWorld(t)
	f := &fakeCalls{}
	w.o.Calls = f
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.o.Clock = func() time.Time { return now }
	const script = `TRY RUN SCRIPT "report" USING {a: 1} WITHIN 5 MINUTES SET ?r EMIT ?r CATCH ?e EMIT "{?e.code}: {?e.message}" END`
	r := w.start(script)
	out, err := r.Continue(w.ctx)
	if err != nil || out.Status != Waiting || out.Awaits != (Awaits{Job: "job-1"}) || !out.Until.Equal(now.Add(5*time.Minute)) || f.log[0] != `start job-1 report {"a":1} true` {
		t.Fatalf("%+v, %v, %v", out, err, f.log)
	}
	if again, _ := r.Continue(w.ctx); again.Until != out.Until || again.Awaits != out.Awaits {
		t.Errorf("asked again: %+v", again)
	}
	f.ended = map[string]value.Value{"job-1": value.Text("done")}
	if got := w.result(r); got != "done" {
		t.Errorf("after its end: %s", got)
	}

	f.log, f.ended, f.failed = nil, nil, map[string]*value.Error{"job-1": value.Errorf("out_of_stock", "nothing left")}
	if got := w.result(w.start(script)); got != "out_of_stock: nothing left" {
		t.Errorf("an error of it: %s", got)
	}

	f.log, f.failed = nil, nil
	r = w.start(script)
	if out, err := r.Continue(w.ctx); err != nil || out.Status != Waiting {
		t.Fatal(out, err)
	}
	now = now.Add(5 * time.Minute)
	if got := w.result(r); got != "expired: the job did not end in time" || f.log[len(f.log)-1] != "cancel job-1" {
		t.Errorf("too late: %s, %v", got, f.log)
	}

	f.log = nil
	r = w.start(`START SCRIPT "a" SET ?job TRY WAIT FOR ?job WITHIN 1 MINUTE CATCH ?e EMIT ?e.code END`)
	if out, err := r.Continue(w.ctx); err != nil || out.Status != Waiting {
		t.Fatal(out, err)
	}
	now = now.Add(time.Hour)
	if got := w.result(r); got != "expired" || strings.Contains(strings.Join(f.log, " "), "cancel") {
		t.Errorf("one that was started: %s, %v", got, f.log)
	}
	f.startFail = value.Errorf("script_not_found", "there is none")
	if got := w.result(w.start(`TRY START SCRIPT "a" CATCH ?e EMIT ?e.code END`)); got != "script_not_found" {
		t.Errorf("one that is not there: %s", got)
	}
}

func TestCallsRefuse(t *testing.T) {
	for script, want := range map[string]string{
		`RUN SCRIPT 5`:                                    "wrong_kind: the name that RUN SCRIPT takes is a text, not the number 5",
		`START SCRIPT "a" USING [1]`:                      "wrong_kind: USING takes a map such as {name: \"text\"}, not a list of 1",
		`START SCRIPT "a" USING {a: REPEAT("x", 70000)}`:  "bad_argument: what a script is run with may have 65536 bytes as JSON: write the rest to a file, and give its path",
		`WAIT FOR 5`:                                      "wrong_kind: the job that WAIT FOR takes is a text, not the number 5",
		`WAIT FOR "j" WITHIN 0 SECONDS`:                   "bad_argument: WITHIN takes a time in which it can come, not 0",
		`WAIT FOR SIGNAL ""`:                              "bad_argument: the name of a signal has 1 to 100 characters on one line",
		`SIGNAL "a\nb" TO "j"`:                            "bad_argument: the name of a signal has 1 to 100 characters on one line",
		`SIGNAL "a" TO NULL`:                              "wrong_kind: the job that SIGNAL … TO takes is a text, not null",
		`SIGNAL "a" TO "j" USING {a: REPEAT("x", 70000)}`: "bad_argument: what a signal carries may have 65536 bytes as JSON: write the rest to a file, and give its path",
	} {
		w := newWorld(t)
		f := &fakeCalls{}
		w.o.Calls = f
		if got := w.result(w.start(`TRY ` + script + ` CATCH ?e EMIT "{?e.code}: {?e.message}" END`)); got != want || len(f.log) > 0 {
			t.Errorf("%s: got %s, %v", script, got, f.log)
		}
	}
	w := newWorld(t)
	if got := w.result(w.start(`TRY RUN SCRIPT "a" CATCH ?e EMIT ?e.code END TRY WAIT FOR SIGNAL "a" CATCH ?e EMIT ?e.code END TRY WAIT FOR "a" CATCH ?e EMIT ?e.code END TRY SIGNAL "a" TO "b" CATCH ?e EMIT ?e.code END`)); got != strings.Repeat("not_available", 4) {
		t.Errorf("where there are none: %s", got)
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	f := &fakeCalls{signals: []*Signal{{Number: 7, Name: "paid", Data: []byte(`{"amount":5}`)}}}
	w.o.Calls = f
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.o.Clock = func() time.Time { return now }
	r := w.start(`WAIT FOR SIGNAL "paid" WITHIN 3 DAYS SET ?d EMIT ?d.amount SIGNAL "thanks" TO "other" USING ?d
TRY WAIT FOR SIGNAL "paid" WITHIN 1 DAY SET ?d CATCH ?e EMIT " {?e.code}: {?e.message}" END`)
	out, err := r.Continue(w.ctx)
	if err != nil || out.Status != Waiting || out.Awaits != (Awaits{Signal: "paid"}) || !out.Until.Equal(now.Add(24*time.Hour)) || strings.Join(f.log, ", ") != `take 7, signal other thanks {"amount":5}` {
		t.Fatalf("%+v, %v, %v", out, err, f.log)
	}
	now = now.Add(24 * time.Hour)
	if got := w.result(r); got != "5 expired: the signal \"paid\" did not come in time" {
		t.Errorf("got %s", got)
	}
}
