package crashtest

import (
	"fmt"
	"net/http"
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
