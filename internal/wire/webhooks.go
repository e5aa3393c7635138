package wire

import (
	"strconv"
	"time"
)

// WebhookEntry is a webhook's delivery in a list.
type WebhookEntry struct {
	ID        string // the same at all attempts
	JobID     string
	Event     string // "finished" or "paused"
	Prompt    string // the id of the question, where it is about one
	URL       string
	Status    string // "pending", "delivered", "stopped" or "exhausted"
	Attempts  int
	CreatedAt time.Time
	DueAt     time.Time // zero where it is settled
	SettledAt time.Time // zero while it is not
}

// WebhookAttempt is one attempt at a delivery.
type WebhookAttempt struct {
	Number int
	At     time.Time
	Took   time.Duration
	Status int    // of HTTP; 0 where there was no answer
	Answer string // its start
	Error  string // why there was no answer, or why it does not count
}

// AppendWebhooks appends the answer of GET /v1/webhooks. Next is where the following page begins, ""
// at the end.
func AppendWebhooks(dst []byte, list []WebhookEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","webhooks":[`...)
	for i := range list {
		dst = appendWebhook(appendComma(dst), &list[i])
	}
	return appendNext(dst, next)
}

// AppendWebhook appends the answer of GET /v1/webhooks/{id}, with the log of its attempts, the first
// first, and of POST /v1/webhooks/{id}/repeat.
func AppendWebhook(dst []byte, w *WebhookEntry, log []WebhookAttempt) []byte {
	dst = append(dst, `{"status":"ok","webhook":`...)
	dst = appendWebhook(dst, w)
	dst = append(appendName(dst, "log"), '[')
	for i := range log {
		a := &log[i]
		dst = append(appendComma(dst), `{"number":`...)
		dst = strconv.AppendInt(dst, int64(a.Number), 10)
		dst = appendTime(appendName(dst, "at"), a.At)
		dst = strconv.AppendInt(appendName(dst, "duration_ms"), a.Took.Milliseconds(), 10)
		dst = appendName(dst, "http_status")
		if a.Status == 0 {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendInt(dst, int64(a.Status), 10)
		}
		dst = appendTextField(dst, "answer", a.Answer)
		dst = appendTextOrNull(dst, "error", a.Error)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

func appendWebhook(dst []byte, w *WebhookEntry) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendText(dst, w.ID)
	dst = appendTextField(dst, "job_id", w.JobID)
	dst = appendTextField(dst, "event", w.Event)
	dst = appendTextOrNull(dst, "prompt_id", w.Prompt)
	dst = appendTextField(dst, "url", w.URL)
	dst = appendTextField(dst, "status", w.Status)
	dst = strconv.AppendInt(appendName(dst, "attempts"), int64(w.Attempts), 10)
	dst = appendTime(appendName(dst, "created_at"), w.CreatedAt)
	dst = appendOptionalTime(appendName(dst, "due_at"), w.DueAt)
	dst = appendOptionalTime(appendName(dst, "settled_at"), w.SettledAt)
	return append(dst, '}')
}
