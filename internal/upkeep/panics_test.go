package upkeep

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/guard"
	"ql/internal/telemetry"
)

// TestPanicsOfTasks: a task that panics keeps none of the others from its work, and a
// trim that panics is followed by the next. Each is in the log and in the metric.
func TestPanicsOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		metrics := telemetry.NewMetrics("test")
		logger := telemetry.NewLog(&log, telemetry.LogOptions{})
		// Nothing is open, so whatever the tasks reach for is nil.
		u := New(Options{Log: logger, Guard: guard.New(logger, metrics.CountPanic), Growth: NewGrowth(nil), PurgeDevelopment: true})
		if err := u.Run(t.Context(), time.Now()); err == nil {
			t.Error("an upkeep without a store is fine")
		}
		tasks := u.o.Guard.Panics()
		if tasks < 5 {
			t.Errorf("%d tasks of the upkeep ran, and panicked", tasks)
		}
		u.Start()
		synctest.Wait()
		tasks = u.o.Guard.Panics()
		for range 2 {
			u.o.Growth.request(1)
			synctest.Wait()
		}
		if n := u.o.Guard.Panics() - tasks; n != 2 {
			t.Errorf("%d of 2 trims ran, and panicked", n)
		}
		if err := u.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := scraped(t, metrics); !strings.Contains(got, `ql_panics_total{part="trim"} 2`) {
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
