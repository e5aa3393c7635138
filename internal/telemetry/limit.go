package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// lineAllowance is how many lines of one kind are logged: so many at once, and so many again in
// each second.
type lineAllowance struct{ count, perSecond float64 }

// allowanceOf is the allowance of the lines of one place in the code. What is logged at debug is
// about each call, and asked for by whoever set that level.
func allowanceOf(l slog.Level) lineAllowance {
	switch {
	case l < slog.LevelInfo:
		return lineAllowance{2000, 500}
	case l < slog.LevelError:
		return lineAllowance{200, 5}
	}
	return lineAllowance{500, 20}
}

// LimitLines returns a log that bounds how many lines anybody can cause: those of one place in
// the code, so that a flood of one kind hides no other. The next line of the same kind says how
// many were left out. Beside it there is how many were in all.
func LimitLines(log *slog.Logger) (limited *slog.Logger, leftOut func() uint64) {
	s := &lineLimits{buckets: map[lineKind]*lineBucket{}}
	return slog.New(limitedHandler{log.Handler(), s}), s.leftOut.Load
}

// lineKind is the place in the code that a line comes from, and its level. Lines of libraries
// that say no place share one.
type lineKind struct {
	place uintptr
	level slog.Level
}

type lineBucket struct {
	tokens  float64
	filled  time.Time
	leftOut int64 // since the last line
}

// lineLimits counts lines. There are as many buckets as places in the code that log.
type lineLimits struct {
	leftOut atomic.Uint64

	mu      sync.Mutex
	buckets map[lineKind]*lineBucket
}

// take reports whether a line may be logged, and how many were left out before it.
func (l *lineLimits) take(kind lineKind, now time.Time) (leftOut int64, ok bool) {
	a := allowanceOf(kind.level)
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[kind]
	if b == nil {
		b = &lineBucket{tokens: a.count, filled: now}
		l.buckets[kind] = b
	}
	if passed := now.Sub(b.filled); passed > 0 {
		b.tokens, b.filled = min(b.tokens+passed.Seconds()*a.perSecond, a.count), now
	}
	if b.tokens < 1 {
		b.leftOut++
		l.leftOut.Add(1)
		return 0, false
	}
	b.tokens--
	leftOut, b.leftOut = b.leftOut, 0
	return leftOut, true
}

// limitedHandler hands on what may be logged.
type limitedHandler struct {
	slog.Handler
	limits *lineLimits
}

// Handle implements slog.Handler.
func (h limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	leftOut, ok := h.limits.take(lineKind{r.PC, r.Level}, r.Time)
	if !ok {
		return nil
	}
	if leftOut > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int64("left_out", leftOut))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limitedHandler{h.Handler.WithAttrs(attrs), h.limits}
}

// WithGroup implements slog.Handler.
func (h limitedHandler) WithGroup(name string) slog.Handler {
	return limitedHandler{h.Handler.WithGroup(name), h.limits}
}
