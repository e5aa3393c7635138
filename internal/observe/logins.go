package observe

import (
	"context"
	"log/slog"

	"ql/internal/auth"
	"ql/internal/telemetry"
)

// LoginFailures returns what logs and counts the log-ins that failed.
func LoginFailures(log *slog.Logger, m *telemetry.Metrics) func(auth.Failure) {
	return func(f auth.Failure) {
		m.CountLoginFailure(string(f.Code))
		attrs := []slog.Attr{slog.String("by", string(f.By)), slog.String("network", f.Network.String()), slog.String("code", string(f.Code))}
		if f.Name != "" {
			attrs = append(attrs, slog.String("name_hash", f.Name))
		}
		if f.Account != 0 {
			attrs = append(attrs, slog.Any("account", f.Account))
		}
		log.LogAttrs(context.Background(), slog.LevelInfo, "a log-in failed", attrs...)
	}
}
