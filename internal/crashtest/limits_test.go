package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/store/blob/s3/s3test"
)

// TestLimitsOfNodes: what an account may do so often is counted for all nodes together.
func TestLimitsOfNodes(t *testing.T) {
	nodes := newNodes(t, s3test.Start(t), 3)
	t.Run("rates", func(t *testing.T) { checkRate(t, nodes) })
	t.Run("records", func(t *testing.T) { checkRecords(t, nodes) })
	t.Run("kept", func(t *testing.T) { checkKept(t, nodes) })
	t.Run("log-ins", func(t *testing.T) { checkLogins(t, nodes) })
	for _, s := range nodes {
		s.stop()
	}
}

// checkRate has an account call all nodes at once, more often than it may.
func checkRate(t *testing.T, nodes []*server) {
	const rate, burst = 6, 30
	nodes[0].command("", "account", "set-limit", username, "rate", "6")
	nodes[0].command("", "account", "set-limit", username, "rate_burst", "30")
	defer func() {
		for _, limit := range []string{"rate", "rate_burst"} {
			nodes[0].command("", "account", "set-limit", username, limit, "--unset")
		}
	}()
	var taken, refused atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for _, s := range nodes {
		for range 4 {
			all.Go(func() {
				for range burst / 2 {
					switch a, err := s.try(query("sync", `EMIT 1`)); {
					case err != nil:
						t.Error(err)
					case a.status == http.StatusOK:
						taken.Add(1)
					case a.status == http.StatusTooManyRequests:
						refused.Add(1)
					default:
						t.Errorf("%s", a)
					}
				}
			})
		}
	}
	all.Wait()
	most := burst + int64(time.Since(began)/(time.Minute/rate)) + 1
	if taken.Load() > most || taken.Load() < burst*9/10 {
		t.Errorf("%d calls were taken, of at most %d, and %d refused", taken.Load(), most, refused.Load())
	}
}

// checkLogins guesses a password at all nodes in turn.
func checkLogins(t *testing.T, nodes []*server) {
	const guesses = 10 // of a name from one network
	wrong := 0
	for i := range 3 * guesses {
		url, err := nodes[i%len(nodes)].address(t.Context())
		check(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/jobs", http.NoBody)
		check(t, err)
		r.SetBasicAuth("nobody", fmt.Sprint("a guess, number ", i))
		a, err := nodes[0].client.Do(r)
		check(t, err)
		check(t, a.Body.Close())
		switch a.StatusCode {
		case http.StatusUnauthorized:
			wrong++
		case http.StatusTooManyRequests:
		default:
			t.Errorf("a guess is answered with %d", a.StatusCode)
		}
	}
	if wrong != guesses {
		t.Errorf("%d guesses were looked at, and not %d", wrong, guesses)
	}
}

// TestDutiesOfNodes: what one node does for all is done by another when that is killed, and so are schedules.
func TestDutiesOfNodes(t *testing.T) {
	nodes := newNodes(t, s3test.Start(t), 3)
	status := func(s *server) (list []struct {
		Node   int
		Status string
		Duties []string
	}) {
		var shown struct{ Nodes any }
		shown.Nodes = &list
		check(t, json.Unmarshal([]byte(s.command("", "cluster", "status", "--json", "--master-key-file", filepath.Join(nodes[0].data, "master.key"))), &shown))
		return list
	}
	// holder waits until a living node has the duty, and only one.
	holder := func(by *server, not int) int {
		for deadline := time.Now().Add(patience); ; {
			var has []int
			list := status(by)
			for _, n := range list {
				if slices.Contains(n.Duties, "upkeep") {
					has = append(has, n.Node)
				}
			}
			if len(has) > 1 {
				t.Fatalf("nodes %v have the duty", has)
			}
			if len(has) == 1 && has[0] != not {
				return has[0]
			}
			if time.Now().After(deadline) {
				t.Fatalf("nobody has the duty: %+v", list)
			}
		}
	}
	nodes[0].command("", "account", "set-limit", username, "schedule_every", "1s")
	nodes[0].mustCall(request{method: http.MethodPut, path: "/v1/scripts/tick", body: []byte(`{"text": "APPEND \"x\" TO FILE \"/ticks.txt\""}`), owner: true}, nil)
	nodes[0].mustCall(request{method: http.MethodPut, path: "/v1/schedules/often", body: []byte(`{"script": "tick", "every": "1s"}`), owner: true}, nil)
	ticks := func(s *server) int {
		return len(s.output(`TRY READ "/ticks.txt" AS TEXT SET ?text CATCH SET ?text AS "" END EMIT ?text`))
	}
	by := nodes[1]
	for range count(1, 5) {
		has := holder(by, 0)
		killed := nodes[has-1]
		by = nodes[has%3]
		killed.kill()
		before := ticks(by)
		if next := holder(by, has); next == has {
			t.Errorf("node %d has the duty still", has)
		}
		for deadline := time.Now().Add(patience); ticks(by) <= before; {
			if time.Now().After(deadline) {
				t.Fatal("the schedule stands still")
			}
		}
		killed.start()
	}
	for _, s := range nodes {
		s.stop()
	}
}

// checkRecords asks one node for a call as soon as another has answered it.
func checkRecords(t *testing.T, nodes []*server) {
	for i := range count(60, 2000) {
		a, err := nodes[i%3].call(query("sync", `EMIT 1`))
		check(t, err)
		j, err := a.job()
		check(t, err)
		if a, err = nodes[(i+1)%3].call(request{method: http.MethodGet, path: "/v1/job/" + j.ID}); err != nil || a.status != http.StatusOK {
			t.Fatalf("call %d is answered at another node by %s, %v", i, a, err)
		}
	}
	began := time.Now()
	a, err := nodes[0].call(request{method: http.MethodGet, path: "/v1/job/00000000-0000-4000-8000-000000000000"})
	if check(t, err); a.status != http.StatusNotFound || time.Since(began) > 10*time.Second {
		t.Errorf("a job that never was: %s, after %v", a, time.Since(began))
	}
}

// checkKept has an account store more than it may, and more jobs stand still than may, at all nodes at once.
func checkKept(t *testing.T, nodes []*server) {
	const standing, storage, size = 5, 1 << 20, 100_000
	limit := func(name string, value ...string) {
		nodes[0].command("", append([]string{"account", "set-limit", username, name}, value...)...)
	}
	limit("standing", strconv.Itoa(standing))
	ids := make([]string, 4*standing)
	atOnce(len(ids), func(i int) { ids[i] = nodes[i%3].submit(`CONFIRM "Go on?"`) })
	var paused []string
	for i, id := range ids {
		j, err := nodes[(i+1)%3].await(id, "paused", "failed")
		if check(t, err); j.Status == "paused" {
			paused = append(paused, id)
		}
	}
	if len(paused) != standing {
		t.Errorf("%d jobs stand still, and not %d", len(paused), standing)
	}
	for i, id := range paused {
		nodes[i%3].mustCall(request{method: http.MethodDelete, path: "/v1/job/" + id}, nil)
	}
	limit("standing", "--unset")

	limit("storage_bytes", strconv.Itoa(storage))
	var stored atomic.Int64
	atOnce(3*storage/size, func(i int) {
		content := bytes.Repeat([]byte{byte('a' + i)}, size)
		a, err := nodes[i%3].call(request{method: http.MethodPut, path: fmt.Sprintf("/v1/files/stored/%d.txt", i), body: content, owner: true})
		switch {
		case err != nil:
			t.Error(err)
		case a.status == http.StatusCreated:
			stored.Add(1)
		case !strings.Contains(string(a.body), "quota_exceeded"):
			t.Errorf("%s", a)
		}
	})
	if n := stored.Load(); n*size > storage || n < storage/size-2 {
		t.Errorf("%d files of %d bytes are stored", n, size)
	}
	limit("storage_bytes", "--unset")
}
