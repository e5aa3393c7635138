package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
)

// TestIncludesAreBounded compiles as much as a plan lets, in many calls at once, sync and
// async, with the gate as in production: each is answered, and nothing stays held. More
// is a mistake of the script, which is told.
func TestIncludesAreBounded(t *testing.T) {
	s := apptest.Boot(t, apptest.Production)
	s.Account("ada", account.Standard)
	a := answerer{t, s.URL(), "ada"}
	for i := range 5 {
		var b strings.Builder
		for n := 0; b.Len() < 250<<10; n++ {
			fmt.Fprintf(&b, "DEFINE Part%d_%d() RETURN 1 END\n", i, n)
		}
		if status, text := a.call("PUT", fmt.Sprintf("%s/v1/files/part%d.ql", s.URL(), i), "", b.String(), nil); status != 201 {
			t.Fatal(status, text)
		}
	}
	query := func(mode string, files, number int) (int, string) {
		var script strings.Builder
		for i := range files {
			fmt.Fprintf(&script, "INCLUDE \"/part%d.ql\"\n", i)
		}
		fmt.Fprintf(&script, "EMIT Part0_0() + %d", number)
		body, err := json.Marshal(map[string]any{
			"auth": map[string]string{"username": "ada", "password": apptest.Password}, "query": script.String(), "mode": mode,
		})
		if err != nil {
			t.Error(err)
		}
		return a.call("POST", s.URL()+"/v1/query", "application/json", string(body), nil)
	}
	if status, text := query("sync", 5, 0); status != 422 || !strings.Contains(text, "with /part4.ql the script and what it includes have") {
		t.Errorf("%d %s", status, text)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	for i := range 12 {
		all.Go(func() {
			status, text := query([]string{"sync", "async"}[i%2], 3, i) // each another text, so none is found compiled
			if status != 200 && status != 202 && status != 429 && status != 503 {
				t.Errorf("%d %s", status, text)
			}
			mu.Lock()
			answers[status]++
			mu.Unlock()
		})
	}
	all.Wait()
	if answers[200]+answers[202] < 1 {
		t.Errorf("none came through: %v", answers)
	}
	t.Log(answers)
}
