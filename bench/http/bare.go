package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"ql/bench/load"
	"ql/internal/telemetry"
)

// bareHandler answers every question with the same answer. It is what the
// service would be without a language, accounts, limits and records.
func bareHandler(s *script) http.HandlerFunc {
	a := answer{Status: "ok", JobID: "0d3f0a4e-7b8c-4d5e-9f00-112233445566", Result: s.result}
	for i, name := range s.steps {
		a.Trace = append(a.Trace, step{Step: name, Status: "Ok", ExecClass: "Cpu", Line: i + 1, DurationUS: 3})
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var q load.Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, err := json.Marshal(&a)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // nobody is left to tell
	}
}

// serveBare serves a bare handler for each script, by its place in the list,
// and the process's metrics beside them, until it is interrupted.
func serveBare(stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listeners := make([]net.Listener, 2)
	for i := range listeners {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		listeners[i] = l
	}
	mux := http.NewServeMux()
	for i, s := range scripts() {
		mux.Handle("POST "+barePath(i), bareHandler(&s))
	}
	calls := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	metrics := &http.Server{Handler: telemetry.NewMetrics("bare").Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = metrics.Serve(listeners[1]) }() // ends with the process
	fmt.Fprintf(stdout, `{"url":"http://%s","metrics":"%s"}`+"\n", listeners[0].Addr(), listeners[1].Addr())
	context.AfterFunc(ctx, func() { _ = calls.Close() })
	_ = calls.Serve(listeners[0]) // ends when it is closed
	return nil
}

func barePath(script int) string { return "/bare/" + strconv.Itoa(script) }
