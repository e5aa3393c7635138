package cli

import (
	"strings"
	"testing"
	"time"

	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/webhook"
)

// withDeliveries makes a data folder with an account that has two deliveries:
// one given up after an attempt, and one that is due.
func withDeliveries(t *testing.T) (b *bench, data string) {
	t.Helper()
	b, data, store, id := withAccount(t)
	for _, message := range []string{"msg_1", "msg_2"} {
		end := job.End{Delivery: message}
		end.ID, end.Account, end.State, end.Mode, end.Created, end.Finished = job.NewID(), id, job.Complete, job.Async, b.now, b.now
		task := job.Task{Summary: end.Summary, Webhook: "https://example.com/hook", Spec: []byte("x")}
		task.State, task.Finished = job.Running, time.Time{}
		lease, _, err := store.Queue().Accept(t.Context(), &task, member.Member{}, b.now)
		must(t, err)
		must(t, store.Queue().Finish(t.Context(), lease, &end))
	}
	first, err := store.Deliveries().ByID(t.Context(), "msg_1")
	must(t, err)
	claimed, err := store.Deliveries().Claim(t.Context(), []webhook.Delivery{first}, b.now.Add(time.Minute))
	must(t, err)
	must(t, store.Deliveries().Settle(t.Context(), claimed[0],
		webhook.Attempt{Number: 1, At: b.now, Took: 1500 * time.Millisecond, Status: 500, Answer: "out of tea"}, webhook.Exhausted, b.now.Add(time.Second)))
	must(t, store.Close())
	return b, data
}

func TestWebhookCommands(t *testing.T) {
	b, data := withDeliveries(t)
	run := func(want int, args ...string) string {
		t.Helper()
		return b.operate(t, data, want, append([]string{"webhook"}, args...)...)
	}
	wantLines(t, run(exitOK, "list", "ada"),
		"DELIVERY EVENT STATUS ATTEMPTS CREATED DUE URL",
		"msg_2 finished pending 0 2026-11-15T08:30:00Z 2026-11-15T08:30:00Z https://example.com/hook",
		"msg_1 finished exhausted 1 2026-11-15T08:30:00Z - https://example.com/hook")
	wantLines(t, run(exitOK, "list", "ada", "--status", "exhausted", "--limit", "1"),
		"DELIVERY EVENT STATUS ATTEMPTS CREATED DUE URL",
		"msg_1 finished exhausted 1 2026-11-15T08:30:00Z - https://example.com/hook")
	wantLines(t, run(exitOK, "list", "ada", "--before", "msg_1"), "DELIVERY EVENT STATUS ATTEMPTS CREATED DUE URL")

	shown := run(exitOK, "show", "msg_1")
	if !strings.Contains(shown, "2026-11-15T08:30:01Z") || !strings.Contains(strings.Join(strings.Fields(shown), " "), "attempt 1 2026-11-15T08:30:00Z 1.5s 500 out of tea") {
		t.Errorf("got\n%s", shown)
	}
	asJSON := run(exitOK, "show", "msg_1", "--json")
	if !strings.Contains(asJSON, `"log":[{"number":1,"at":"2026-11-15T08:30:00Z","duration_ms":1500,"http_status":500,"answer":"out of tea"}]}`) {
		t.Errorf("got %s", asJSON)
	}

	b.now = b.now.Add(time.Hour)
	wantLines(t, run(exitOK, "repeat", "msg_1"), "msg_1 is due: a running server sends it within 15 seconds")
	if got := run(exitOK, "list", "ada", "--json"); !strings.Contains(got, `"url":"https://example.com/hook","status":"pending","attempts":1,"created_at":"2026-11-15T08:30:00Z","due_at":"2026-11-15T09:30:00Z"}]}`) {
		t.Errorf("got %s", got)
	}

	wantLines(t, run(exitFailed, "show", "msg_3"), `ql: there is no webhook delivery "msg_3"`)
	wantLines(t, run(exitFailed, "repeat", "msg_3"), `ql: there is no webhook delivery "msg_3"`)
	wantLines(t, run(exitUsage, "list", "ada", "--status", "lost"), `ql: --status: there is no state "lost": a delivery is pending, delivered, stopped or exhausted`)
	wantLines(t, run(exitUsage, "list", "ada", "--limit", "0"), `ql: --limit: 0 is no number from 1 on`)
}
