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

// TestPanicsOfTheBackground: a task of the upkeep that panics keeps none of the
// others from its work, a trim that panics is followed by the next, and a part
// that panics in its stop keeps no other from stopping. Each is in the log and
// in the metric.
func TestPanicsOfTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := New(config.Settings{StopTimeout: time.Second}, Options{Log: telemetry.NewLog(&log, telemetry.LogOptions{})})
		metrics := telemetry.NewMetrics("test")
		a.parts.guard = guard.New(a.o.Log, metrics.Panicked)
		// Nothing is open, so whatever the tasks reach for is nil.
		if err := a.upkeep(t.Context(), time.Now()); err == nil {
			t.Error("an upkeep without a store is fine")
		}
		tasks := a.parts.guard.Panics()
		if tasks < 5 {
			t.Errorf("%d tasks of the upkeep ran, and panicked", tasks)
		}
		a.startTrims()
		for range 2 {
			a.growth.ask(1)
			synctest.Wait()
		}
		if n := a.parts.guard.Panics() - tasks; n != 2 {
			t.Errorf("%d of 2 trims ran, and panicked", n)
		}
		closed := false
		a.closers = append([]closer{{what: "first", close: func(context.Context) error { closed = true; return nil }}}, a.closers...)
		a.closes("last", func(context.Context) error { panic("the last part is broken") })
		if err := a.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "stopping the last: stop panicked: the last part is broken") || !closed {
			t.Errorf("the stop: %v; the first part is closed: %t", err, closed)
		}
		if got := scraped(t, metrics); !strings.Contains(got, `ql_panics_total{part="trim"} 2`) || !strings.Contains(got, `ql_panics_total{part="stop"} 1`) {
			t.Errorf("metrics:\n%s", got)
		}
		if !strings.Contains(log.String(), "panicked") || !strings.Contains(log.String(), "upkeep.go") {
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
