package crashtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// shown is what an answer tells of a job.
type shown struct {
	Status string `json:"status"`
	ID     string `json:"job_id"`
	Result string `json:"result"`
	Prompt *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"prompt"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// code is that of the error, "" for none.
func (j shown) code() string {
	if j.Error == nil {
		return ""
	}
	return j.Error.Code
}

// finished tells whether the job's state is its last.
func (j shown) finished() bool {
	switch j.Status {
	case "accepted", "running", "paused", "waiting":
		return false
	}
	return true
}

func (a answer) job() (shown, error) {
	var j shown
	if err := json.Unmarshal(a.body, &j); err != nil {
		return j, fmt.Errorf("%s: %w", a, err)
	}
	return j, nil
}

// query is the request that sends a script; pairs are names and values that it
// finds in !GET.
func query(mode, script string, pairs ...string) request {
	return queryOf(username, mode, script, pairs...)
}

// queryOf is query for an account.
func queryOf(owner, mode, script string, pairs ...string) request {
	get := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		get[pairs[i]] = pairs[i+1]
	}
	body, err := json.Marshal(map[string]any{
		"auth": map[string]string{"username": owner, "password": password},
		"mode": mode, "query": script, "request": map[string]any{"get": get},
	})
	if err != nil {
		panic(err) // texts are always JSON
	}
	return request{method: http.MethodPost, path: "/v1/query", body: body}
}

// submit sends a script as an async job and returns its id.
func (s *server) submit(script string, pairs ...string) string {
	s.t.Helper()
	a, err := s.call(query("async", script, pairs...))
	check(s.t, err)
	j, err := a.job()
	check(s.t, err)
	if a.status != http.StatusAccepted || j.ID == "" {
		s.t.Fatalf("a job was not accepted: %s", a)
	}
	return j.ID
}

// output runs a script and returns what it emits.
func (s *server) output(script string, pairs ...string) string {
	s.t.Helper()
	a, err := s.call(query("sync", script, pairs...))
	check(s.t, err)
	j, err := a.job()
	check(s.t, err)
	if j.Status != "ok" {
		s.t.Fatalf("%s: %s", script, a)
	}
	return j.Result
}

// await waits until a job is in one of some states.
func (s *server) await(id string, states ...string) (shown, error) {
	return s.awaitWithin(patience, id, states...)
}

func (s *server) awaitWithin(within time.Duration, id string, states ...string) (shown, error) {
	// Who waits is told of a job that pauses or ends. For other states one has to ask again.
	parameters, pause := "?wait=5", time.Duration(0)
	if slices.ContainsFunc(states, func(state string) bool { return state == "accepted" || state == "running" || state == "waiting" }) {
		parameters, pause = "", 20*time.Millisecond
	}
	for deadline := time.Now().Add(within); ; <-time.After(pause) {
		a, err := s.call(request{method: http.MethodGet, path: "/v1/job/" + id + parameters})
		if err != nil {
			return shown{}, err
		}
		j, err := a.job()
		if err != nil {
			return j, err
		}
		for _, state := range states {
			if j.Status == state {
				return j, nil
			}
		}
		if isMissed := s.mayMiss && a.status == http.StatusNotFound; j.finished() && !isMissed || time.Now().After(deadline) {
			return j, fmt.Errorf("the job is %s, which is none of %s", a, strings.Join(states, ", "))
		}
	}
}

// mustAwait is await for one job at a time.
func (s *server) mustAwait(id string, states ...string) shown {
	s.t.Helper()
	j, err := s.await(id, states...)
	check(s.t, err)
	return j
}

// confirm answers a job's question, again where too many answers came from here. Those of a node that is back from a fault
// come at once, refused ones too.
func (s *server) confirm(id, reply, parameters string) (answer, error) {
	for deadline := time.Now().Add(patience); ; <-time.After(100 * time.Millisecond) {
		a, err := s.call(request{method: http.MethodPost, path: "/v1/confirm/" + id + parameters, body: []byte(reply)})
		if err != nil || a.status != http.StatusTooManyRequests || time.Now().After(deadline) {
			return a, err
		}
	}
}

// listed returns how many jobs in a state a page of the account's list has.
func (s *server) listed(state string) int {
	s.t.Helper()
	a, err := s.call(request{method: http.MethodGet, path: "/v1/jobs?limit=500&status=" + state, owner: true})
	check(s.t, err)
	var list struct{ Jobs []shown }
	if err := json.Unmarshal(a.body, &list); err != nil || a.status != http.StatusOK {
		s.t.Fatalf("the list of jobs: %s, %v", a, err)
	}
	return len(list.Jobs)
}
