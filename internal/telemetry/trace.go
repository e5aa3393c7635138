package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces sends a span for each request to a collector. A nil Traces sends
// nothing.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext
}

// NewTraces returns traces for the collector at an address, to which
// /v1/traces is added. Further settings, such as headers, come from the
// OTEL_EXPORTER_OTLP_… variables. What goes wrong is logged, and stops nobody.
func NewTraces(ctx context.Context, endpoint, version string, log *slog.Logger) (*Traces, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(endpoint, "/")+"/v1/traces"))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// The library reports the failures of its background work only here.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not sent", "error", err) }))
	return newTraces(version, sdk.WithBatcher(exporter)), nil
}

func newTraces(version string, options ...sdk.TracerProviderOption) *Traces {
	about := resource.NewSchemaless(attribute.String("service.name", "ql"), attribute.String("service.version", version))
	p := sdk.NewTracerProvider(append(options, sdk.WithResource(about))...)
	return &Traces{provider: p, tracer: p.Tracer("ql")}
}

// Close sends what is left, at most until ctx ends.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Middleware gives each request a span, below that of its caller. Route returns the
// name of a request's route, which has no ids in it.
func (t *Traces) Middleware(next http.Handler, route func(*http.Request) string) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := route(r)
		ctx := t.context.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, r.Method+" "+name, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", name)))
		defer span.End()
		status := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(status, r.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", status.code))
		if status.code >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
