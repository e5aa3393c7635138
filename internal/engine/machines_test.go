package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// fakeMachines notes what is run, and answers with its input.
type fakeMachines struct {
	runs  []MachineRun
	files map[string]string // by machine and path
	err   error
}

func (f *fakeMachines) Run(_ context.Context, machine string, r MachineRun) (MachineResult, error) {
	if machine != "box" {
		return MachineResult{}, value.Errorf("machine_not_found", "there is no machine %s", machine)
	}
	f.runs = append(f.runs, r)
	if r.Output != nil {
		r.Output(false, []byte("some"))
		r.Output(true, []byte("odd"))
	}
	return MachineResult{Code: 3, Stdout: r.Input, Stderr: []byte("odd")}, f.err
}

func (f *fakeMachines) CopyTo(_ context.Context, machine, path string, from io.Reader) error {
	content, err := io.ReadAll(from)
	if f.files == nil {
		f.files = map[string]string{}
	}
	f.files[machine+":"+path] = string(content)
	return errors.Join(err, f.err)
}

func (f *fakeMachines) CopyFrom(_ context.Context, machine, path string, to io.Writer) error {
	content, ok := f.files[machine+":"+path]
	if !ok {
		return value.Errorf("file_not_found", "there is no file %s", path)
	}
	_, err := io.WriteString(to, content)
	return errors.Join(err, f.err)
}

func TestRunCommand(t *testing.T) {
	w := newWorld(t)
	m := &fakeMachines{}
	w.o.Machines = m
	streamed := ""
	w.o.MachineOutput = func(o MachineOutput) {
		streamed += fmt.Sprintf("%s %d %t %s;", o.Machine, o.Line, o.Stderr, o.Piece)
	}
	got := w.result(w.start(`SET ?x AS "it's" RUN "echo {?x}" ON "box" INPUT {a: 1} TIMEOUT 5 SECONDS SET ?r EMIT ?r.code, ?r.stdout, ?r.stderr`))
	if got != `3{"a":1}odd` || streamed != "box 1 false some;box 1 true odd;" {
		t.Errorf("got %q, and %q while it ran", got, streamed)
	}
	if r := m.runs[0]; r.Command.Text != `echo 'it'\''s'` || r.Command.List != nil || r.Timeout != 5*time.Second || len(r.Env[StepKey]) != 32 || r.Most <= 0 {
		t.Errorf("ran %+v", r)
	}
	m.runs = nil
	for script, want := range map[string][]string{
		`RUN ["echo", 1, true, "a b"] ON "box"`:   {"echo", "1", "true", "a b"},
		`SET ?l AS ["echo", "x"] RUN ?l ON "box"`: {"echo", "x"},
	} {
		if got := w.result(w.start(script)); got != "" || !slices.Equal(m.runs[len(m.runs)-1].Command.List, want) {
			t.Errorf("%s: %q, %+v", script, got, m.runs)
		}
	}
	for script, want := range map[string]string{
		`RUN "uptime" ON "boxes"`:            "machine_not_found",
		`RUN "uptime" ON 1`:                  value.WrongKind,
		`RUN 1 ON "box"`:                     value.WrongKind,
		`SET ?x AS "uptime" RUN ?x ON "box"`: value.WrongKind,
		`RUN "a" + "b" ON "box"`:             value.WrongKind,
		`RUN " " ON "box"`:                   value.BadArgument,
		`RUN [] ON "box"`:                    value.BadArgument,
		`RUN [""] ON "box"`:                  value.BadArgument,
		`RUN ["a", null] ON "box"`:           value.WrongKind,
		`RUN ["a", []] ON "box"`:             value.WrongKind,
		`SET ?z AS FROM_JSON('"\u0000"') RUN "echo {?z}" ON "box"`:       value.BadArgument,
		`SET ?z AS FROM_JSON('"\u0000"') RUN ["echo", ?z] ON "box"`:      value.BadArgument,
		`RUN "a" ON "box" TIMEOUT 0 SECONDS`:                             value.BadArgument,
		`COPY "/a" ON "box" TO "/b" ON "box"`:                            value.BadArgument,
		`COPY "/none" TO "a" ON "box"`:                                   "file_not_found",
		`COPY "none" ON "box" TO "/a"`:                                   "file_not_found",
		`COPY "a" ON 7 TO "/a"`:                                          value.WrongKind,
		`SET ?z AS FROM_JSON('"\u0000"') COPY "/a" TO "a" + ?z ON "box"`: value.BadArgument,
		`COPY 1 TO "a" ON "box"`:                                         value.WrongKind,
		`TRY RUN "a" ON "x" CATCH ?e FAIL "c" END`:                       "script_failed",
	} {
		ran := len(m.runs)
		out, err := w.start(script).Continue(w.ctx)
		if err != nil || out.Err == nil || out.Err.Code != want {
			t.Errorf("%s: %v, %v; want %s", script, out.Err, err, want)
		}
		if len(m.runs) > ran {
			t.Errorf("%s was run", script)
		}
	}
	w.o.Machines = nil
	for _, script := range []string{`RUN "a" ON "box"`, `COPY "/a" TO "a" ON "box"`} {
		if got := w.result(w.start(script)); !strings.Contains(got, "there are no machines here") {
			t.Errorf("%s: %s", script, got)
		}
	}
}

func TestMachineCopy(t *testing.T) {
	w := newWorld(t)
	m := &fakeMachines{}
	w.o.Machines, w.files["/a"] = m, "content"
	if got := w.result(w.start(`COPY "/a" TO "in/a" ON "box" COPY "in/a" ON "box" TO "/b"`)); got != "" || w.files["/b"] != "content" {
		t.Errorf("got %q, %v", got, w.files)
	}
	m.err = value.Errorf("machine_failed", "cut off")
	if got := w.result(w.start(`COPY "in/a" ON "box" TO "/c"`)); !strings.Contains(got, "cut off") || w.files["/c"] != "" {
		t.Errorf("of what came in part there is %q: %s", w.files["/c"], got)
	}
}

// TestRunUnderJournal: nothing is run before what led to it is kept, it has the key of its step, and
// the trace tells of one that was cut off before.
func TestRunUnderJournal(t *testing.T) {
	w := newWorld(t)
	m, j := &fakeMachines{}, &fakeJournal{begun: map[int64]bool{3: true}}
	w.o.Machines, w.o.Journal = m, j
	var results []Result
	r := w.start(`SET ?x AS UUID() RUN "a" ON "box" RUN "b" ON "box" RUN "c" ON "box"`)
	r.o.Observe = observer(&results)
	if got := w.result(r); got != "" || !slices.Equal(j.calls, []int64{2, 3, 4}) {
		t.Fatalf("got %q, journal flushed at %v", got, j.calls)
	}
	for i, want := range []string{"key-2", "key-3", "key-4"} {
		if got := m.runs[i].Env[StepKey]; got != want {
			t.Errorf("%d has the key %s", i, got)
		}
	}
	repeated := func(r *Run) (all []bool) {
		steps, _ := r.Machine().Trace()
		for _, s := range steps {
			all = append(all, s.Repeated)
		}
		return all
	}
	if got := repeated(r); !slices.Equal(got, []bool{false, false, true, false}) || results[1].Repeated || !results[2].Repeated || results[3].Repeated {
		t.Errorf("repeated are %v, %+v", got, results)
	}
	// What is replayed says so too.
	j.results = map[int64]Result{}
	for _, one := range results {
		j.results[one.Seq] = one
	}
	ran := len(m.runs)
	r = w.start(`SET ?x AS UUID() RUN "a" ON "box" RUN "b" ON "box" RUN "c" ON "box"`)
	if got := w.result(r); got != "" || len(m.runs) != ran || !slices.Equal(repeated(r), []bool{false, false, true, false}) {
		t.Errorf("replayed: %q, %d runs more, repeated %v", got, len(m.runs)-ran, repeated(r))
	}
	j.results, j.err = nil, errors.New("the disk is full")
	if got := w.result(w.start(`RUN "a" ON "box"`)); got != "|interrupted|log: the disk is full" || len(m.runs) != ran {
		t.Errorf("what cannot be kept: %s, after %d runs", got, len(m.runs)-ran)
	}
	j.err, m.err = nil, errors.New("no word came back")
	if got := w.result(w.start(`TRY RUN "a" ON "box" CATCH ?e EMIT "caught" END`)); got != "|interrupted|log: no word came back" {
		t.Errorf("what nobody knows the end of: %s", got)
	}
}

func observer(to *[]Result) func(*vm.Effect, Result) {
	return func(_ *vm.Effect, t Result) {
		if t.Kind != bytecode.EffectNone {
			*to = append(*to, t)
		}
	}
}
