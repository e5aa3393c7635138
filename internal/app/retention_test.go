package app

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/job"
)

// recordsOf sets how many bytes the records of plans may take.
func recordsOf(free, standard int64) func(*config.Settings) {
	return func(s *config.Settings) {
		for plan, bytes := range map[account.Plan]int64{account.Free: free, account.Standard: standard} {
			l := s.Plans[plan]
			l.RecordsBytes = bytes
			s.Plans[plan] = l
		}
		s.Dev = false
	}
}

func member(t *testing.T, a *App, name string, plan account.Plan) account.Account {
	t.Helper()
	made, _, err := a.parts.accounts.Create(t.Context(), account.New{Username: name, Password: "a rather long sentence", Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// keepJobs stores finished jobs with so many bytes each, and returns their ids.
func keepJobs(t *testing.T, a *App, who account.ID, n, size int) (ids []job.ID) {
	t.Helper()
	for range n {
		now := time.Now()
		r := job.Record{Summary: job.Summary{ID: job.NewID(), Account: who, State: job.Complete, Mode: job.Sync, Convention: job.JSON,
			Created: now, Finished: now}, Result: make([]byte, size-job.RowBytes)}
		if err := a.parts.store.Jobs.Record(t.Context(), []job.Record{r}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

func (a *App) keeps(t *testing.T, who account.ID) int64 {
	t.Helper()
	n, err := a.parts.store.Jobs.RecordBytes(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// messages tells of what begins so in the log.
type messages struct {
	slog.Handler
	begin string
	seen  chan struct{}
}

func (m messages) Enabled(context.Context, slog.Level) bool { return true }

func (m messages) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, m.begin) {
		select {
		case m.seen <- struct{}{}:
		default:
		}
	}
	return nil
}

// TestATrimmedJobIsNotRepeated: a call whose record went early is not made again
// by its key.
func TestATrimmedJobIsNotRepeated(t *testing.T) {
	trimmed := messages{slog.DiscardHandler, "records of jobs were removed before their retention ended", make(chan struct{}, 1)}
	a := startWith(t, recordsOf(1, 1), Options{Version: "test", Log: slog.New(trimmed)})
	call := func(script string) (int, string) {
		t.Helper()
		body := url.Values{"identity": {"dev"}, "password": {"dev"}, "q": {script}}.Encode()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/api", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Idempotency-Key", script)
		return exchange(t, r)
	}
	const script = `APPEND "x" TO FILE "/log.txt" READ "/log.txt" SET ?log EMIT ?log`
	if status, text := call(script); status != http.StatusOK || text != "x" {
		t.Fatal(status, text)
	}
	dev, err := a.parts.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.parts.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.parts.upkeep.Run(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for a.keeps(t, dev.ID) != 0 {
		select {
		case <-trimmed.seen: // the upkeep trims in the background
		case <-time.After(time.Minute):
			t.Fatal("the record was not trimmed")
		}
	}
	const want = "error: idempotency_in_progress: the first call with this Idempotency-Key was cut off, or is kept no more: what it did stays done\n"
	if status, text := call(script); status != http.StatusConflict || text != want {
		t.Errorf("again: %d %s", status, text)
	}
	if status, text := call(`READ "/log.txt" SET ?log EMIT ?log`); status != http.StatusOK || text != "x" {
		t.Errorf("the file: %d %s", status, text)
	}
}
