package doctest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"ql/internal/apptest"
)

// TestFirstScriptAgain sends the first script of the README to a service as the
// README starts it, again and again, as whoever tries it does: it goes on until it
// asks, and asks for as long as it says.
func TestFirstScriptAgain(t *testing.T) {
	var script string
	for _, p := range pages(t) {
		if p.name != "README.md" {
			continue
		}
		all, err := p.examples()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.script.lang == "ql" && script == "" {
				script = e.script.text
			}
		}
	}
	if script == "" {
		t.Fatal("the README has no script")
	}
	body, err := json.Marshal(map[string]any{
		"auth": map[string]string{"username": "dev", "password": "dev"}, "query": script,
		"request": map[string]any{"get": map[string]string{"city": "Berlin"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := apptest.Boot(t)
	for n := range 5 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/query", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Status string
			Error  json.RawMessage
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		_ = res.Body.Close()
		want := "ok"
		if n >= 2 { // there are more than five visits
			want = "paused"
		}
		if err != nil || answer.Status != want {
			t.Errorf("call %d: %s %s, %v; want %s", n+1, answer.Status, answer.Error, err, want)
		}
	}
}
