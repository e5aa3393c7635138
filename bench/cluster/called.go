package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"time"

	"ql/bench/load"
)

// asBare is the first argument of a process that is the bare store behind HTTP; the URL of its database follows.
const asBare = "child-bare"

// Paths of the bare store.
const (
	barePath    = "/bare"         // inserts a row
	claimedPath = "/bare/claimed" // inserts one that is claimed and finished
	leftPath    = "/bare/left"    // how many of those are not finished
)

// serveBare serves the bare store as the service is called: what it does for a row is decode the question, insert, and answer.
func serveBare(stdout io.Writer, url string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b, err := openBare(ctx, url)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, b.close())
	}
	queue, inserted := make(chan chan error), make(chan struct{}, 1)
	var left atomic.Int64
	calls := &http.Server{ReadHeaderTimeout: time.Minute}
	go func() { _ = b.insert(ctx, queue, func(int) {}) }() // who asks is told what failed
	failed := make(chan error, 1)
	go func() {
		failed <- b.finish(ctx, inserted, func(n int) (all bool) {
			left.Add(-int64(n))
			return false
		})
		_ = calls.Close()
	}()
	handler := func(claims bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var q load.Question
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			done := make(chan error)
			queue <- done
			if err := <-done; err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			if claims {
				left.Add(1)
				select {
				case inserted <- struct{}{}:
				default: // told already
				}
			}
			body := []byte(`{"status":"accepted","job_id":"0d3f0a4e-7b8c-4d5e-9f00-112233445566","result":""}`)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body) // nobody is left to tell
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+barePath, handler(false))
	mux.HandleFunc("POST "+claimedPath, handler(true))
	mux.HandleFunc("GET "+leftPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, left.Load()) })
	calls.Handler = mux
	context.AfterFunc(ctx, func() { _ = calls.Close() })
	fmt.Fprintf(stdout, `{"url":"http://%s"}`+"\n", l.Addr())
	_ = calls.Serve(l) // ends when it is closed
	if ctx.Err() != nil {
		return nil // the connections end with the process
	}
	return errors.Join(<-failed, b.close())
}

// calledJobs is bareStore.jobs for callers of the bare store behind HTTP.
func (in *instances) calledJobs(ctx context.Context, o *options, claims bool) (float64, error) {
	if err := in.bare.empty(ctx); err != nil {
		return 0, err
	}
	path := barePath
	if claims {
		path = claimedPath
	}
	body, err := json.Marshal(load.Question{Auth: in.single.Password, Query: trivial, Mode: "async"})
	if err != nil {
		return 0, err
	}
	clients, err := load.Gather(ctx, &load.Target{
		Name: "bare", Address: in.called.Address, Request: load.Post(in.called.Address, path, "application/json", string(body)),
		Check: func(body []byte) error { return wantResult(body, "accepted", "") },
	}, o.clients)
	if err != nil {
		return 0, err
	}
	defer clients.Close()
	began := time.Now()
	m, err := clients.Load(ctx, load.Plan{Lasting: o.each})
	if err != nil {
		return 0, err
	}
	if claims {
		if err := in.awaitFinished(ctx); err != nil {
			return 0, err
		}
	}
	return float64(m.Calls()) / time.Since(began).Seconds(), nil
}

// awaitFinished returns when the bare store has finished all rows.
func (in *instances) awaitFinished(ctx context.Context) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+in.called.Address+leftPath, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		left, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || string(left) == "0" {
			return err
		}
	}
}
