package replay_test

import (
	"testing"

	"ql/internal/apptest"
	"ql/internal/replay"
)

// TestCalledReplays: a script that ran in the place of its caller has a history like any other.
func TestCalledReplays(t *testing.T) {
	s := apptest.Boot(t)
	call(t, s, "PUT", "/v1/scripts/child", `{"text": "SET ?n AS RANDOM(1, 6)\nEMIT NOW(), ?n"}`)
	for _, more := range []string{`,"mode":"async"`, `,"history":true`} {
		parent := run(t, s, "RUN SCRIPT \"child\" SET ?r\nRUN SCRIPT \"child\" SET ?r\nEMIT ?r", more)
		list, _ := call(t, s, "GET", "/v1/jobs?limit=10&convention=script", "")["jobs"].([]any)
		if len(list) < 2 {
			t.Fatalf("%d jobs", len(list))
		}
		jobs := []ended{parent}
		for _, one := range list[:2] {
			j, _ := one.(map[string]any)
			id, _ := j["job_id"].(string)
			status, _ := j["status"].(string)
			jobs = append(jobs, ended{id: id, status: status})
		}
		check(t, s, jobs, func(j ended, r replay.Report, err error) {
			want := 2
			if j.id == parent.id {
				want = 4
			}
			if err != nil || r.Left != nil || r.Effects != want || !r.EndKnown || j.status == "failed" {
				t.Errorf("%s: %v, %+v %+v", j.status, err, r, r.Left)
			}
		})
	}
}
