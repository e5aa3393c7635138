package crashtest

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestPromiseAcceptedMeansFlushed watches the system calls of the server: no 202
// leaves before what it tells of was written and flushed to the disk after the
// request came in, to the store's log or, of a job that has come to its end, to the
// intake. A 202 tells of a job that was accepted, or of a script that stands at a
// question. A job that did not end at once, on a machine that was busy, is accepted
// by the store.
func TestPromiseAcceptedMeansFlushed(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test needs strace: tools/need strace strace installs it")
	}
	kinds := []struct {
		name, script string
		files        []string // the first is the one that is expected
		modes        []string
	}{
		{"standing", `CONFIRM "sure?"`, []string{"ql.db-wal"}, []string{"async", "sync"}},
		{"ended", `EMIT "a"`, []string{"ql.intake", "ql.db-wal"}, []string{"async"}},
	}
	for _, kind := range kinds {
		for _, clients := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, %d clients", kind.name, clients), func(t *testing.T) {
				calls := count(10, 200)
				traced := filepath.Join(t.TempDir(), "calls")
				s := newServer(t)
				s.before = []string{strace, "-f", "-yy", "-s", "16", "-o", traced, "-e", "trace=read,write,writev,pwrite64,fsync,fdatasync"}
				s.start()
				s.output(`EMIT "ready"`)
				var calling sync.WaitGroup
				for range clients {
					calling.Go(func() {
						for i := range calls {
							if a, err := s.try(query(kind.modes[i%len(kind.modes)], kind.script)); err != nil || a.status != http.StatusAccepted {
								t.Errorf("%s, %v", a, err)
							}
						}
					})
				}
				calling.Wait()
				s.interrupt(t)
				var logs []*watchedFile
				for _, name := range kind.files {
					logs = append(logs, &watchedFile{file: filepath.Join(s.data, name)})
				}
				w := watch(t, traced, logs)
				t.Logf("%d clients: %d answers 202, %d flushes of %s; %d answers left before theirs", clients, w.answers, len(logs[0].flushed), kind.files[0], w.early)
				if len(logs[0].flushed) == 0 {
					t.Errorf("%s was never flushed", kind.files[0])
				}
				if w.answers != clients*calls {
					t.Errorf("%d answers were seen of %d", w.answers, clients*calls)
				}
				if w.early > 0 {
					t.Error("answers left before what they tell was on the disk")
				}
			})
		}
	}
}

// interrupt stops a server that another program watches, which then ends as the
// server did.
func (s *server) interrupt(t *testing.T) {
	t.Helper()
	pid := s.process.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	check(t, err)
	var child int
	_, err = fmt.Sscan(string(children), &child)
	check(t, err)
	served, err := os.FindProcess(child)
	check(t, err)
	check(t, served.Signal(os.Interrupt))
	<-s.exited
	s.gone()
}

// watched is what happened around the answers, in the order of the calls'
// beginnings and ends. Times are numbers of lines.
type watched struct {
	t    *testing.T
	logs []*watchedFile

	read  map[string]int    // when a request last came in, by connection
	begun map[string]string // calls that have not ended, by thread

	answers, early int
}

// watchedFile is what happened to one file.
type watchedFile struct {
	file    string
	written []int  // when it was written
	flushed []span // when it was flushed
}

// since tells whether the file was written after a moment, and flushed after that.
func (f *watchedFile) since(moment int) bool {
	first, _ := slices.BinarySearch(f.written, moment+1)
	return first < len(f.written) && slices.ContainsFunc(f.flushed, func(s span) bool { return s.begin > f.written[first] })
}

// span is the time between two moments.
type span struct{ begin, end int }

var (
	// As in: 123 read(7<TCP:[127.0.0.1:1->127.0.0.1:2]>, "POST /v1/query H"..., 4096) = 812
	callLine    = regexp.MustCompile(`^(\d+) +(\w+)\((\d+)<(.*?)>[,)](.*)$`)
	resumedLine = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	resultText  = regexp.MustCompile(`= (-?\d+)`)
)

// watch reads what strace wrote.
func watch(t *testing.T, traced string, logs []*watchedFile) *watched {
	t.Helper()
	f, err := os.Open(traced)
	check(t, err)
	defer f.Close()
	w := &watched{t: t, logs: logs, read: map[string]int{}, begun: map[string]string{}}
	lines := bufio.NewScanner(f)
	for now := 1; lines.Scan(); now++ {
		w.line(lines.Text(), now)
	}
	check(t, lines.Err())
	return w
}

func (w *watched) line(line string, now int) {
	begin := now
	if resumed := resumedLine.FindStringSubmatch(line); resumed != nil {
		unfinished := w.begun[resumed[1]]
		delete(w.begun, resumed[1])
		_, err := fmt.Sscan(unfinished, &begin)
		check(w.t, err)
		_, unfinished, _ = strings.Cut(unfinished, " ")
		w.ended(unfinished+resumed[3], begin, now)
		return
	}
	if unfinished, ok := strings.CutSuffix(line, " <unfinished ...>"); ok {
		thread, _, _ := strings.Cut(line, " ")
		w.begun[thread] = fmt.Sprintf("%d %s", now, unfinished)
		w.began(unfinished+")", now)
		return
	}
	w.began(line, now)
	w.ended(line, now, now)
}

// began looks at the beginning of a call: an answer counts as given then.
func (w *watched) began(line string, now int) {
	call := callLine.FindStringSubmatch(line)
	if call == nil || !strings.HasPrefix(call[2], "write") || !strings.Contains(call[5], `"HTTP/1.1 202`) {
		return
	}
	w.answers++
	came := w.read[call[4]]
	if came == 0 {
		w.t.Errorf("an answer to no request: %s", line)
	}
	if !slices.ContainsFunc(w.logs, func(f *watchedFile) bool { return f.since(came) }) {
		w.early++
	}
}

// ended looks at the end of a call.
func (w *watched) ended(line string, begin, now int) {
	call := callLine.FindStringSubmatch(line)
	if call == nil {
		return
	}
	result := resultText.FindStringSubmatch(call[5])
	if result == nil || strings.HasPrefix(result[1], "-") {
		return
	}
	if call[2] == "read" {
		if strings.HasPrefix(call[4], "TCP") && result[1] != "0" {
			w.read[call[4]] = now
		}
		return
	}
	for _, f := range w.logs {
		switch {
		case call[4] != f.file:
		case call[2] == "pwrite64":
			f.written = append(f.written, now)
		case call[2] == "fsync" || call[2] == "fdatasync":
			f.flushed = append(f.flushed, span{begin, now})
		}
	}
}
