package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/programtest"
)

// callers are accounts whose scripts run others.
type callers struct {
	*testing.T
	*apptest.Service
	username string
}

type calledJob struct {
	Status, JobID, Result string
	Error                 *struct{ Code, Message, Limit string }
}

func (c *callers) publish(name, text string) {
	c.Helper()
	body, _ := json.Marshal(map[string]string{"text": text})
	if a := send(c.T, asOwner(c.T, c.username, "PUT", c.URL()+"/v1/scripts/"+name, string(body))); a.status/100 != 2 {
		c.Fatalf("%d %s", a.status, a.body)
	}
}

// run runs a script, and waits for its end.
func (c *callers) run(mode, script string) calledJob {
	c.Helper()
	j := c.submit(mode, script)
	for deadline := time.Now().Add(time.Minute); !isOver(j.Status); {
		if time.Now().After(deadline) {
			c.Fatalf("%s is %s", script, j.Status)
		}
		j = c.poll(j.JobID, 10)
	}
	return j
}

func isOver(status string) bool {
	switch status {
	case "ok", "complete", "failed", "declined", "cancelled", "expired":
		return true
	}
	return false
}

func (c *callers) submit(mode, script string) calledJob {
	c.Helper()
	body, _ := json.Marshal(map[string]any{"query": script, "mode": mode, "auth": map[string]string{"username": c.username, "password": apptest.Password}})
	req := asOwner(c.T, c.username, "POST", c.URL()+"/v1/query", string(body))
	req.Header.Del("Authorization")
	return c.read(send(c.T, req).body)
}

func (c *callers) poll(id string, wait int) calledJob {
	c.Helper()
	req := asOwner(c.T, c.username, "GET", fmt.Sprintf("%s/v1/job/%s?wait=%d", c.URL(), id, wait), "")
	req.Header.Del("Authorization")
	return c.read(send(c.T, req).body)
}

func (c *callers) read(body string) (j calledJob) {
	c.Helper()
	var a struct {
		Status string
		JobID  string `json:"job_id"`
		Result string
		Error  *struct{ Code, Message, Limit string }
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil || a.Status == "error" && a.JobID == "" {
		c.Fatalf("%v: %s", err, body)
	}
	return calledJob{a.Status, a.JobID, a.Result, a.Error}
}

// TestCalls: scripts run others, in both modes, and have their results, errors and limits.
func TestCalls(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Standard)
	c := &callers{t, b, "caller"}
	c.publish("twice", `INPUT FIELDS n INTEGER REQUIRED
EMIT JSON {n: !INPUT('n') * 2}`)
	c.publish("text", `EMIT "plain"`)
	c.publish("fails", `FAIL "nothing is left" CODE "out_of_stock"`)
	c.publish("slow", `WAIT 1 HOUR`)
	c.publish("deep", `RUN SCRIPT "deep" SET ?r EMIT ?r`)
	c.publish("bomb", `FOR ?i FROM 1 TO 1000 DO START SCRIPT "bomb" END`)
	c.publish("parent", `TRY WAIT FOR !INPUT('job') CATCH ?e EMIT ?e.code END`)
	for script, want := range map[string]string{
		`RUN SCRIPT "twice" USING {n: 21} SET ?r EMIT ?r.n`: "42",
		`RUN SCRIPT "text" SET ?r EMIT ?r, "!"`:             "plain!",
		`START SCRIPT "twice" USING {n: 4} SET ?a START SCRIPT "text" SET ?b WAIT FOR ?b SET ?y WAIT FOR ?a SET ?x EMIT ?x.n, ?y`: "8plain",
		`TRY RUN SCRIPT "fails" CATCH ?e EMIT "{?e.code}: {?e.message}" END`:                                                      "out_of_stock: nothing is left",
		`TRY RUN SCRIPT "nowhere" CATCH ?e EMIT ?e.code END`:                                                                      "script_not_found",
		`TRY RUN SCRIPT "twice" USING {n: "x"} CATCH ?e EMIT ?e.code, ?e.fields.n IS NOT NULL END`:                                "invalid_fieldstrue",
		`TRY RUN SCRIPT "slow" WITHIN 0.2 SECONDS CATCH ?e EMIT ?e.code END`:                                                      "expired",
		`TRY WAIT FOR !JOB('id') CATCH ?e EMIT ?e.code END`:                                                                       "job_not_found",
		`RUN SCRIPT "parent" USING {job: !JOB('id')} SET ?r EMIT ?r`:                                                              "job_not_found",
		`TRY RUN SCRIPT "deep" CATCH ?e EMIT ?e.code, " ", ?e.message END`:                                                        "limit_exceeded scripts may run each other 8 deep: run this one from further up",
	} {
		for _, mode := range []string{"sync", "async"} {
			if got := c.run(mode, script); got.Result != want || got.Error != nil {
				t.Errorf("%s, %s: got %+v %+v", mode, script, got, got.Error)
			}
		}
	}
	if got := c.run("async", `RUN SCRIPT "fails"`); got.Status != "failed" || got.Error.Code != "out_of_stock" {
		t.Errorf("an error that nobody catches: %+v", got)
	}
}

// TestWideCalls: many jobs of one script end, although the account has two places and their parent waits.
func TestWideCalls(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Free)
	c := &callers{t, b, "caller"}
	c.publish("one", `EMIT JSON !INPUT('n')`)
	n := 60
	if programtest.Promised() {
		n = 1000
	}
	got := c.run("async", fmt.Sprintf(`FOR ?i FROM 1 TO %d DO START SCRIPT "one" USING {n: ?i} SET ?job APPEND ?job TO ?jobs END
SET ?sum AS 0
FOR ?job IN ?jobs DO WAIT FOR ?job SET ?n SET ?sum AS ?sum + ?n END
EMIT ?sum`, n))
	if got.Result != fmt.Sprint(n*(n+1)/2) {
		t.Errorf("got %+v %+v", got, got.Error)
	}
}

// TestCancelledTree: who cancels a job cancels all that it has started.
func TestCancelledTree(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Free)
	c := &callers{t, b, "caller"}
	c.publish("leaf", `WAIT 1 HOUR`)
	c.publish("branch", `START SCRIPT "leaf" START SCRIPT "leaf" SET ?b WAIT FOR ?b`)
	j := c.submit("async", `START SCRIPT "branch" SET ?a START SCRIPT "branch" WAIT FOR ?a`)
	states := func() map[string]int {
		var list struct{ Jobs []struct{ Status string } }
		a := send(t, asOwner(t, "caller", "GET", b.URL()+"/v1/jobs?limit=100", ""))
		if err := json.Unmarshal([]byte(a.body), &list); err != nil {
			t.Fatal(err, a.body)
		}
		all := map[string]int{}
		for _, j := range list.Jobs {
			all[j.Status]++
		}
		return all
	}
	await := func(want map[string]int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); fmt.Sprint(states()) != fmt.Sprint(want); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the jobs are %v, not %v", states(), want)
			}
		}
	}
	await(map[string]int{"waiting": 7})
	req := asOwner(t, "caller", "DELETE", b.URL()+"/v1/job/"+j.JobID, "")
	req.Header.Del("Authorization")
	if a := send(t, req); a.status/100 != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	await(map[string]int{"cancelled": 7})
	if strings.Contains(b.Log.String(), `"level":"ERROR"`) {
		t.Error(b.Log.String())
	}
}
