package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/service"
)

// BenchmarkCall is a trivial script through each convention, without a network,
// beside a bare handler that decodes and encodes the same JSON.
func BenchmarkCall(b *testing.B) {
	w := boot(b, settings{service: func(o *service.Options) {
		o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true})
		o.Host.Resources = func(context.Context, account.Account, account.Limits, string) (engine.Resources, error) {
			return engine.Resources{}, nil
		}
	}})
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(b.Context(), "ada", "shop.example.com", false)
	check(b, err)
	body := `{"auth":{"username":"ada","password":` + quote(ada.password) + `},"query":"EMIT \"Hello\""}`
	form := url.Values{"identity": {"ada"}, "password": {ada.key}, "q": {`EMIT "Hello"`}}.Encode()
	b.Run("bare", func(b *testing.B) {
		measure(b, http.HandlerFunc(bare), "/v1/query", jsonType, body)
	})
	b.Run("json", func(b *testing.B) { measure(b, w.handler, "/v1/query", jsonType, body) })
	without := func(body string) string { return strings.TrimSuffix(body, "}") + `,"trace":false}` }
	b.Run("json without trace", func(b *testing.B) { measure(b, w.handler, "/v1/query", jsonType, without(body)) })
	steps := strings.Replace(body, `"query":"`, `"query":"`+strings.Repeat("SET ?x AS 1 ", 100), 1)
	b.Run("json of 100 steps", func(b *testing.B) { measure(b, w.handler, "/v1/query", jsonType, steps) })
	b.Run("json of 100 steps without trace", func(b *testing.B) { measure(b, w.handler, "/v1/query", jsonType, without(steps)) })
	w.publish("hello", `EMIT "Hello"`, account.CallersAnyone)
	b.Run("json by name", func(b *testing.B) {
		measure(b, w.handler, "/v1/query", jsonType, strings.Replace(body, `"query":"EMIT \"Hello\""`, `"script":"hello"`, 1))
	})
	b.Run("run", func(b *testing.B) { measure(b, w.handler, "/run/ada/hello", "", "") })
	b.Run("run by the owner", func(b *testing.B) {
		measure(b, w.handler, "/run/ada/hello", "", "", "Authorization", basic("ada", ada.password))
	})
	b.Run("form", func(b *testing.B) { measure(b, w.handler, "/api", formType, form) })
	b.Run("page", func(b *testing.B) {
		measure(b, w.handler, "/v1/query", jsonType, `{"query":"EMIT \"Hello\""}`, "Origin", listed)
	})
}

func measure(b *testing.B, h http.Handler, path, kind, body string, headers ...string) {
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), "POST", path, strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:1" // from elsewhere, pages call by https only
		r.Header.Set("Content-Type", kind)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}

func bare(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	var q struct {
		Auth  struct{ Username, Password string }
		Query string
	}
	if err := json.Unmarshal(text, &q); err != nil {
		return
	}
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "ok", "job_id": "0d3f0a4e-7b8c-4d5e-9f00-112233445566", "result": "Hello",
		"trace": []map[string]any{{"step": "EMIT", "status": "Ok", "duration_ms": 0, "exec_class": "Cpu"}},
	})
}
