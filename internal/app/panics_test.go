package app

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/config"
	"ql/internal/guard"
	"ql/internal/telemetry"
)

// TestPanicsOfAStop: a part that panics in its stop keeps no other from stopping. It is
// in the log and in the metric.
func TestPanicsOfAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := New(config.Settings{StopTimeout: time.Second}, Options{Log: telemetry.NewLog(&log, telemetry.LogOptions{})})
		metrics := telemetry.NewMetrics("test")
		a.parts.guard = guard.New(a.o.Log, metrics.CountPanic)
		closed := false
		a.closers = append([]closer{{what: "first", close: func(context.Context) error { closed = true; return nil }}}, a.closers...)
		a.closes("last", func(context.Context) error { panic("the last part is broken") })
		if err := a.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "stopping the last: stop panicked: the last part is broken") || !closed {
			t.Errorf("the stop: %v; the first part is closed: %t", err, closed)
		}
		if got := scraped(t, metrics); !strings.Contains(got, `ql_panics_total{part="stop"} 1`) {
			t.Errorf("metrics:\n%s", got)
		}
		if !strings.Contains(log.String(), "panicked") || !strings.Contains(log.String(), "stop.go") {
			t.Errorf("the log has no stack:\n%s", log.String())
		}
	})
}

// scraped returns what a scraper sees.
func scraped(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}
