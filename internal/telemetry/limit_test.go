package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// logFailedLogin is one place in the code, which it would not be where it is inlined.
//
//go:noinline
func logFailedLogin(log *slog.Logger) { log.Info("a log-in failed") }

// TestLimitLines: however often something happens, the log grows by so much, says how much it
// left out, and has room for what else happens.
func TestLimitLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, leftOut := LimitLines(NewLog(&out, LogOptions{Level: slog.LevelDebug, JSON: true}))
		logIn := func() { logFailedLogin(log) }
		lines := func(text string) int { return strings.Count(out.String(), text) }
		for range 100_000 {
			logIn()
		}
		if n := lines("a log-in failed"); n != 200 {
			t.Errorf("%d lines were written at once", n)
		}
		if n := leftOut(); n != 100_000-200 {
			t.Errorf("%d lines were left out", n)
		}
		log.Info("something else")
		log.With("part", "x").WithGroup("g").Error("a fault", "error", errors.New("why"))
		if lines("something else") != 1 || lines("a fault") != 1 {
			t.Errorf("a flood of one kind hides others:\n%s", out.String()[out.Len()-400:])
		}
		if lines("left_out") != 0 {
			t.Error("a line says that others were left out before any could")
		}
		<-time.After(time.Second)
		for range 100 {
			logIn()
		}
		if n := lines("a log-in failed"); n != 205 {
			t.Errorf("%d lines after a second", n)
		}
		if n := lines(`"left_out":99800`); n != 1 || lines("left_out") != 1 {
			t.Errorf("%d lines say how many were left out", n)
		}
		<-time.After(time.Hour)
		was := lines("a log-in failed")
		for range 1000 {
			logIn()
		}
		if n := lines("a log-in failed") - was; n != 200 {
			t.Errorf("%d lines after an hour", n)
		}
		for range 10_000 {
			log.Debug("a request")
		}
		if n := lines("a request"); n != 2000 {
			t.Errorf("%d lines at debug", n)
		}
		// What wrote lines by the log of the standard library says no place.
		old := slog.NewLogLogger(log.Handler(), slog.LevelDebug)
		for range 10_000 {
			old.Print("http: TLS handshake error")
		}
		if n := lines("handshake"); n != 2000 {
			t.Errorf("%d lines of a library", n)
		}
	})
}
