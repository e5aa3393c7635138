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
// question.
func TestPromiseAcceptedMeansFlushed(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test needs strace: tools/need strace strace installs it")
	}
	kinds := []struct {
		name, file, script string
		modes              []string
	}{
		{"standing", "ql.db-wal", `CONFIRM "sure?"`, []string{"async", "sync"}},
		{"ended", "ql.intake", `EMIT "a"`, []string{"async"}},
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
				w := watch(t, traced, filepath.Join(s.data, kind.file))
				t.Logf("%d clients: %d answers 202, %d flushes of %s; %d answers left before theirs", clients, w.answers, w.flushes, kind.file, w.early)
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
	t   *testing.T
	log string // the store's, as a file

	read    map[string]int    // when a request last came in, by connection
	begun   map[string]string // calls that have not ended, by thread
	written []int             // when the log was written
	flushed []span            // when it was flushed

	answers, flushes, early int
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
func watch(t *testing.T, traced, log string) *watched {
	t.Helper()
	f, err := os.Open(traced)
	check(t, err)
	defer f.Close()
	w := &watched{t: t, log: log, read: map[string]int{}, begun: map[string]string{}}
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
	wrote, _ := slices.BinarySearch(w.written, came+1)
	if wrote == len(w.written) || !slices.ContainsFunc(w.flushed, func(f span) bool { return f.begin > w.written[wrote] }) {
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
	switch call[2] {
	case "read":
		if strings.HasPrefix(call[4], "TCP") && result[1] != "0" {
			w.read[call[4]] = now
		}
	case "pwrite64":
		if call[4] == w.log {
			w.written = append(w.written, now)
		}
	case "fsync", "fdatasync":
		if call[4] == w.log {
			w.flushes++
			w.flushed = append(w.flushed, span{begin, now})
		}
	}
}
