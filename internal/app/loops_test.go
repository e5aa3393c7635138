package app

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
)

const (
	loopStorage = 4 << 20
	// writeRows writes a file of about 1 MiB.
	writeRows = `
		SET ?lines AS MAP(RANGE(1, 20000), ?i -> "{?i},some text of the row {?i}, which is like no other")
		WRITE "n,text\n" + JOIN(?lines, "\n") TO "/rows.csv"`
	// pauseInLoop asks at an early row, and goes through all others.
	pauseInLoop = `
		SET ?sum AS 0
		FOR ?row IN FILE "/rows.csv" AS LINES DO
			SET ?sum AS ?sum + LENGTH(?row)
			IF STARTS_WITH(?row, "5,") THEN CONFIRM "Go on?" END
		END
		EMIT ?sum`
)

// TestLoopsKeepTheirFile: a job that is paused inside a loop goes on through what the file had
// when the loop began, though it was replaced long ago and the account has no room.
func TestLoopsKeepTheirFile(t *testing.T) {
	a := produce(t, func(s *config.Settings) {
		l := s.Plans[account.Standard]
		l.StorageBytes = loopStorage
		s.Plans[account.Standard] = l
	})
	for name, meanwhile := range map[string]func(c caller){
		"ada": func(caller) {
			now := time.Now()
			for _, days := range []int{0, 2, 4} {
				if err := a.parts.upkeep.Run(t.Context(), now.AddDate(0, 0, days)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"bob": func(c caller) {
			// What is dead makes room for these, until they find none.
			status, _, text := c.call("POST", "/v1/query", queryOf("bob", `
				SET ?mebi AS REPEAT("0123456789abcdef", 65536)
				TRY
					FOR ?i IN RANGE(1, 8) DO WRITE "{?i}" + ?mebi TO "/full/{?i}" END
				CATCH ?e
					EMIT ?e.code
				END`, ""))
			if status != 200 || !strings.Contains(text, "quota_exceeded") {
				t.Fatalf("filling the storage: %d %s", status, text)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			member(t, a, name, account.Standard)
			c := caller{t, a}
			run := func(script string) string {
				t.Helper()
				status, _, text := c.call("POST", "/v1/query", queryOf(name, script, ""))
				var answer struct{ Result string }
				if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
					t.Fatalf("%d %.200s", status, text)
				}
				return answer.Result
			}
			run(writeRows)
			want := run(strings.ReplaceAll(pauseInLoop, `CONFIRM "Go on?"`, ""))
			id := c.submit(name, pauseInLoop)
			c.awaitJob(id, "paused")
			run(`WRITE "n\n1\n" TO "/rows.csv"`)
			meanwhile(c)
			if status, _, text := c.call("POST", "/v1/confirm/"+id+"?wait=0", `{"approved":true}`); status >= 300 {
				t.Fatalf("%d %.200s", status, text)
			}
			if got := c.awaitJob(id, "complete"); got != want {
				t.Errorf("the loop comes to %q, not %q", got, want)
			}
		})
	}
}

// awaitJob waits until a job has a status, and returns its result.
func (c caller) awaitJob(id, status string) string {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		_, _, text := c.call("GET", "/v1/job/"+id+"?wait=20", "")
		var job struct {
			Status, Result string
			Error          struct{ Code string }
		}
		if err := json.Unmarshal([]byte(text), &job); err != nil {
			c.t.Fatal(err)
		}
		if job.Status == status {
			return job.Result
		}
		if job.Status != "running" && job.Status != "accepted" || time.Now().After(end) {
			c.t.Fatalf("the job is %s (%s), not %s", job.Status, job.Error.Code, status)
		}
	}
}

// TestLoopsHoldWithinBounds: what links and jobs of an account hold of its files has a bound. A
// script that would hold more when it asks ends there, and one that does not ask goes on.
func TestLoopsHoldWithinBounds(t *testing.T) {
	a := produce(t, func(s *config.Settings) {
		l := s.Plans[account.Standard]
		l.StorageBytes = loopStorage
		s.Plans[account.Standard] = l
	})
	member(t, a, "ada", account.Standard)
	c := caller{t, a}
	fill := func(letter string) string {
		return `WRITE REPEAT("` + letter + ` and so on\n", 250000) TO "/rows.csv" `
	}
	status, _, text := c.call("POST", "/v1/query", queryOf("ada", fill("5, x")+`SHARE "/rows.csv" SET ?link EMIT ?link`, ""))
	if status != 200 {
		t.Fatalf("%d %.200s", status, text)
	}
	c.awaitJob(c.submit("ada", pauseInLoop), "paused") // which is what the link leads to
	status, _, text = c.call("POST", "/v1/query", queryOf("ada", fill("5, y")+pauseInLoop, ""))
	if status < 400 || !strings.Contains(text, `"code":"quota_exceeded"`) || !strings.Contains(text, `"limit":"storage"`) {
		t.Errorf("a script that asks: %d %.200s", status, text)
	}
	status, _, text = c.call("POST", "/v1/query", queryOf("ada", strings.ReplaceAll(pauseInLoop, `CONFIRM "Go on?"`, ""), ""))
	if status != 200 {
		t.Errorf("a script that does not: %d %.200s", status, text)
	}
}
