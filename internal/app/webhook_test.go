package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"ql/internal/apptest"
	"ql/internal/backup"
	"ql/internal/operator"
	"ql/internal/webhook"
)

// listening is a server that webhooks go to. It tells their ids, and answers
// where it is told to.
func listening(t *testing.T, answers bool) (url string, ids chan string) {
	t.Helper()
	ids = make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		ids <- r.Header.Get("webhook-id")
		if !answers {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, ids
}

func submitTelling(t *testing.T, base, url, script string) answer {
	t.Helper()
	a := post(t, base+"/v1/query", "application/json",
		`{"auth":{"username":"dev","password":"dev"},"mode":"async","query":`+strconv.Quote(script)+`,"options":{"webhook":`+strconv.Quote(url)+`}}`)
	if a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return a
}

// TestStopCutsWebhooks: a stop does not wait for a server that never answers, and
// the message comes again after the next start, under the same id.
func TestStopCutsWebhooks(t *testing.T) {
	url, ids := listening(t, false)
	settings := apptest.Settings(t)
	b := apptest.Start(t, settings)
	submitTelling(t, b.URL(), url, `EMIT 1`)
	first := <-ids
	began := time.Now()
	if err := b.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second { // a call may take 15
		t.Errorf("the stop took %s", took)
	}
	apptest.Start(t, settings)
	if again := <-ids; again != first || first == "" {
		t.Errorf("the message came as %q, and then as %q", first, again)
	}
}

// TestWebhookAfterRestore: a job that ends again after a restore is told under the
// id under which it was told before.
func TestWebhookAfterRestore(t *testing.T) {
	url, ids := listening(t, true)
	settings := apptest.Settings(t)
	b := apptest.Start(t, settings)
	id := submitTelling(t, b.URL(), url, `CONFIRM "go on?"`).JobID
	paused := func(b *apptest.Service) {
		t.Helper()
		for a := get(t, b.URL()+"/v1/job/"+id); a.Status != "paused"; a = get(t, b.URL()+"/v1/job/"+id) {
			if a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
	}
	approve := func(b *apptest.Service) string {
		t.Helper()
		if a := post(t, b.URL()+"/v1/confirm/"+id, "application/json", `{"approved":true}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return <-ids
	}
	paused(b)
	copied := filepath.Join(t.TempDir(), "copy")
	b.Operate(func(o *operator.Operator) error {
		_, err := o.Backup(t.Context(), copied, "test", true)
		return err
	})
	first := approve(b)
	if err := b.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	settings.Data = filepath.Join(t.TempDir(), "data")
	if _, err := backup.Restore(t.Context(), copied, settings.Data, ""); err != nil {
		t.Fatal(err)
	}
	b = apptest.Start(t, settings)
	if again := approve(b); again != first || first == "" {
		t.Errorf("the end was told as %q, and after the restore as %q", first, again)
	}
}

// TestPausesAreTold: a call that chose so tells its webhook of each question and of its end, also
// where it was synchronous, each under an id of its own; and nothing by which to answer.
func TestPausesAreTold(t *testing.T) {
	type told struct {
		id   string
		body map[string]any
	}
	messages := make(chan told, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		m := told{id: r.Header.Get("webhook-id")}
		_ = json.NewDecoder(r.Body).Decode(&m.body)
		messages <- m
	}))
	t.Cleanup(server.Close)
	b := apptest.Start(t, apptest.Settings(t))
	const script = `CONFIRM "Pay?" TO "finance" SET ?ok CONFIRM "Sure?" SET ?ok EMIT "done"`
	for mode, events := range map[string]string{"async": `["paused","finished"]`, "sync": `["finished","paused"]`} {
		a := post(t, b.URL()+"/v1/query", "application/json", `{"auth":{"username":"dev","password":"dev"},"mode":"`+mode+`","query":`+strconv.Quote(script)+
			`,"options":{"webhook":`+strconv.Quote(server.URL)+`,"webhook_events":`+events+`}}`)
		if a.status != 202 {
			t.Fatalf("%s: %d %s", mode, a.status, a.body)
		}
		ids := map[string]bool{}
		for _, want := range []string{"Pay?", "Sure?"} {
			m := <-messages
			ids[m.id] = true
			prompt, _ := m.body["prompt"].(map[string]any)
			if m.body["status"] != "paused" || m.body["job_id"] != a.JobID || prompt["message"] != want || m.body["trace"] != nil || m.body["form_url"] != nil || m.body["confirm_url"] != nil || m.body["poll_url"] != nil {
				t.Errorf("%s: the pause was told as %v", mode, m.body)
			}
			if want == "Pay?" && prompt["to"] != "finance" {
				t.Errorf("%s: the question is %v", mode, prompt)
			}
			if a := post(t, b.URL()+"/v1/confirm/"+a.JobID, "application/json", `{"approved":true}`); a.status != 200 {
				t.Fatalf("%s: %d %s", mode, a.status, a.body)
			}
		}
		m := <-messages
		ids[m.id] = true
		if m.body["status"] != "complete" || m.body["result"] != "done" || len(ids) != 3 {
			t.Errorf("%s: the end was told as %v, all by %v", mode, m.body, ids)
		}
	}
	// One that tells of pauses alone says nothing of its end, whether it pauses or not; a
	// synchronous call that ends at once says nothing at all.
	for _, call := range []string{`"mode":"async","query":"EMIT 1"`, `"query":"EMIT 1"`, `"mode":"async","query":"CONFIRM \"Last?\""`} {
		a := post(t, b.URL()+"/v1/query", "application/json", `{"auth":{"username":"dev","password":"dev"},`+call+`,"options":{"webhook":`+strconv.Quote(server.URL)+`,"webhook_events":["paused"]}}`)
		if a.status >= 300 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	m := <-messages
	if prompt, _ := m.body["prompt"].(map[string]any); prompt["message"] != "Last?" {
		t.Errorf("told: %v", m.body)
	}
	id, _ := m.body["job_id"].(string)
	if a := post(t, b.URL()+"/v1/confirm/"+id, "application/json", `{"approved":false}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	b.Operate(func(o *operator.Operator) error {
		who, err := o.Accounts.Find(t.Context(), "user_test")
		if err != nil {
			return err
		}
		list, err := o.Webhooks.List(t.Context(), who.ID, webhook.Query{Limit: 100})
		events := map[string]int{}
		for _, d := range list {
			events[d.Event]++
		}
		if events["finished"] != 2 || events["paused"] != 5 {
			t.Errorf("the deliveries are %v", events)
		}
		return err
	})
}
