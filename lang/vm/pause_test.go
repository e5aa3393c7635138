package vm_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/langtest/gen"
	"ql/lang/value"
	"ql/lang/vm"
)

// A machine that is stopped at any of its effects, stored and restored must do
// what it does when it runs straight through. The tests here compare whole
// runs, and the state at each effect on the way.

// record is all that can be seen of a run, times left out.
type record struct {
	Status   vm.Status
	Output   string
	Error    string
	Trace    []string
	Dropped  int64
	Steps    int64
	Fuel     int64
	Response string
	Cookies  string
	Hashes   []string // of the state at each effect
}

// subject is a program with a host and the limits of its runs.
type subject struct {
	text   string
	prog   *bytecode.Program
	host   gen.Host
	limits vm.Limits
}

func newSubject(t testing.TB, seed uint64) subject {
	text := gen.Program(seed, gen.Options{Statements: 15 + int(seed%40)})
	l := langtest.Limits()
	l.Fuel = 20e6
	l.TraceFirst = []int{500, 0, 7, 40, 1 << 20}[seed%5]
	l.TraceLast = []int{500, 3, 0, 20}[seed%4]
	if seed%3 == 0 {
		l.Memory = 6_000 + int64(seed%11)*2_000 // so that live memory is measured now and then
	}
	return subject{text: text, prog: compile(t, text), host: gen.Host{Seed: seed, Failures: int(seed % 5)}, limits: l}
}

func (s subject) start() *vm.Machine {
	get := value.NewMap(nil, 0)
	get.SetText("n", value.Text("12"))
	get.SetText("list", value.ListOf(value.Int(1), value.Text("x")))
	return vm.New(s.prog, s.limits, vm.Input{Get: get.Value()})
}

// mostEffects is after how many effects a run is given up.
const mostEffects = 400

// drive runs a machine to its end. at is called at each effect and returns the
// machine to go on with; it may be nil.
func (s subject) drive(m *vm.Machine, at func(*vm.Machine) *vm.Machine, answer func(*vm.Machine)) (*vm.Machine, record) {
	var r record
	for m.Run(context.Background()) == vm.Pending && m.Effect().Seq <= mostEffects {
		switch m.Effect().Kind.Info().Class {
		case bytecode.ClassHuman, bytecode.ClassWait:
			m.MarkPaused()
		}
		r.Hashes = append(r.Hashes, fmt.Sprintf("%x", m.StateHash()))
		if at != nil {
			m = at(m)
		}
		answer(m)
	}
	r.Status = m.Status()
	r.Output = string(m.Output())
	if e := m.Err(); e != nil {
		r.Error = fmt.Sprintf("%s in %q: %v %v", e.Code, e.Step, e, e.Stack)
	}
	steps, dropped := m.Trace()
	for _, x := range steps {
		r.Trace = append(r.Trace, fmt.Sprintf("%s %s %s %d %d", x.Step, x.Status, x.Class, x.Line, x.Number))
	}
	r.Dropped, r.Steps, r.Fuel = dropped, m.Steps(), m.Fuel()
	r.Response = string(value.AppendJSON(nil, m.Response()))
	r.Cookies = string(value.AppendJSON(nil, m.Cookies()))
	return m, r
}

// asked answers an effect by asking the host.
func (s subject) asked(m *vm.Machine) {
	v, err := s.host.Answer(m.Effect())
	if err != nil {
		m.ResumeError(err)
		return
	}
	m.Resume(v)
}

// restored stores a machine and returns what is restored from that, having
// checked that the two are the same.
func restored(t testing.TB, p *bytecode.Program, m *vm.Machine) *vm.Machine {
	t.Helper()
	snapshot, err := m.Snapshot(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(m.Output())
	m.Poison(poison)
	m.Release()
	m, err = vm.Restore(context.Background(), nil, p, snapshot, out)
	if err != nil {
		t.Fatalf("restoring: %v", err)
	}
	again, err := m.Snapshot(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshot, again) {
		t.Fatalf("a snapshot of %d bytes was restored, stored again it has %d and is another", len(snapshot), len(again))
	}
	m.Poison(poison)
	return m
}

// poison stands in registers that nothing may read.
var poison = value.Text(strings.Repeat("poison", 300)).Freeze()

// promised says that promises are to be checked at their full counts.
var promised = os.Getenv("QL_PROMISES") != ""

// count returns how many seeds a property is tried with.
func count(short, normal int) uint64 {
	switch {
	case promised:
		return uint64(10 * normal)
	case testing.Short():
		return uint64(short)
	}
	return uint64(normal)
}

// way is a way of running a subject, to be compared with running it straight
// through. look, where not nil, is called at each effect.
type way func(t testing.TB, s subject, look func(*vm.Machine)) record

func straight(_ testing.TB, s subject, look func(*vm.Machine)) record {
	m, r := s.drive(s.start(), func(m *vm.Machine) *vm.Machine { look(m); return m }, s.asked)
	m.Release()
	return r
}

func pausing(t testing.TB, s subject, look func(*vm.Machine)) record {
	m, r := s.drive(s.start(), func(m *vm.Machine) *vm.Machine {
		look(m)
		return restored(t, s.prog, m)
	}, s.asked)
	m.Release()
	return r
}

func nothing(*vm.Machine) {}

// report fails the test with a short program for which the way of running it
// matters, and with where its runs part.
func (s subject) report(t testing.TB, seed uint64, other way) {
	t.Helper()
	s.text = gen.Shrink(s.text, func(text string) bool {
		p, err := lang.Compile(text, lang.Options{})
		if err != nil {
			return false
		}
		s.prog = p
		return !cmp.Equal(straight(t, s, nothing), other(t, s, nothing))
	})
	s.prog = compile(t, s.text)
	states := func(w way) (record, [][]string) {
		var all [][]string
		r := w(t, s, func(m *vm.Machine) { all = append(all, m.Inspect()) })
		return r, all
	}
	want, ways := states(straight)
	got, others := states(other)
	at := 0
	for at < len(want.Hashes) && at < len(got.Hashes) && want.Hashes[at] == got.Hashes[at] {
		at++
	}
	state := ""
	if at < len(ways) && at < len(others) {
		state = cmp.Diff(ways[at], others[at])
	}
	want.Hashes, got.Hashes = nil, nil
	t.Fatalf("seed %d: the same up to effect %d (-want +got):\n%s\nits state:\n%s\n%s", seed, at, cmp.Diff(want, got), state, numbered(s.text))
}

// TestPromisePauseEverywhere stores and restores every machine at every effect.
func TestPromisePauseEverywhere(t *testing.T) {
	effects := 0
	var ends [5]int
	for seed := range count(150, 1000) {
		s := newSubject(t, seed)
		want := straight(t, s, nothing)
		if !cmp.Equal(want, pausing(t, s, nothing)) {
			s.report(t, seed, pausing)
		}
		effects += len(want.Hashes)
		ends[want.Status]++
	}
	t.Logf("%d effects; %d runs done, %d declined, %d failed, %d given up", effects, ends[vm.Done], ends[vm.Declined], ends[vm.Failed], ends[vm.Pending])
	if effects == 0 || ends[vm.Done] == 0 || ends[vm.Failed] == 0 || ends[vm.Declined] == 0 && !testing.Short() {
		t.Error("some kind of end is never reached")
	}
}

// entry is a host's result as a journal keeps it.
type entry struct {
	Value         []byte
	Code, Message string
}

func journalled(v value.Value, err error) entry {
	var e *value.Error
	if errors.As(err, &e) {
		return entry{Code: e.Code, Message: e.Message}
	}
	enc := value.NewEncoder(nil)
	enc.Value(v)
	return entry{Value: enc.Bytes()}
}

func (e entry) give(t testing.TB, m *vm.Machine) {
	if e.Code != "" {
		m.ResumeError(value.Errorf(e.Code, "%s", e.Message))
		return
	}
	d := value.NewDecoder(e.Value, 1<<20)
	v := d.Value()
	if d.Err() != nil || d.Remaining() != 0 {
		t.Fatalf("a journal entry cannot be read: %v, %d bytes are left", d.Err(), d.Remaining())
	}
	m.Resume(v)
}

// moment is a machine as it was stored at an effect.
type moment struct {
	Snapshot, Output []byte
}

// history runs a subject, keeping all moments and all results.
func (s subject) history(t testing.TB) (record, []moment, []entry) {
	var moments []moment
	var journal []entry
	m, r := s.drive(s.start(), func(m *vm.Machine) *vm.Machine {
		snapshot, err := m.Snapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, moment{snapshot, bytes.Clone(m.Output())})
		return m
	}, func(m *vm.Machine) {
		v, err := s.host.Answer(m.Effect())
		e := journalled(v, err)
		journal = append(journal, e)
		e.give(t, m)
	})
	m.Release()
	return r, moments, journal
}

// TestPromiseJournal restores machines from earlier moments and gives them the
// results that a journal kept.
func TestPromiseJournal(t *testing.T) {
	replays := 0
	for seed := range count(100, 500) {
		s := newSubject(t, seed)
		want, moments, journal := s.history(t)
		for i := 0; i < len(moments); i += 1 + len(moments)/6 {
			m, err := vm.Restore(context.Background(), nil, s.prog, moments[i].Snapshot, moments[i].Output)
			if err != nil {
				t.Fatalf("seed %d, effect %d: %v", seed, i, err)
			}
			m.Poison(poison)
			at := i
			m, got := s.drive(m, nil, func(m *vm.Machine) {
				journal[at].give(t, m)
				at++
			})
			m.Release()
			got.Hashes = append(slices.Clone(want.Hashes[:i]), got.Hashes...)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, repeated from effect %d on (-want +got):\n%s\n%s", seed, i, d, numbered(s.text))
			}
			replays++
		}
	}
	t.Logf("%d replays", replays)
}

// TestTimesLeftOut checks that the state's hash does not depend on the clock.
func TestTimesLeftOut(t *testing.T) {
	s := subject{text: "SET ?a AS NOW() SET ?b AS NOW()"}
	s.prog, s.limits = compile(t, s.text), langtest.Limits()
	m := s.start()
	m.Run(context.Background())
	before := m.StateHash()
	snapshot, err := m.Snapshot(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		later, err := m.Snapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.StateHash() != before {
			t.Fatal("the state's hash changes with time")
		}
		if !bytes.Equal(later, snapshot) {
			return
		}
	}
	t.Error("the clock of a waiting machine stands still")
}

// inheritance is what a process needs to go on with another's machine.
type inheritance struct {
	Text   string
	Moment moment
	Host   gen.Host
}

// continueEnv names the file with an inheritance, for a process of its own.
const continueEnv = "QL_TEST_CONTINUE"

func TestMain(m *testing.M) {
	if file := os.Getenv(continueEnv); file != "" {
		if err := continueRun(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// continueRun goes on with stored machines and writes what becomes of them to
// standard output.
func continueRun(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all []inheritance
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&all); err != nil {
		return err
	}
	var records []record
	for _, in := range all {
		p, err := lang.Compile(in.Text, lang.Options{})
		if err != nil {
			return err
		}
		m, err := vm.Restore(context.Background(), nil, p, in.Moment.Snapshot, in.Moment.Output)
		if err != nil {
			return err
		}
		m.Poison(poison)
		s := subject{text: in.Text, prog: p, host: in.Host}
		m, r := s.drive(m, nil, s.asked)
		m.Release()
		records = append(records, r)
	}
	return gob.NewEncoder(os.Stdout).Encode(records)
}

// TestPauseAcrossProcesses goes on with stored machines in a process of its
// own, which compiles the programs anew.
func TestPauseAcrossProcesses(t *testing.T) {
	var all []inheritance
	var want []record
	for seed := range count(30, 120) {
		s := newSubject(t, 10_000+seed)
		r, moments, _ := s.history(t)
		if len(moments) == 0 {
			continue
		}
		i := int(seed) % len(moments)
		all = append(all, inheritance{Text: s.text, Moment: moments[i], Host: s.host})
		r.Hashes = r.Hashes[i:]
		want = append(want, r)
	}
	file := filepath.Join(t.TempDir(), "moments")
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(all); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), continueEnv+"="+file)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var got []record
	if err := gob.NewDecoder(&out).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d machines were handed over, %d came back", len(want), len(got))
	}
	t.Logf("%d machines", len(got))
	for i := range want {
		if d := cmp.Diff(want[i], got[i]); d != "" {
			t.Fatalf("another process does otherwise (-want +got):\n%s\n%s", d, numbered(all[i].Text))
		}
	}
}
