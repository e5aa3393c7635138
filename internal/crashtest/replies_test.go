package crashtest

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// TestPromiseOneReplyWins answers each of many paused jobs many times at once,
// yes and no: one answer wins, the others are told so, and the job goes on with
// the one that won.
func TestPromiseOneReplyWins(t *testing.T) {
	jobs, replies := count(5, 200), count(20, 100)
	s := newServer(t)
	s.start()
	var winners, refused atomic.Int64
	for range jobs {
		id := s.submit(`CONFIRM "sure?" SET ?ok EMIT ?ok`)
		s.mustAwait(id, "paused")
		begin := make(chan struct{})
		won := make(chan bool, replies)
		var replying sync.WaitGroup
		for i := range replies {
			replying.Go(func() {
				approved := i%2 == 0
				<-begin
				a, err := s.confirm(id, fmt.Sprintf(`{"approved":%t}`, approved), "?wait=0")
				if err != nil {
					t.Error(err)
					return
				}
				j, err := a.job()
				switch {
				case err == nil && (a.status == http.StatusOK || a.status == http.StatusAccepted):
					winners.Add(1)
					won <- approved
				case err == nil && a.status == http.StatusConflict && j.code() == "not_paused":
					refused.Add(1)
				default:
					t.Errorf("a reply was answered %s, %v", a, err)
				}
			})
		}
		close(begin)
		replying.Wait()
		close(won)
		approved, ok := <-won
		if _, more := <-won; !ok || more {
			t.Fatal("not one reply won")
		}
		if j := s.mustAwait(id, "complete"); j.Result != strconv.FormatBool(approved) {
			t.Errorf("the job was told %s, and the reply that won was %t", j.Result, approved)
		}
	}
	t.Logf("%d paused jobs, %d replies at once to each: %d won, %d were told that the job is not paused", jobs, replies, winners.Load(), refused.Load())
}

// TestPromiseAnswerSurvivesKills kills the server after it has taken an answer, before the script has
// read it: the script reads who answered, what they noted and their receipt all the same.
func TestPromiseAnswerSurvivesKills(t *testing.T) {
	jobs := count(2, 20)
	s := newServer(t)
	s.start()
	for range jobs {
		id := s.submit(`CONFIRM "sure?" TO "finance" SET ?ok
			SET ?n AS 0 FOR ?i FROM 1 TO 300000 DO SET ?n AS ?n + ?i END
			SET ?a AS !JOB('answer') EMIT "{?a.decision} {?a.by} {?a.note} {?a.audience} {?a.receipt}"`)
		s.mustAwait(id, "paused")
		a, err := s.confirm(id, `{"approved":true,"note":"killed"}`, "?wait=0")
		check(t, err)
		s.kill()
		s.start()
		j := s.mustAwait(id, "complete")
		receipt := regexp.MustCompile(`"receipt":"([0-9-]+)"`).FindSubmatch(a.body)
		if receipt == nil || j.Result != "approved link killed finance "+string(receipt[1]) {
			t.Errorf("the script read %q, and the answer was %s", j.Result, a.body)
		}
	}
}
