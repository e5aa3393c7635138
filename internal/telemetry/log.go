// Package telemetry is how operators watch the service: a log in which secrets
// are redacted, metrics for Prometheus, and traces for OpenTelemetry. What
// happens is told to it by the others, in numbers and routes; it never learns
// which account it was.
package telemetry

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// LogOptions say how a log is written.
type LogOptions struct {
	Level slog.Level
	JSON  bool // text where it is not
}

// NewLog returns a log in which attributes with the names of secrets are
// redacted, and in all others ids of jobs are shortened and keys redacted.
func NewLog(to io.Writer, o LogOptions) *slog.Logger {
	options := &slog.HandlerOptions{Level: o.Level, ReplaceAttr: redactAttr}
	if o.JSON {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

const redacted = "[redacted]"

// secretNames are attributes that nobody should log, and somebody will.
var secretNames = map[string]bool{
	"password": true, "pass": true, "secret": true, "token": true, "key": true, "api_key": true, "apikey": true,
	"auth": true, "authorization": true, "cookie": true, "set_cookie": true, "session": true, "qlsessid": true,
	"query": true, "q": true, "script": true, "body": true, "form": true, "fields": true, "get": true, "post": true,
}

// redactAttr is a slog.HandlerOptions.ReplaceAttr.
func redactAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return a
	}
	if secretNames[strings.ReplaceAll(strings.ToLower(a.Key), "-", "_")] {
		return slog.String(a.Key, redacted)
	}
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(Redact(v))
	case error:
		a.Value = slog.StringValue(Redact(v.Error()))
	}
	return a
}

var (
	// A job's id lets its holder see the job; the start of it finds it in a log.
	jobID = regexp.MustCompile(`\b([0-9a-f]{8})-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`)
	keys  = regexp.MustCompile(`\b(qlk_|whsec_|qlmaster_)[0-9A-Za-z+/=_-]+`)
	// isSuspect is quick to say that a text has none of them.
	isSuspect = func(text string) bool {
		return strings.Contains(text, "-4") || strings.Contains(text, "qlk_") || strings.Contains(text, "whsec_") || strings.Contains(text, "qlmaster_")
	}
)

// Redact shortens ids of jobs in a text and redacts keys.
func Redact(text string) string {
	if !isSuspect(text) {
		return text
	}
	return keys.ReplaceAllString(jobID.ReplaceAllString(text, "$1"), "$1"+redacted)
}
