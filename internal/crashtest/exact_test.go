package crashtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ql/internal/store/blob/s3/s3test"
)

// TestNodesAreExact: what happens once, or so many times, does so also where many ask for it at three nodes at once.
func TestNodesAreExact(t *testing.T) {
	nodes := newNodes(t, s3test.Start(t), 3)
	t.Run("links", func(t *testing.T) { checkLinks(t, nodes, count(3, 50), count(60, 1000)) })
	t.Run("answers", func(t *testing.T) { checkAnswers(t, nodes, count(4, 200), count(12, 100)) })
	t.Run("keys", func(t *testing.T) { checkKeys(t, nodes, count(6, 200), count(9, 20)) })
	t.Run("sessions", func(t *testing.T) { checkSession(t, nodes, count(90, 10_000)) })
	for _, s := range nodes {
		s.stop()
	}
}

// atOnce does something n times by some clients at once, each with the nodes in turn.
func atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, 24) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// checkLinks loads files of links that count.
func checkLinks(t *testing.T, nodes []*server, links, loads int) {
	for link := range links {
		most := 1 + link%7
		url := nodes[link%3].output(fmt.Sprintf(`WRITE "the content" TO "/shared.txt" SHARE "/shared.txt" TIMES %d SET ?url EMIT ?url`, most))
		path := url[strings.LastIndex(url, "/files/"):]
		var got atomic.Int64
		atOnce(loads, func(i int) {
			a, err := nodes[i%3].call(request{method: http.MethodGet, path: path})
			switch {
			case err != nil:
				t.Error(err)
			case a.status == http.StatusOK && string(a.body) == "the content":
				got.Add(1)
			case a.status != http.StatusGone:
				t.Errorf("a link answers %s", a)
			}
		})
		if got.Load() != int64(most) {
			t.Errorf("%d of %d got the file of a link for %d", got.Load(), loads, most)
		}
	}
}

// checkAnswers answers questions, each by many.
func checkAnswers(t *testing.T, nodes []*server, questions, answers int) {
	for q := range questions {
		id := nodes[q%3].submit(`CONFIRM "Go on?" SET ?ok APPEND "x" TO FILE "/answers/{!JOB('id')}.txt" READ "/answers/{!JOB('id')}.txt" AS TEXT SET ?log EMIT "{?ok} {?log}"`)
		nodes[(q+1)%3].mustAwait(id, "paused")
		var taken atomic.Int64
		var said sync.Map // what the answers say that were taken
		atOnce(answers, func(i int) {
			approved := i%2 == 0
			a, err := nodes[i%3].confirm(id, fmt.Sprintf(`{"approved":%t}`, approved), "?wait=0")
			switch {
			case err != nil:
				t.Error(err)
			case a.status/100 == 2:
				taken.Add(1)
				said.Store(fmt.Sprint(approved, " x"), true)
			case a.status != http.StatusConflict:
				t.Errorf("an answer is answered by %s", a)
			}
		})
		j := nodes[(q+2)%3].mustAwait(id, "complete")
		if _, is := said.Load(j.Result); taken.Load() != 1 || !is {
			t.Errorf("%d of %d answers were taken, and the job says %q", taken.Load(), answers, j.Result)
		}
	}
}

// checkKeys makes calls of the same key, each by many.
func checkKeys(t *testing.T, nodes []*server, keys, calls int) {
	for k := range keys {
		name := strconv.Itoa(k)
		r := query([]string{"sync", "async"}[k%2], `APPEND "x" TO FILE "/keys/{!GET('key')}.txt" EMIT "done"`, "key", name)
		r.key = "key-" + name
		ids := sync.Map{}
		atOnce(calls, func(i int) {
			for {
				a, err := nodes[i%3].call(r)
				if check(t, err); strings.Contains(string(a.body), "idempotency_in_progress") {
					continue
				}
				j, err := a.job()
				if err != nil || a.status/100 != 2 || j.ID == "" {
					t.Errorf("a call with a key is answered by %s, %v", a, err)
				}
				ids.Store(j.ID, true)
				return
			}
		})
		n := 0
		ids.Range(func(id, _ any) bool {
			n++
			if k%2 == 1 {
				nodes[k%3].mustAwait(id.(string), "complete")
			}
			return true
		})
		if got := nodes[k%3].output(`READ "/keys/{!GET('key')}.txt" AS TEXT SET ?text EMIT ?text`, "key", name); n != 1 || got != "x" {
			t.Errorf("a call of one key was made %d times, as %d jobs", len(got), n)
		}
	}
}

// checkSession counts in one session.
func checkSession(t *testing.T, nodes []*server, increments int) {
	const script = `START SESSION SET "n" AS (!SESSION('n') DEFAULT 0) + 1 OF !SESSION EMIT !SESSION('n')`
	a, err := nodes[0].call(query("sync", script))
	check(t, err)
	cookie, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	check(t, err)
	atOnce(increments-1, func(i int) {
		r := query("sync", script)
		r.session = cookie.Value
		for {
			a, err := nodes[i%3].call(r)
			check(t, err)
			j, err := a.job()
			if err == nil && j.Status == "ok" {
				return
			}
			if !strings.Contains(string(a.body), "session_busy") { // nothing of it was done
				t.Errorf("an increment is answered by %s, %v", a, err)
				return
			}
		}
	})
	r := query("sync", `START SESSION EMIT !SESSION('n')`)
	r.session = cookie.Value
	a, err = nodes[1].call(r)
	check(t, err)
	if j, err := a.job(); err != nil || j.Result != strconv.Itoa(increments) {
		t.Errorf("%d increments came to %s, %v", increments, a, err)
	}
}
