package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/network"
	"ql/internal/redacted"
	"ql/internal/store/sqlite"
	"ql/internal/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// desk is a store with an account, and a sender on it.
type desk struct {
	t       *testing.T
	folder  string
	store   *sqlite.Store
	account account.ID
	options webhook.Options
	sender  *webhook.Sender
	jobs    int
}

// openDesk opens a store of its own. Nothing is sent before start.
func openDesk(t *testing.T, client webhook.Caller) *desk {
	t.Helper()
	d := &desk{t: t, folder: filepath.Join(t.TempDir(), "data")}
	d.open()
	t.Cleanup(d.close)
	a := account.Account{Username: "ada", Plan: account.Standard, Created: time.Now()}
	id, err := d.store.Accounts().Create(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	d.account = id
	d.options = webhook.Options{
		Outbox: d.store.Deliveries(),
		Client: client,
		Secrets: func(_ context.Context, a account.ID) ([]redacted.Text, error) {
			if a != d.account {
				return nil, errors.New("another account")
			}
			return []redacted.Text{secret}, nil
		},
		Body: func(_ context.Context, d webhook.Delivery) ([]byte, error) {
			return json.Marshal(map[string]string{"job_id": d.Job.String(), "status": "complete"})
		},
		// Where all is woken, nothing waits for a poll.
		Poll: 1000 * time.Hour,
		Log:  slog.New(slog.DiscardHandler),
	}
	return d
}

func (d *desk) open() {
	d.t.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Options{Folder: d.folder, Own: true})
	if err != nil {
		d.t.Fatal(err)
	}
	d.store = store
	d.options.Outbox = store.Deliveries()
}

func (d *desk) close() {
	d.stop()
	if err := d.store.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *desk) start() {
	d.sender = webhook.NewSender(d.options)
	d.sender.Start()
}

func (d *desk) stop() {
	if d.sender == nil {
		return
	}
	if err := d.sender.Stop(context.Background()); err != nil {
		d.t.Error(err)
	}
	d.sender = nil
}

// finish ends a job that is to tell a URL, and returns the delivery's id.
func (d *desk) finish(url string) string { return d.finishAs(d.account, url) }

func (d *desk) finishAs(a account.ID, url string) string {
	d.t.Helper()
	d.jobs++
	now := time.Now()
	id := job.NewID()
	end := job.End{Delivery: job.DeliveryID(id)}
	end.ID, end.Account, end.State, end.Mode, end.Created, end.Finished = id, a, job.Complete, job.Async, now, now
	task := job.Task{Summary: end.Summary, Webhook: url, Spec: []byte("x")}
	task.State, task.Finished = job.Running, time.Time{}
	lease, _, err := d.store.Queue().Accept(context.Background(), &task, member.Member{}, now)
	if err == nil {
		err = d.store.Queue().Finish(context.Background(), lease, &end)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return end.Delivery
}

func (d *desk) delivery(id string) webhook.Delivery {
	d.t.Helper()
	got, err := d.store.Deliveries().ByID(context.Background(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return got
}

func (d *desk) attempts(id string) []webhook.Attempt {
	d.t.Helper()
	got, err := d.store.Deliveries().Attempts(context.Background(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return got
}

// receiver plays all hosts: it answers as f does and remembers the calls.
type receiver struct {
	answer func(ctx context.Context, r network.Request) (network.Answer, error)

	mu    sync.Mutex
	calls []call
}

type call struct {
	at        time.Time
	url       string
	id        string
	timestamp string
	signature string
	kind      string
	body      string
}

func (r *receiver) Do(ctx context.Context, q network.Request) (network.Answer, error) {
	h := http.Header(q.Header)
	r.mu.Lock()
	r.calls = append(r.calls, call{
		time.Now(), q.Method + " " + q.URL, h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature"), h.Get("Content-Type"), string(q.Body),
	})
	r.mu.Unlock()
	return r.answer(ctx, q)
}

// received returns the calls so far.
func (r *receiver) received() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

// answers returns a receiver that always answers a status.
func answers(status int) *receiver {
	return &receiver{answer: func(context.Context, network.Request) (network.Answer, error) {
		return network.Answer{Status: status, Body: []byte("status " + strconv.Itoa(status))}, nil
	}}
}
