package crashtest

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/programtest"
)

// broken has system calls of the running server on some of its files fail, as told by
// a rule of strace, until the function that it returns is called. What a rule counts it
// counts by thread.
func (s *server) broken(rule string, files ...string) (mend func()) {
	s.t.Helper()
	calls, _, _ := strings.Cut(rule, ":")
	arguments := []string{"-f", "-p", strconv.Itoa(s.process.Process.Pid), "-o", "/dev/null", "-e", "trace=" + calls, "-e", "inject=" + rule}
	for _, name := range files {
		arguments = append(arguments, "-P", filepath.Join(s.data, name))
	}
	strace := exec.CommandContext(s.t.Context(), "strace", arguments...)
	strace.SysProcAttr = programtest.DieWithParent()
	said, err := strace.StderrPipe()
	check(s.t, err)
	if err := strace.Start(); err != nil {
		s.t.Fatalf("this test needs strace: tools/need strace strace installs it: %v", err)
	}
	attached := false
	lines := bufio.NewScanner(said)
	for !attached && lines.Scan() {
		s.t.Log(lines.Text())
		attached = strings.Contains(lines.Text(), " attached")
	}
	if !attached {
		s.t.Fatal("strace could not watch the server: run the tests as a user who may trace processes")
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for lines.Scan() { // else it would wait for a reader
		}
		_ = strace.Wait() // it ends by a signal, or with the server
	}()
	return func() {
		_ = strace.Process.Signal(os.Interrupt) // the server may be gone, and it with that
		<-gone
	}
}

const flushes = "fsync,fdatasync:error=EIO"

// TestPromiseRefusedNeverRuns has the disk fail under jobs that come in, kills the
// server and starts it again: what was accepted has run once, what was refused never,
// and of what nobody can know the answer says so.
func TestPromiseRefusedNeverRuns(t *testing.T) {
	const logged = `INSERT INTO ran VALUES (!GET('n'));`
	for _, test := range []struct {
		name, rule string
		files      []string
		unknown    bool // whether it must be said that something is not known
	}{
		{"every other flush", flushes + ":when=1+2", []string{"ql.db-wal"}, false},
		{"one flush of three", flushes + ":when=2+3", []string{"ql.db-wal"}, false},
		{"all flushes", flushes, []string{"ql.db-wal"}, true},
		{"all writes", "pwrite64:error=EIO", []string{"ql.db-wal"}, true},
		{"the end of writes", "pwrite64:error=EIO:when=3+4", []string{"ql.db-wal"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			s.start()
			answers := map[string]string{}
			said := map[string]int{}
			n := 0
			// Where another write of the service meets the failure first, jobs are refused for certain.
			isMissing := func() bool { return test.unknown && said["outcome_unknown"] == 0 }
			for round := 0; round < count(4, 40) || isMissing() && round < 40; round++ {
				s.output(`CREATE TABLE IF NOT EXISTS ran (n TEXT);`) // what is written after a start comes before the failure
				mend := s.broken(test.rule, test.files...)
				for range 3 {
					n++
					a, err := s.try(query("async", logged, "n", strconv.Itoa(n)))
					check(t, err)
					what := outcome(t, a)
					answers[strconv.Itoa(n)] = what
					said[what]++
				}
				s.kill()
				mend()
				s.start()
			}
			t.Logf("answers: %v", said)
			if said["storage_unavailable"] == 0 || isMissing() {
				t.Errorf("%v was answered", said)
			}
			for {
				if s.listed("accepted")+s.listed("running")+s.listed("waiting") == 0 {
					break
				}
			}
			ran := map[string]int{}
			for _, line := range strings.Fields(s.output(`SELECT group_concat(n, ' ') FROM ran SET VALUE ?all EMIT ?all`)) {
				ran[line]++
			}
			for n, what := range answers {
				switch times := ran[n]; {
				case what == "accepted" && times != 1, what == "storage_unavailable" && times != 0, times > 1:
					t.Errorf("job %s was answered %s and ran %d times", n, what, times)
				}
			}
		})
	}
}

// outcome is what an answer to a job says: accepted, or a code.
func outcome(t *testing.T, a answer) string {
	t.Helper()
	j, err := a.job()
	check(t, err)
	switch code := j.code(); {
	case a.status == http.StatusAccepted:
		return "accepted"
	case a.status == http.StatusServiceUnavailable && code == "storage_unavailable",
		a.status == http.StatusInternalServerError && code == "outcome_unknown" && a.header.Get("Retry-After") == "":
		return code
	}
	t.Errorf("answered %s", a)
	return ""
}

// TestPromiseRefusedIsNotInTheIntake is TestPromiseRefusedNeverRuns for jobs that are
// over when they are accepted.
func TestPromiseRefusedIsNotInTheIntake(t *testing.T) {
	both := []string{"ql.db-wal", "ql.intake"}
	for _, test := range []struct {
		name, rule string
		files      []string
		want       string // "" for any
	}{
		{"the intake alone", flushes, both[1:], "accepted"},
		{"now and then", flushes + ":when=1+2", both, ""},
		{"both", flushes, both, "outcome_unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			s.start()
			s.output(`EMIT "ready"`)
			before := s.listed("complete") // and all is stored
			mend := s.broken(test.rule, test.files...)
			a, err := s.try(query("async", `EMIT "mine"`))
			check(t, err)
			what := outcome(t, a)
			t.Log(what)
			if test.want != "" && what != test.want {
				t.Errorf("answered %s, want %s", a, test.want)
			}
			s.kill()
			mend()
			s.start()
			after := s.listed("complete")
			switch j, err := a.job(); {
			case err != nil:
				t.Error(err)
			case what == "accepted" && after != before+1, what == "storage_unavailable" && after != before:
				t.Errorf("answered %s, and the list went from %d to %d jobs", a, before, after)
			case what == "outcome_unknown":
				// The message names the job.
				id := strings.Fields(strings.SplitN(j.Error.Message, "the job ", 2)[1])[0]
				found, err := s.call(request{method: http.MethodGet, path: "/v1/job/" + id})
				check(t, err)
				if (found.status == http.StatusOK) != (after == before+1) {
					t.Errorf("polling the job that may be accepted: %s, and the list went from %d to %d jobs", found, before, after)
				}
			}
		})
	}
}

// TestPromiseReadyFollowsWrites: a server whose disk takes no writes is not ready, and
// is ready again by itself, also where nobody writes.
func TestPromiseReadyFollowsWrites(t *testing.T) {
	s := newServer(t)
	s.start()
	ready := func() int {
		a, err := s.try(request{method: http.MethodGet, path: "/readyz"})
		check(t, err)
		return a.status
	}
	if status := ready(); status != http.StatusOK {
		t.Errorf("at first it answers %d", status)
	}
	mend := s.broken(flushes, "ql.db-wal")
	a, err := s.try(query("async", `CONFIRM "sure?"`))
	check(t, err)
	if outcome(t, a) == "accepted" {
		t.Errorf("with a broken disk a job was accepted: %s", a)
	}
	for range 3 {
		if status := ready(); status != http.StatusServiceUnavailable {
			t.Errorf("with a broken disk it answers %d", status)
		}
	}
	mend()
	for deadline := time.Now().Add(patience); ready() != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("it is not ready again")
		}
	}
}
