package crashtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestPromiseTicksOnce has a schedule come each second while the server is killed: each second has one job, or
// is in the one entry that says why it has none.
func TestPromiseTicksOnce(t *testing.T) {
	ticks := count(5, 300)
	s := newServer(t)
	s.flags = append(s.flags, "--dev") // where a schedule may come each second
	s.start()
	s.mustCall(request{method: http.MethodPut, path: "/v1/scripts/tick", body: []byte(`{"text": "EMIT 1", "callers": "keys"}`), owner: true}, nil)
	s.mustCall(request{method: http.MethodPut, path: "/v1/schedules/t", body: []byte(`{"script": "tick", "every": "1s", "overlap": "all"}`), owner: true}, nil)
	type tick struct {
		First, Last time.Time
		Count       int
		Skipped     *string
		Ref         *int64
	}
	list := func() (all []tick) {
		t.Helper()
		for path := "/v1/schedules/t/ticks?limit=500"; ; {
			var page struct {
				Ticks []tick
				Next  *string
			}
			s.mustCall(request{method: http.MethodGet, path: path, owner: true}, &page)
			if all = append(all, page.Ticks...); page.Next == nil {
				return all
			}
			path = "/v1/schedules/t/ticks?limit=500&before=" + *page.Next
		}
	}
	stop := s.killing(upTo(1500 * time.Millisecond))
	for deadline := time.Now().Add(patience + time.Duration(10*ticks)*time.Second); len(list()) < ticks; {
		if time.Now().After(deadline) {
			t.Fatalf("%d ticks have come", len(list()))
		}
	}
	stop()
	s.mustCall(request{method: http.MethodPost, path: "/v1/schedules/t/pause", owner: true}, nil)
	all := list()
	slices.Reverse(all)
	jobs := map[int64]bool{}
	for i, one := range all {
		if i > 0 && !one.First.Equal(all[i-1].Last.Add(time.Second)) {
			t.Errorf("the tick of %s follows that of %s", one.First, all[i-1].Last)
		}
		if (one.Ref == nil) != (one.Skipped != nil) || one.Ref != nil && one.Count != 1 {
			t.Errorf("the tick of %s has a job and a reason to have none, or neither: %+v", one.First, one)
		}
		if one.Ref != nil {
			jobs[*one.Ref] = true
		}
	}
	found := 0
	for path := "/v1/jobs?schedule=t&limit=500"; path != ""; {
		var page struct {
			Jobs []struct{ Ref int64 }
			Next *string
		}
		s.mustCall(request{method: http.MethodGet, path: path, owner: true}, &page)
		for _, j := range page.Jobs {
			if found++; !jobs[j.Ref] {
				t.Errorf("job %d is of no tick", j.Ref)
			}
		}
		path = ""
		if page.Next != nil {
			path = "/v1/jobs?schedule=t&limit=500&before=" + *page.Next
		}
	}
	if found != len(jobs) {
		t.Errorf("%d jobs of %d ticks with one", found, len(jobs))
	}
	t.Logf("%d ticks under %d kills: %d jobs", len(all), s.kills.Load(), found)
}

// mustCall is call, with an answer that must be right.
func (s *server) mustCall(r request, into any) {
	s.t.Helper()
	a, err := s.call(r)
	check(s.t, err)
	if a.status/100 != 2 {
		s.t.Fatalf("%s %s: %s", r.method, r.path, a)
	}
	if into != nil {
		check(s.t, json.Unmarshal(a.body, into))
	}
}
