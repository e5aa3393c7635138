package crashtest

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPromiseEndedJobs kills the server at random moments under clients whose jobs
// are over when they are accepted, and stand in the intake until they are stored:
// none is lost, each shows its result, and each was counted once.
func TestPromiseEndedJobs(t *testing.T) {
	const clients = 16
	kills, jobs := int64(count(6, 100)), int64(count(300, 50_000))
	s := newServer(t)
	s.start()
	var next, unanswered atomic.Int64
	var enough atomic.Bool
	var mu sync.Mutex
	ids := map[string]string{} // of the jobs that were accepted, by their numbers
	accepted := func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return int64(len(ids))
	}
	var working sync.WaitGroup
	for range clients {
		working.Go(func() {
			for !enough.Load() && !t.Failed() {
				n := strconv.FormatInt(next.Add(1), 10)
				a, err := s.try(query("async", `EMIT !GET('n')`, "n", n))
				switch {
				case err != nil:
					unanswered.Add(1)
					continue
				case a.status == http.StatusServiceUnavailable:
					continue
				}
				j, err := a.job()
				if err != nil || a.status != http.StatusAccepted {
					t.Errorf("a job was refused: %s, %v", a, err)
					return
				}
				mu.Lock()
				ids[n] = j.ID
				mu.Unlock()
			}
		})
	}
	for (s.kills.Load() < kills || accepted() < jobs) && !t.Failed() {
		_, err := s.address(t.Context())
		check(t, err)
		<-time.After(rand.N(300 * time.Millisecond)) // the moment of a kill is chance
		s.kill()
		s.spawn()
	}
	enough.Store(true)
	working.Wait()
	s.kill()
	s.start()

	polling := make(chan string)
	var lost atomic.Int64
	for range 8 {
		working.Go(func() {
			for n := range polling {
				a, err := s.call(request{method: http.MethodGet, path: "/v1/job/" + ids[n]})
				check(t, err)
				if j, err := a.job(); err != nil || j.Status != "complete" || j.Result != n {
					lost.Add(1)
				}
			}
		})
	}
	for n := range ids {
		polling <- n
	}
	close(polling)
	working.Wait()
	counted := s.used("calls")
	t.Logf("%d kills under %d clients: %d jobs that ended at once were accepted, %d lost; %d got no answer; %d are counted",
		s.kills.Load(), clients, len(ids), lost.Load(), unanswered.Load(), counted)
	if lost.Load() > 0 {
		t.Error("jobs that were accepted are lost")
	}
	if counted < int64(len(ids)) || counted > int64(len(ids))+unanswered.Load() {
		t.Error("jobs were not counted exactly once")
	}
}

// used is how much the account has used of something.
func (s *server) used(name string) int64 {
	s.t.Helper()
	a, err := s.call(request{method: http.MethodGet, path: "/v1/limits", owner: true})
	check(s.t, err)
	var answer struct {
		Limits map[string]struct{ Used int64 }
	}
	if err := json.Unmarshal(a.body, &answer); err != nil || a.status != http.StatusOK {
		s.t.Fatalf("the limits: %s, %v", a, err)
	}
	return answer.Limits[name].Used
}
