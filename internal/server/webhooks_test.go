package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/webhook"
)

// delivery has an account's job end with a webhook, and returns its id. Nobody sends it.
func (w *world) delivery(m member) string {
	w.t.Helper()
	id := w.query(m, `EMIT 1`, `"mode":"async","options":{"webhook":"https://example.com/end?x=1"}`).read(w.t).JobID
	w.send("GET", "/v1/job/"+id+"?wait=30", "", "")
	parsed, _ := job.ParseID(id)
	list, err := w.store.Deliveries().ByJob(w.t.Context(), parsed)
	check(w.t, err)
	if len(list) != 1 {
		w.t.Fatalf("%d deliveries", len(list))
	}
	return list[0].ID
}

func TestWebhookLog(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	as := func(m member) []string { return []string{"Authorization", basic(m.name, m.password)} }
	first, second := w.delivery(ada), w.delivery(ada)
	store := w.store.Deliveries()
	d, err := store.ByID(t.Context(), first)
	check(t, err)
	now := time.Now().UTC().Truncate(time.Microsecond)
	claimed, err := store.Claim(t.Context(), []webhook.Delivery{d}, now.Add(time.Minute))
	check(t, err)
	check(t, store.Settle(t.Context(), claimed[0], webhook.Attempt{Number: 1, At: now, Took: 1500 * time.Microsecond, Status: 500, Answer: "no", Error: "500"}, webhook.Exhausted, now))

	type listing struct {
		Webhooks []struct {
			ID, Status, URL string
			Attempts        int
		}
		Next *string
	}
	list := func(query string) (l listing) {
		check(t, json.Unmarshal([]byte(w.send("GET", "/v1/webhooks"+query, "", "", as(ada)...).body), &l))
		return l
	}
	if l := list(""); len(l.Webhooks) != 2 || l.Webhooks[0].ID != second || l.Webhooks[1].Status != "exhausted" || l.Webhooks[1].URL != "https://example.com/end?x=1" || l.Next != nil {
		t.Errorf("%+v", l)
	}
	l := list("?limit=1")
	if len(l.Webhooks) != 1 || l.Next == nil || *l.Next != second {
		t.Fatalf("%+v", l)
	}
	if l := list("?limit=1&before=" + *l.Next); len(l.Webhooks) != 1 || l.Webhooks[0].ID != first || l.Next != nil {
		t.Errorf("%+v", l)
	}
	if l := list("?state=pending"); len(l.Webhooks) != 1 || l.Webhooks[0].ID != second {
		t.Errorf("%+v", l)
	}
	w.send("GET", "/v1/webhooks?state=gone", "", "", as(ada)...).wantError(t, 400, "invalid_request")

	if r := w.send("GET", "/v1/webhooks/"+first, "", "", as(ada)...); !strings.Contains(r.body, `"duration_ms":1,"http_status":500,"answer":"no","error":"500"}]}`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.send("POST", "/v1/webhooks/"+first+"/repeat", "", "", as(ada)...); r.status != 200 || !strings.Contains(r.body, `"id":"`+first+`"`) || !strings.Contains(r.body, `"status":"pending","attempts":1`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if d, err := store.ByID(t.Context(), first); err != nil || d.State != webhook.Pending || d.Due.IsZero() {
		t.Errorf("%+v %v", d, err)
	}
	for _, m := range []member{bob} {
		w.send("GET", "/v1/webhooks/"+first, "", "", as(m)...).wantError(t, 404, "not_found")
		w.send("POST", "/v1/webhooks/"+first+"/repeat", "", "", as(m)...).wantError(t, 404, "not_found")
	}
	w.send("GET", "/v1/webhooks/msg_none", "", "", as(ada)...).wantError(t, 404, "not_found")
}
