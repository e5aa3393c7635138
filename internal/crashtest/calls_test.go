package crashtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPromiseCallsAndSignalsOnce has jobs run others, which signal them, while the server is killed: each
// statement has one job, and each signal is taken once, also one that somebody sends again.
func TestPromiseCallsAndSignalsOnce(t *testing.T) {
	const children, paid = 4, 3
	kills := int64(count(3, 100))
	s := newServer(t)
	s.start()
	s.mustCall(request{method: http.MethodPut, path: "/v1/scripts/child", body: []byte(`{"text": "SIGNAL \"up\" TO !INPUT('to') USING !INPUT('n') EMIT JSON !INPUT('n')"}`), owner: true}, nil)
	stop := s.killing(upTo(500 * time.Millisecond))
	rounds := 0
	for ; rounds == 0 || s.kills.Load() < kills; rounds++ {
		r := query("async", fmt.Sprintf(`
			CONFIRM !JOB('signal_url')
			FOR ?i FROM 1 TO %[1]d DO
				START SCRIPT "child" USING {to: !JOB('id'), n: ?i} SET ?job
				APPEND ?job TO ?jobs
			END
			SET ?sum AS 0
			FOR ?i FROM 1 TO %[1]d DO WAIT FOR SIGNAL "up" SET ?n SET ?sum AS ?sum + ?n END
			FOR ?job IN ?jobs DO WAIT FOR ?job SET ?n SET ?sum AS ?sum + ?n END
			RUN SCRIPT "child" USING {to: !JOB('id'), n: 100} SET ?n
			WAIT FOR SIGNAL "up" SET ?m
			FOR ?i FROM 1 TO %[2]d DO WAIT FOR SIGNAL "paid" SET ?p SET ?taken AS "{?taken}{?p}" END
			TRY WAIT FOR SIGNAL "paid" WITHIN 0.01 SECONDS CATCH ?e END
			EMIT ?sum + ?n + ?m, " ", ?taken, " ", ?e.code`, children, paid))
		r.key = fmt.Sprint("round-", rounds)
		a, err := s.call(r)
		check(t, err)
		j, err := a.job()
		check(t, err)
		_, err = s.await(j.ID, "paused")
		check(t, err)
		address := s.question(j.ID)
		for n := range paid {
			for range 3 { // whoever does not hear the answer sends it again, and so does who does
				s.mustCall(request{method: http.MethodPost, path: address, body: fmt.Appendf(nil, `{"name": "paid", "data": %d}`, n), key: fmt.Sprint("paid-", n)}, nil)
			}
		}
		_, err = s.confirm(j.ID, `{"approved": true}`, "")
		check(t, err)
		ended, err := s.await(j.ID, "complete")
		check(t, err)
		if want := fmt.Sprint(children*(children+1)+200) + " 012 expired"; ended.Result != want {
			t.Errorf("round %d gave %q, and not %q", rounds, ended.Result, want)
		}
	}
	stop()
	found := 0
	for path := "/v1/jobs?convention=script&limit=500"; path != ""; {
		var page struct {
			Jobs []struct{ Status string }
			Next *string
		}
		s.mustCall(request{method: http.MethodGet, path: path, owner: true}, &page)
		for _, j := range page.Jobs {
			if found++; j.Status != "complete" {
				t.Errorf("a job is %s", j.Status)
			}
		}
		path = ""
		if page.Next != nil {
			path = "/v1/jobs?convention=script&limit=500&before=" + *page.Next
		}
	}
	if found != rounds*(children+1) {
		t.Errorf("%d jobs were started by %d statements", found, rounds*(children+1))
	}
	t.Logf("%d rounds under %d kills", rounds, s.kills.Load())
}

// question returns the path of the address that a job asks about.
func (s *server) question(id string) string {
	s.t.Helper()
	a, err := s.call(request{method: http.MethodGet, path: "/v1/job/" + id})
	check(s.t, err)
	var shown struct{ Prompt struct{ Message string } }
	check(s.t, json.Unmarshal(a.body, &shown))
	_, path, ok := strings.Cut(shown.Prompt.Message, "/v1/signals/")
	if !ok {
		s.t.Fatalf("the job asks %q", shown.Prompt.Message)
	}
	return "/v1/signals/" + path
}
