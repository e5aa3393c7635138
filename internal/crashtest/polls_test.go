package crashtest

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPromisePollsStayTheSame polls finished jobs while the server is killed:
// each answer is the same to the byte.
func TestPromisePollsStayTheSame(t *testing.T) {
	jobs, polls, kills := count(20, 200), int64(count(400, 10_000)), int64(count(3, 50))
	s := newServer(t)
	s.start()
	// They end in every way, with output, errors and what was set on the response.
	scripts := []string{
		`FOR ?i FROM 1 TO 20 DO EMIT LINE "{?i}: {=UUID()}" END SET "status" AS 404 OF !RESPONSE`,
		`EMIT "so far" FAIL "as it was meant to" CODE "meant"`,
		`EMIT FROM_BASE64("/wD+")`,
		`SET ?list AS [1, 2] EMIT ?list[7]`,
	}
	paths := make([]string, jobs)
	first := make([][]byte, jobs)
	for i := range paths {
		id := s.submit(scripts[i%len(scripts)], "n", strconv.Itoa(i))
		s.mustAwait(id, "complete", "failed")
		paths[i] = "/v1/job/" + id
		a, err := s.call(request{method: http.MethodGet, path: paths[i]})
		check(t, err)
		first[i] = told(a)
	}
	stop := s.killing(upTo(300 * time.Millisecond))
	var done atomic.Int64
	var polling sync.WaitGroup
	for range 16 {
		polling.Go(func() {
			for n := done.Add(1); (n <= polls || s.kills.Load() < kills) && !t.Failed(); n = done.Add(1) {
				i := int(n % int64(jobs))
				a, err := s.call(request{method: http.MethodGet, path: paths[i]})
				if err != nil {
					t.Error(err)
				} else if again := told(a); !bytes.Equal(again, first[i]) {
					t.Errorf("a finished job was shown as\n%s\nand later as\n%s", first[i], again)
				}
			}
		})
	}
	polling.Wait()
	stop()
	t.Logf("%d polls of %d finished jobs under %d kills: the same bytes each time", done.Load(), jobs, s.kills.Load())
}

// told is all that an answer says, but when it was given.
func told(a answer) []byte {
	a.header.Del("Date")
	return fmt.Appendf(nil, "%d\n%v\n%s", a.status, a.header, a.body)
}
