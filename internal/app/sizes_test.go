package app_test

import (
	"encoding/json"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
)

// TestFullMemoryResumes stops scripts that hold most of what the plan free lets
// them hold, and lets them go on: by a reply and by a moment.
func TestFullMemoryResumes(t *testing.T) {
	s := apptest.Boot(t, apptest.Production)
	for name, script := range map[string]string{
		// 1.5 million zeros are 12 MB.
		"zeros": `SET ?l AS RANGE(1, 100000) FOR ?i FROM 0 TO 99999 DO SET ?l[?i] AS 0 END
			SET ?all AS [] FOR ?i FROM 1 TO 15 DO SET ?l[0] AS 0 APPEND ?l TO ?all END
			CONFIRM "Go on?" SET ?ok WAIT 0.1 SECONDS EMIT COUNT(?all) * COUNT(?all[14])`,
		"maps": `SET ?all AS [] FOR ?i FROM 1 TO 100000 DO APPEND {} TO ?all END
			CONFIRM "Go on?" SET ?ok WAIT 0.1 SECONDS EMIT 15 * COUNT(?all)`,
	} {
		t.Run(name, func(t *testing.T) {
			s.Account(name, account.Free)
			a := answerer{t, s.URL(), name}
			var j struct {
				Status     string
				Result     string
				ConfirmURL string `json:"confirm_url"`
				PollURL    string `json:"poll_url"`
			}
			call, err := json.Marshal(map[string]any{"auth": map[string]string{"username": name, "password": apptest.Password}, "query": script, "mode": "async"})
			if err != nil {
				t.Fatal(err)
			}
			a.call("POST", s.URL()+"/v1/query", "application/json", string(call), &j)
			await := func(status string) {
				t.Helper()
				for j.Status != status {
					if _, text := a.call("GET", j.PollURL, "", "", &j); j.Status == "failed" {
						t.Fatalf("it failed: %s", text)
					}
				}
			}
			await("paused")
			if status, text := a.call("POST", j.ConfirmURL, "application/json", `{"approved":true}`, nil); status != 200 {
				t.Fatalf("the reply: %d %s", status, text)
			}
			if await("complete"); j.Result != "1500000" {
				t.Errorf("it gave %q", j.Result)
			}
		})
	}
	if s.Log.Has(`"level":"ERROR"`) || s.Log.Has("level=ERROR") {
		t.Errorf("faults of the service:\n%s", s.Log)
	}
}
