package app_test

import (
	"context"
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
