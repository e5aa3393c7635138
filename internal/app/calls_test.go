package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
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
	c.publishAs(name, map[string]any{"text": text})
}

func (c *callers) publishAs(name string, as map[string]any) {
	c.Helper()
	body, _ := json.Marshal(as)
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
		`TRY RUN SCRIPT "deep" CATCH ?e EMIT ?e.code, " ", ?e.message END`:                                                        `limit_exceeded the script "deep" is not run: scripts may run each other 8 deep, and here that many run already`,
	} {
		for _, mode := range []string{"sync", "async"} {
			if got := c.run(mode, script); got.Result != want || got.Error != nil {
				t.Errorf("%s, %s: got %+v %+v", mode, script, got, got.Error)
			}
		}
	}

	// A synchronous call waits itself where it does not wait for long.
	for script, want := range map[string]string{
		`TRY RUN SCRIPT "slow" WITHIN 0.2 SECONDS CATCH ?e EMIT ?e.code END`:                          "expired",
		`START SCRIPT "slow" SET ?job TRY WAIT FOR ?job WITHIN 0.2 SECONDS CATCH ?e EMIT ?e.code END`: "expired",
	} {
		if got := c.submit("sync", script); got.Status != "ok" || got.Result != want {
			t.Errorf("%s: got %+v %+v", script, got, got.Error)
		}
	}

	// Jobs of a key go one at a time, but for those that one of them runs, which are a part of it.
	c.publishAs("keyed", map[string]any{"text": `IF !INPUT('n') > 0 THEN RUN SCRIPT "keyed" USING {n: !INPUT('n') - 1} SET ?r END EMIT !INPUT('n'), ?r`, "concurrency": map[string]any{"key": "k", "most": 1}})
	if got := c.run("async", `START SCRIPT "keyed" USING {n: 2} SET ?a START SCRIPT "keyed" USING {n: 1} SET ?b WAIT FOR ?b SET ?y WAIT FOR ?a SET ?x EMIT ?x, " ", ?y`); got.Result != "210 10" {
		t.Errorf("with a key: %+v %+v", got, got.Error)
	}
	if got := c.run("async", `RUN SCRIPT "fails"`); got.Status != "failed" || got.Error.Code != "out_of_stock" {
		t.Errorf("an error that nobody catches: %+v", got)
	}
}

// TestShortCalls: what ends at once runs in the place of who runs it. It is a job like any other: in the tree, with its result
// and its errors, and counted once.
func TestShortCalls(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Standard)
	c := &callers{t, b, "caller"}
	c.publish("one", `EMIT JSON {n: !INPUT('n'), id: !JOB('id')}`)
	c.publish("fails", `FAIL "nothing is left" CODE "out_of_stock"`)
	c.publish("large", `EMIT REPEAT("x", !INPUT('n'))`)
	c.publish("long", `SET ?n AS 0 WHILE ?n < 3000000 DO SET ?n AS ?n + 1 END EMIT ?n`)
	c.publish("writes", `APPEND "x" TO FILE "/log.txt" EMIT !INPUT('n')`)
	const script = `SET ?sum AS 0
FOR ?i FROM 1 TO 70 DO
	RUN SCRIPT "one" USING {n: ?i} SET ?r SET ?sum AS ?sum + ?r.n SET ?ids[?r.id] AS TRUE
	IF ?i % 30 = 0 THEN RUN SCRIPT "writes" USING {n: ?i} END
	IF ?i = 50 THEN TRY RUN SCRIPT "fails" CATCH ?e EMIT ?e.code, " " END WAIT 0.01 SECONDS END
END
RUN SCRIPT "large" USING {n: 100000} SET ?l
RUN SCRIPT "large" USING {n: 3000000} SET ?m
RUN SCRIPT "long" SET ?n
EMIT ?sum, " ", COUNT(?ids), " ", LENGTH(?l), " ", LENGTH(?m), " ", ?n`
	children := map[string]int{"complete one": 70, "complete writes": 2, "failed fails": 1, "complete large": 2, "complete long": 1}
	calls := int64(0)
	look := time.NewTicker(50 * time.Millisecond) // no faster than an account may call
	defer look.Stop()
	for _, mode := range []string{"sync", "async"} {
		j := c.run(mode, script)
		if j.Result != "out_of_stock 2485 70 100000 3000000 3000000" {
			t.Fatalf("%s: %+v %+v", mode, j, j.Error)
		}
		calls += 77
		var root int64
		got := map[string]int{}
		for deadline := time.Now().Add(time.Minute); root == 0; <-look.C { // the record of a synchronous call follows it
			for _, one := range c.jobs() {
				if one.JobID == j.JobID {
					root = one.Ref
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the job is not listed", mode)
			}
		}
		var tree jobTree
		c.get(fmt.Sprintf("/v1/jobs/%d", root), &tree)
		for _, one := range tree.Children {
			got[one.Status+" "+one.Program]++
		}
		if !maps.Equal(got, children) {
			t.Errorf("%s: the jobs below it are %v", mode, got)
		}
		counted := int64(0)
		for deadline := time.Now().Add(time.Minute); counted < calls && time.Now().Before(deadline); <-look.C { // likewise
			var days struct {
				Usage []struct{ Calls int64 }
			}
			c.get("/v1/usage?by=day", &days)
			counted = 0
			for _, d := range days.Usage {
				counted += d.Calls
			}
		}
		if counted != calls {
			t.Errorf("%s: %d calls are counted of %d", mode, counted, calls)
		}
	}
	if j := c.run("async", `READ "/log.txt" AS TEXT SET ?t EMIT ?t`); j.Result != "xxxx" {
		t.Errorf("what was written: %q", j.Result)
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

// jobTree is a job with those around it.
type jobTree struct {
	Ref    int64
	Parent *struct {
		Ref    int64
		Status string
		Name   *string
	}
	Status     string
	Program    *string
	Convention string
	Children   []struct {
		Ref             int64
		Status, Program string
	}
}

// jobs lists all jobs of the account.
func (c *callers) jobs() (list []struct {
	Ref    int64
	Status string
	JobID  string `json:"job_id"`
}) {
	c.Helper()
	var page struct {
		Jobs []struct {
			Ref    int64
			Status string
			JobID  string `json:"job_id"`
		}
	}
	c.get("/v1/jobs?limit=500", &page)
	return page.Jobs
}

func (c *callers) get(path string, into any) {
	c.Helper()
	a := send(c.T, asOwner(c.T, c.username, "GET", c.URL()+path, ""))
	if err := json.Unmarshal([]byte(a.body), into); err != nil || a.status != 200 {
		c.Fatalf("%v: %d %s", err, a.status, a.body)
	}
}

// until polls a job until it has a state.
func (c *callers) until(id, status string) calledJob {
	c.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		j := c.poll(id, 10)
		if j.Status == status {
			return j
		}
		if isOver(j.Status) || time.Now().After(deadline) {
			c.Fatalf("the job is %s, not %s: %+v", j.Status, status, j.Error)
		}
	}
}

// TestCancelledTree: who cancels a job cancels all that it has started, whether that has begun or not.
func TestCancelledTree(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Free)
	c := &callers{t, b, "caller"}
	c.publish("leaf", `IF !INPUT('root') IS NOT NULL THEN SIGNAL "up" TO !INPUT('root') END WAIT 1 HOUR`)
	c.publish("branch", `START SCRIPT "leaf" USING !INPUT START SCRIPT "leaf" USING !INPUT SET ?b WAIT FOR ?b`)
	all := 0
	for what, one := range map[string]struct {
		script string
		jobs   int
	}{
		"all of them wait": {`START SCRIPT "branch" USING {root: !JOB('id')}
START SCRIPT "branch" USING {root: !JOB('id')}
FOR ?i FROM 1 TO 4 DO WAIT FOR SIGNAL "up" END
CONFIRM "Is all up?"`, 7},
		"few of them have begun": {`FOR ?i FROM 1 TO 30 DO START SCRIPT "leaf" END CONFIRM "Started?"`, 31},
	} {
		j := c.submit("async", one.script)
		c.until(j.JobID, "paused")
		all += one.jobs
		req := asOwner(t, "caller", "DELETE", b.URL()+"/v1/job/"+j.JobID, "")
		req.Header.Del("Authorization")
		if a := send(t, req); a.status/100 != 2 {
			t.Fatalf("%s: %d %s", what, a.status, a.body)
		}
		list := c.jobs()
		if len(list) != all {
			t.Errorf("%s: %d jobs, not %d", what, len(list), all)
		}
		for _, j := range list {
			c.until(j.JobID, "cancelled")
		}
	}
	if strings.Contains(b.Log.String(), `"level":"ERROR"`) {
		t.Error(b.Log.String())
	}
}

// TestTreeInHistory: a job shows who has started it, and whom it has.
func TestTreeInHistory(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Free)
	c := &callers{t, b, "caller"}
	c.publish("leaf", `EMIT 1`)
	c.publish("branch", `RUN SCRIPT "leaf"`)
	c.run("async", `-- The root
RUN SCRIPT "branch" TRY RUN SCRIPT "gone" CATCH END`)
	list := c.jobs() // the last first
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	tree := func(i int) (j jobTree) {
		c.get(fmt.Sprintf("/v1/jobs/%d", list[i].Ref), &j)
		return j
	}
	leaf, branch, root := tree(0), tree(1), tree(2)
	if root.Parent != nil || len(root.Children) != 1 || root.Children[0].Ref != branch.Ref || root.Children[0].Status != "complete" || root.Children[0].Program != "branch" {
		t.Errorf("the root: %+v", root)
	}
	if branch.Parent == nil || branch.Parent.Ref != root.Ref || branch.Parent.Status != "complete" || *branch.Parent.Name != "The root" || len(branch.Children) != 1 || branch.Children[0].Ref != leaf.Ref || branch.Convention != "script" || *branch.Program != "branch" {
		t.Errorf("the branch: %+v", branch)
	}
	if leaf.Parent == nil || leaf.Parent.Ref != branch.Ref || *leaf.Parent.Name != "branch" || leaf.Children != nil {
		t.Errorf("the leaf: %+v", leaf)
	}
}

// signal posts to a job's address for signals.
func (c *callers) signal(address, body, key string) answer {
	c.Helper()
	req := asOwner(c.T, c.username, "POST", address, body)
	req.Header.Del("Authorization")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return send(c.T, req)
}

// TestSignals: jobs are told something by others, and by programs that have their address.
func TestSignals(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Standard)
	b.Account("other", account.Standard)
	c, other := &callers{t, b, "caller"}, &callers{t, b, "other"}
	c.publish("told", `WAIT FOR SIGNAL "go" SET ?d WAIT FOR SIGNAL "go" SET ?e EMIT JSON [?d, ?e]`)
	for script, want := range map[string]string{
		`START SCRIPT "told" SET ?j SIGNAL "go" TO ?j USING {n: 7} SIGNAL "go" TO ?j WAIT FOR ?j SET ?r EMIT ?r`: `[{"n":7},null]`,
		`SIGNAL "mine" TO !JOB('id') USING "x" WAIT FOR SIGNAL "mine" SET ?d EMIT ?d`:                            "x",
		`TRY WAIT FOR SIGNAL "never" WITHIN 0.1 SECONDS CATCH ?e EMIT ?e.code END`:                               "expired",
		`RUN SCRIPT "text" SET ?r EMIT ?r`:                                                                       "",
		`TRY SIGNAL "" TO !JOB('id') CATCH ?e EMIT ?e.code END`:                                                  "bad_argument",
		`TRY SIGNAL "a" TO "x" CATCH ?e EMIT ?e.code END`:                                                        "job_not_found",
		`TRY SIGNAL "a" TO !JOB('id') USING REPEAT("x", 70000) CATCH ?e EMIT ?e.code END`:                        "bad_argument",
		`START SCRIPT "text" SET ?j WAIT FOR ?j TRY SIGNAL "late" TO ?j CATCH ?e EMIT ?e.code END`:               "job_ended",
		`TRY FOR ?i FROM 1 TO 101 DO SIGNAL "a" TO !JOB('id') END CATCH ?e EMIT ?i, ?e.code END`:                 "101limit_exceeded",
	} {
		if strings.Contains(script, `"text"`) {
			c.publish("text", `EMIT ""`)
		}
		if got := c.run("async", script); got.Result != want || got.Error != nil {
			t.Errorf("%s: got %+v %+v", script, got, got.Error)
		}
	}

	// Told before it waits, more than once.
	j := c.submit("async", `CONFIRM !JOB('signal_url')
WAIT FOR SIGNAL "paid" SET ?a
TRY WAIT FOR SIGNAL "paid" WITHIN 0.1 SECONDS SET ?b CATCH ?e END
EMIT ?a.amount, ?b, ?e.code
CONFIRM "End?"`)
	c.until(j.JobID, "paused")
	address := c.prompt(j.JobID)
	if !strings.HasPrefix(address, b.URL()+"/v1/signals/") {
		t.Fatalf("the address is %q", address)
	}
	expect := func(what string, a answer, status int, body string) {
		t.Helper()
		if a.status != status || !strings.Contains(a.body, body) {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	paid := `{"name":"paid","data":{"amount":5}}`
	expect("the first", c.signal(address, paid, "p1"), 202, `{"status":"ok"}`)
	expect("a repeat", c.signal(address, paid, "p1"), 202, `"repeated":true`)
	expect("a repeat that has the key in its body", c.signal(address, `{"name":"paid","data":6,"id":"p1"}`, ""), 202, `"repeated":true`)
	expect("without a name", c.signal(address, `{"data":1}`, ""), 400, "name")
	expect("with a long name", c.signal(address, `{"name":"`+strings.Repeat("x", 101)+`"}`, ""), 400, "name")
	expect("with much", c.signal(address, `{"name":"x","data":"`+strings.Repeat("x", 65<<10)+`"}`, ""), 400, "data")
	expect("with too much", c.signal(address, `{"name":"x","data":"`+strings.Repeat("x", 80<<10)+`"}`, ""), 413, "too_large")
	expect("of something else", c.signal(address, `{"name":"x","date":1}`, ""), 400, "date")
	expect("elsewhere", c.signal(address[:len(address)-3]+"abc", paid, ""), 404, "not_found")
	if got := other.run("async", fmt.Sprintf(`TRY SIGNAL "paid" TO %q CATCH ?e EMIT ?e.code END`, j.JobID)); got.Result != "job_not_found" {
		t.Errorf("to a job of another account: %+v", got)
	}
	c.confirm(j.JobID)
	if got := c.until(j.JobID, "paused"); got.Result != "5expired" {
		t.Errorf("got %+v", got)
	}
	expect("a repeat of what was consumed", c.signal(address, paid, "p1"), 202, `"repeated":true`)
	c.confirm(j.JobID)
	c.until(j.JobID, "complete")
	expect("a repeat when the job has ended", c.signal(address, paid, "p1"), 202, `"repeated":true`)
	expect("a new one then", c.signal(address, paid, "p2"), 410, "job_ended")
	for range 100 {
		if c.signal(address, paid, "p1").status == 429 {
			return
		}
	}
	t.Error("a job may be told something as often as somebody likes")
}

// TestSignalsOfAnAccount has many jobs be told something, each no more often than it may be.
func TestSignalsOfAnAccount(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Standard)
	b.Account("other", account.Standard)
	c, other := &callers{t, b, "caller"}, &callers{t, b, "other"}
	for range 12 {
		address := c.run("async", `EMIT !JOB('signal_url')`).Result
		for range 60 {
			switch a := c.signal(address, `{"name":"x"}`, ""); a.status {
			case 404, 410: // it has ended, and may not be stored yet
			case 429:
				if a := other.signal(other.run("async", `EMIT !JOB('signal_url')`).Result, `{"name":"x"}`, ""); a.status == 429 {
					t.Errorf("a job of another account: %d %s", a.status, a.body)
				}
				return
			default:
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
	}
	t.Error("the jobs of an account may be told something as often as somebody likes")
}

// prompt returns the question of a job.
func (c *callers) prompt(id string) string {
	c.Helper()
	req := asOwner(c.T, c.username, "GET", c.URL()+"/v1/job/"+id, "")
	req.Header.Del("Authorization")
	var a struct{ Prompt struct{ Message string } }
	if err := json.Unmarshal([]byte(send(c.T, req).body), &a); err != nil {
		c.Fatal(err)
	}
	return a.Prompt.Message
}

// confirm approves what a job asks.
func (c *callers) confirm(id string) {
	c.Helper()
	req := asOwner(c.T, c.username, "POST", c.URL()+"/v1/confirm/"+id, `{"approved":true}`)
	req.Header.Del("Authorization")
	if a := send(c.T, req); a.status/100 != 2 {
		c.Fatalf("%d %s", a.status, a.body)
	}
}

// TestOrderExample: an order that is paid at once, one that is paid after the reminder, and one that nobody pays.
func TestOrderExample(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("caller", account.Standard)
	c := &callers{t, b, "caller"}
	order, err := os.ReadFile("../../examples/order.ql")
	if err != nil {
		t.Fatal(err)
	}
	c.publish("order", string(order))
	const pay = `SIGNAL "paid" TO !INPUT('id') USING {reference: "%s"}`
	for _, one := range []struct{ request, remind, after, cancel, want string }{
		{fmt.Sprintf(pay, "r1"), "EMIT 1", "24", "24", "paid r1"},
		{"EMIT 1", fmt.Sprintf(pay, "r2"), "0.00001", "24", "paid r2"},
		{`IF NOT CONTAINS(!INPUT('notify'), "/v1/signals/") THEN FAIL "no address" END`, "EMIT 1", "0.00001", "0.00001", "cancelled "},
	} {
		c.publish("request-payment", one.request)
		c.publish("remind", one.remind)
		got := c.run("async", fmt.Sprintf(`RUN SCRIPT "order" USING {item: "book", amount: 5, customer: "ada", remind_after: %s, cancel_after: %s} SET ?r
SELECT * FROM paid_orders WHERE id = ?r.order SET ROW ?o
EMIT ?r.state = ?o.state, " ", ?r.state, " ", ?o.reference`, one.after, one.cancel))
		if got.Result != "true "+one.want || got.Error != nil {
			t.Errorf("%s: %+v %+v", one.want, got, got.Error)
		}
	}
	jobs := c.jobs()
	if len(jobs) != 3+4+4 {
		t.Errorf("%d jobs", len(jobs))
	}
	for _, j := range jobs {
		c.until(j.JobID, "complete")
	}
}
