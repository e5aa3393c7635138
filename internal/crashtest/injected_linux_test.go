package crashtest

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/programtest"
)

// faulty has some of the server's system calls fail for a while, by a rule of strace, and
// returns how many did.
func (s *server) faulty(rule string, lasts time.Duration) int {
	s.t.Helper()
	calls, _, _ := strings.Cut(rule, ":")
	log := filepath.Join(s.t.TempDir(), "strace.log")
	strace := exec.CommandContext(s.t.Context(), "strace", "-f", "-p", strconv.Itoa(s.process.Process.Pid), "-o", log, "-e", "trace="+calls, "-e", "inject="+rule)
	strace.SysProcAttr = programtest.DieWithParent()
	said, err := strace.StderrPipe()
	check(s.t, err)
	if err := strace.Start(); err != nil {
		s.t.Fatalf("this test needs strace: tools/need strace strace installs it: %v", err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), " attached") {
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for lines.Scan() { // else it would wait for a reader
		}
		_ = strace.Wait() // it ends by a signal
	}()
	<-time.After(lasts)
	check(s.t, strace.Process.Signal(os.Interrupt))
	<-gone
	text, err := os.ReadFile(log)
	check(s.t, err)
	return bytes.Count(text, []byte("(INJECTED)"))
}

// TestPromiseFaults has writes and flushes of the server fail at random, as on a disk that
// is full or breaks, and kills it now and then: every job that was accepted is done exactly
// once, and one that was refused never.
func TestPromiseFaults(t *testing.T) {
	l := newLedger(newServer(t))
	faults, most := 0, count(20, 1000)
	rounds := 0
	l.under(8, int64(count(2, 40)), int64(count(40, 1000)), func() {
		for faults < most {
			rule := fmt.Sprintf("%s:error=%s:when=%d+%d",
				[]string{"pwrite64", "fsync,fdatasync", "pwrite64,fsync,fdatasync", "ftruncate,fallocate,pwrite64"}[rand.IntN(4)],
				[]string{"EIO", "ENOSPC"}[rand.IntN(2)], 1+rand.IntN(5), 1+rand.IntN(20))
			if _, err := l.address(t.Context()); err != nil {
				t.Error(err)
				return
			}
			faults += l.faulty(rule, 100*time.Millisecond+rand.N(300*time.Millisecond))
			if rounds++; rounds%3 == 0 {
				break
			}
		}
		l.kill()
		l.spawn()
	})
	t.Logf("%d calls of the system failed in %d rounds", faults, rounds)
	if t.Failed() {
		return
	}
	l.kill()
	l.start()
	l.audit()
}
