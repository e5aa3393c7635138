package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/shares"
)

// share makes a link of each account, all with the id that is returned. It may
// be called once.
func (w *world) share(members ...member) (id string) {
	w.t.Helper()
	for i, m := range members {
		w.send("PUT", "/v1/files/shared.txt", "", m.name, "Authorization", basic(m.name, m.password))
		a, err := w.accounts.Find(w.t.Context(), m.Username)
		check(w.t, err)
		token := shares.Hash{31: byte(i)}
		check(w.t, w.store.Shares().Create(w.t.Context(), shares.CreateParams{
			Token: token, Account: a.ID, Path: "/shared.txt", Name: "x", Made: time.Now(), Expires: time.Now().Add(time.Hour),
		}))
		id = shares.Share{Token: token}.ID()
	}
	return id
}

// TestShares lists an account's links with their receipts, page by page, and
// takes one back.
func TestShares(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	as := func(m member) []string { return []string{"Authorization", basic(m.name, m.password)} }
	if r := w.send("PUT", "/v1/files/a.txt", "", "hello", as(ada)...); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i := range byte(3) {
		times := int(i) // 0 for any number
		check(t, w.store.Shares().Create(t.Context(), shares.CreateParams{
			Token: shares.Hash{i}, Account: ada.ID, Path: "/a.txt", Name: "b.txt", Times: times, Made: now, Expires: now.Add(time.Hour),
		}))
	}
	d, err := w.store.Shares().Claim(t.Context(), shares.Hash{1}, shares.Visit{At: now, Address: "192.0.2.1", Agent: "curl/8"})
	check(t, err)
	check(t, w.store.Shares().RecordProgress(t.Context(), d.Share.Account, d.Share.Seq, 1, 5, now))

	type page struct {
		Shares []struct {
			ID, Path, Name, Status string
			Size                   int64
			Times                  *int
			Used                   int
			Receipts               []struct {
				Address, Agent string
				Sent           int64
				FinishedAt     *time.Time `json:"finished_at"`
			}
		}
		Next string
	}
	list := func(query string, m member) page {
		t.Helper()
		r := w.send("GET", "/v1/shares"+query, "", "", as(m)...)
		var p page
		if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != 200 {
			t.Fatalf("%d %s: %v", r.status, r.body, err)
		}
		return p
	}
	first := list("?limit=2", ada)
	if len(first.Shares) != 2 || first.Next != first.Shares[1].ID {
		t.Fatalf("%+v", first)
	}
	used := first.Shares[1]
	if used.Path != "/a.txt" || used.Name != "b.txt" || used.Size != 5 || used.Status != "used" || *used.Times != 1 || used.Used != 1 || len(used.Receipts) != 1 {
		t.Errorf("%+v", used)
	}
	if r := used.Receipts[0]; r.Address != "192.0.2.1" || r.Agent != "curl/8" || r.Sent != 5 || r.FinishedAt == nil {
		t.Errorf("%+v", r)
	}
	second := list("?limit=2&before="+first.Next, ada)
	if len(second.Shares) != 1 || second.Next != "" || second.Shares[0].Times != nil || second.Shares[0].Status != "open" {
		t.Errorf("%+v", second)
	}
	if p := list("", bob); len(p.Shares) != 0 {
		t.Errorf("bob sees %+v", p)
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?limit=501", "?before=x", "?before=" + strings.Repeat("f", 16), "?more=1", "?limit=1&limit=2"} {
		w.send("GET", "/v1/shares"+query, "", "", as(ada)...).wantError(t, 400, "invalid_request")
	}

	open := second.Shares[0].ID
	w.send("DELETE", "/v1/shares/"+open, "", "", as(bob)...).wantError(t, 404, "not_found")
	for range 2 { // a second time it is taken back already
		if r := w.send("DELETE", "/v1/shares/"+open, "", "", as(ada)...); r.status != 200 || r.body != `{"status":"ok","id":"`+open+`"}` {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if p := list("?before="+first.Next, ada); p.Shares[0].Status != "revoked" {
		t.Errorf("%+v", p)
	}
}

// TestCreateShare makes links to a file, which lead there as often as they say.
func TestCreateShare(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	as := func(m member) []string { return []string{"Authorization", basic(m.name, m.password)} }
	w.send("PUT", "/v1/files/a.txt", "", "hello", as(ada)...)
	r := w.send("POST", "/v1/shares", jsonType, `{"path":"/a.txt","name":"for you.txt"}`, as(ada)...)
	var made struct {
		URL   string `json:"url"`
		Share struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Times  *int   `json:"times"`
			Status string `json:"status"`
		} `json:"share"`
	}
	check(t, json.Unmarshal([]byte(r.body), &made))
	if r.status != 201 || made.Share.Name != "for you.txt" || made.Share.Times == nil || *made.Share.Times != 1 || made.Share.Status != "open" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	path := strings.TrimPrefix(made.URL, "http://ql.example")
	if first := w.send("GET", path, "", ""); first.status != 200 || first.body != "hello" {
		t.Errorf("%d %s", first.status, first.body)
	}
	if second := w.send("GET", path, "", ""); second.status != 410 {
		t.Errorf("%d %s", second.status, second.body)
	}
	if list := w.send("GET", "/v1/shares", "", "", as(ada)...); !strings.Contains(list.body, made.Share.ID) || strings.Contains(list.body, path) {
		t.Errorf("the list: %s", list.body)
	}
	if r := w.send("POST", "/v1/shares", jsonType, `{"path":"/a.txt","times":null,"expires_in":60}`, as(ada)...); r.status != 201 || !strings.Contains(r.body, `"times":null`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for body, want := range map[string]string{
		`{"path":"/b.txt"}`: "file_not_found", `{"path":"/"}`: "is_folder", `{"path":"x"}`: "invalid_path",
		`{}`: "invalid_request", `{"path":"/a.txt","times":0}`: "invalid_request", `{"path":"/a.txt","times":1001}`: "invalid_request",
		`{"path":"/a.txt","expires_in":2592001}`: "invalid_request", `{"path":"/a.txt","name":"a/b"}`: "invalid_request", `{"path":"/a.txt","more":1}`: "invalid_request",
	} {
		status := map[string]int{"file_not_found": 404, "is_folder": 409, "invalid_path": 422, "invalid_request": 400}[want]
		w.send("POST", "/v1/shares", jsonType, body, as(ada)...).wantError(t, status, want)
	}
	w.send("POST", "/v1/shares", jsonType, `{"path":"/a.txt"}`, as(bob)...).wantError(t, 404, "file_not_found")
	w.send("DELETE", "/v1/shares/"+made.Share.ID, "", "", as(bob)...).wantError(t, 404, "not_found")
}
