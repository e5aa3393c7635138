package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const (
	jobText = "01234567-89ab-4def-8011-2233445566ff"
	keyText = "qlk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghi"
)

func TestLogCoversSecrets(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		log := NewLog(&out, LogOptions{JSON: asJSON})
		log.Info("called with "+keyText+" for "+jobText,
			"password", "canary", "API-Key", "canary", "Authorization", []string{"canary"}, slog.Group("request", "cookie", "canary", "path", "/v1/job/"+jobText),
			"error", errors.New("no job "+jobText+", whsec_canary=="), "file", "qlmaster_canary", "count", 7)
		got := out.String()
		for _, secret := range []string{"canary", jobText[9:], keyText[4:]} {
			if strings.Contains(got, secret) {
				t.Errorf("the log shows %q: %s", secret, got)
			}
		}
		for _, kept := range []string{"01234567", "qlk_[redacted]", "count", "7", "/v1/job/"} {
			if !strings.Contains(got, kept) {
				t.Errorf("the log has no %q: %s", kept, got)
			}
		}
	}
}

func TestLogLevels(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out, LogOptions{Level: slog.LevelWarn, JSON: true})
	log.Info("quiet")
	log.Warn("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, `"msg":"loud"`) {
		t.Errorf("the log is %s", got)
	}
}

func TestMetrics(t *testing.T) {
	m := NewMetrics("v1")
	m.ObserveRequest("/v1/query", 200, 3*time.Millisecond)
	m.ObserveRequest("", 404, time.Millisecond)
	m.ObserveRequest("/v1/query", 500, 7*time.Millisecond)
	m.ObserveRequest("/v1/query", 200, 7*time.Millisecond) // whose labels are known
	m.ObserveRun("complete", 2*time.Second)
	m.ObserveRun("complete", 2*time.Second)
	m.ObserveFetch("ok", time.Millisecond)
	waiting := 4.0
	err := m.Register(
		Metric{Name: "ql_admission_total", Help: "h", Label: "outcome", LabelValue: "admitted", Counter: true, Read: func() float64 { return 5 }},
		Metric{Name: "ql_admission_total", Help: "h", Label: "outcome", LabelValue: "busy", Counter: true, Read: func() float64 { return 6 }},
		Metric{Name: "ql_admission_waiting", Help: "h", Read: func() float64 { return waiting }},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Register(Metric{Name: "ql_admission_waiting", Help: "h", Read: func() float64 { return 0 }}); err == nil {
		t.Error("a name can be added twice")
	}
	waiting = 7
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, line := range []string{
		`ql_http_requests_total{code="200",route="/v1/query"} 2`,
		`ql_http_requests_total{code="500",route="/v1/query"} 1`,
		`ql_http_request_duration_seconds_count{route="/v1/query"} 3`,
		`ql_http_requests_total{code="404",route="none"} 1`,
		`ql_http_request_duration_seconds_bucket{route="/v1/query",le="0.005"} 1`,
		`ql_run_duration_seconds_count{state="complete"} 2`,
		`ql_fetch_duration_seconds_count{outcome="ok"} 1`,
		`ql_admission_total{outcome="admitted"} 5`,
		`ql_admission_total{outcome="busy"} 6`,
		`ql_admission_waiting 7`,
		`ql_build_info{version="v1"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line) {
			t.Errorf("the metrics have no line %s", line)
		}
	}
}

func TestTraces(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	traces := newTraces("v1", sdk.WithSpanProcessor(spans))
	h := traces.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("the connection is out of reach: %v", err)
		}
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}), func(*http.Request) string { return "/v1/job/{id}" })
	for _, path := range []string{"/v1/job/" + jobText, "/bad"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Header.Set("Traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	ended := spans.Ended()
	if len(ended) != 2 {
		t.Fatalf("there are %d spans", len(ended))
	}
	for i, want := range []string{"Unset", "Error"} {
		s := ended[i]
		if s.Name() != "GET /v1/job/{id}" || s.Status().Code.String() != want || s.Parent().TraceID().String() != "0123456789abcdef0123456789abcdef" {
			t.Errorf("span %d is %s, %v, below %s", i, s.Name(), s.Status(), s.Parent().TraceID())
		}
		for _, a := range s.Attributes() {
			if strings.Contains(a.Value.String(), jobText) {
				t.Errorf("the span shows a job: %s", a.Value.String())
			}
		}
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTracesAreSent: a collector gets them by HTTP.
func TestTracesAreSent(t *testing.T) {
	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type")
	}))
	defer collector.Close()
	traces, err := NewTraces(t.Context(), collector.URL+"/", "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	traces.Middleware(http.NotFoundHandler(), func(*http.Request) string { return "/x" }).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := <-got; g != "POST /v1/traces application/x-protobuf" {
		t.Errorf("the collector got %s", g)
	}
}

func TestNoTraces(t *testing.T) {
	var none *Traces
	called := false
	none.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }), nil).ServeHTTP(nil, nil)
	if err := none.Close(context.Background()); err != nil || !called {
		t.Errorf("without traces: %v, %t", err, called)
	}
}
