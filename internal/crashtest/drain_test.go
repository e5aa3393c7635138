package crashtest

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ql/internal/store/blob/s3/s3test"
)

// TestDrain has a node of two told to stop. It is not ready from then on, and serves on for the drain delay: calls are
// answered, jobs accepted, and those that come due begin at the other. Then it is no member any more, and the job that
// it had under way ends at the other, each of its effects done once.
func TestDrain(t *testing.T) {
	nodes := newNodes(t, s3test.Start(t), 2)
	first, second := nodes[0], nodes[1]
	second.stop()
	const delay = 3 * time.Second
	second.flags = append(second.flags, "--drain-delay", delay.String())
	second.start()

	ready := func() int {
		a, err := second.try(request{method: http.MethodGet, path: "/readyz"})
		check(t, err)
		return a.status
	}
	if status := ready(); status != http.StatusOK {
		t.Fatalf("the node is ready with %d", status)
	}
	long := second.submit(`FOR ?i FROM 1 TO 60 DO APPEND "x" TO FILE "/long.txt" WAIT 0.1 SECONDS END READ "/long.txt" AS TEXT SET ?t EMIT ?t`)
	second.mustAwait(long, "running", "waiting")
	process, began := second.process, time.Now()
	check(t, process.Process.Signal(syscall.SIGTERM))
	for deadline := time.Now().Add(patience); ready() != http.StatusServiceUnavailable; {
		if time.Now().After(deadline) {
			t.Fatal("the node that is to stop is ready")
		}
	}
	if got := second.output(`EMIT 6 * 7`); got != "42" {
		t.Errorf("a node that is to stop answers %q", got)
	}
	late := second.submit(`APPEND "y" TO FILE "/late.txt" WAIT 0.2 SECONDS READ "/late.txt" AS TEXT SET ?t EMIT ?t`)
	if took := time.Since(began); took > delay {
		t.Errorf("the node was asked after %s: it may have been ready by the drain's end alone", took)
	}
	<-second.exited
	if took := time.Since(began); took < delay || !process.ProcessState.Success() {
		t.Errorf("the node stopped after %s with %s\n%s", took, process.ProcessState, second.said())
	}
	second.gone()

	var shown struct{ Nodes []struct{ Status string } }
	check(t, json.Unmarshal([]byte(first.command("", "cluster", "status", "--json", "--master-key-file", filepath.Join(first.data, "master.key"))), &shown))
	if len(shown.Nodes) != 1 {
		t.Errorf("the members are %+v", shown.Nodes)
	}
	if j := first.mustAwait(late, "complete"); j.Result != "y" {
		t.Errorf("the job of the last moment came to %+v", j)
	}
	if j := first.mustAwait(long, "complete"); j.Result != strings.Repeat("x", 60) {
		t.Errorf("the job under way came to %+v", j)
	}
}
