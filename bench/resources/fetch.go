package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ql/bench/load"
)

// How the addresses are called.
const (
	bareLoop = "bare loop of net/http"
	fetchAll = "FETCH ALL"
	fetchIn  = "FETCH ALL, one of five in a call"
	noFetch  = "a call that fetches nothing"
)

const (
	addresses   = 100
	fetchesEach = 10 // at once
	fetchesIn   = 5  // times in one call
)

// measureFetch calls 100 addresses of a server on this machine, ten at a time: by FETCH ALL in a script
// that is called over HTTP, and by a bare loop of goroutines with a client of net/http. The server is a
// process of its own, as the service is. What a call of the service costs by itself is measured beside.
func measureFetch(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	server, err := load.Start(ctx, o.load, asAddresses, "addresses")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	base := "http://" + server.Address
	_, port, _ := strings.Cut(server.Address, ":")
	folder, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // it is a temporary one
	settings := filepath.Join(folder, "settings.toml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "[plans.unlimited]\nfetches = %d\nfetches_at_once = %d\n", fetchesIn*addresses, fetchesEach), 0o600); err != nil {
		return err
	}
	options := o.load
	options.Serve = []string{"--config", settings, "--egress-networks", "127.0.0.1/32", "--egress-ports", port, "--egress-http"}
	s, err := load.StartService(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	caller, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer caller.Close()
	script := fmt.Sprintf(`FETCH ALL MAP(RANGE(1, %d), ?i -> "%s/{?i}") AT MOST %d SET ?replies
EMIT JOIN(MAP(?replies, ?r -> ?r.body), "")
`, addresses, base, fetchesEach)
	ask := func(script string) func() (string, error) {
		request := s.Query(script, "sync")
		return func() (string, error) { b, err := caller.Ask(request); return string(b), err }
	}
	var want strings.Builder
	for i := range addresses {
		fmt.Fprintf(&want, "/%d", i+1)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: fetchesEach, MaxConnsPerHost: fetchesEach}}
	defer client.CloseIdleConnections()
	ways := []struct {
		name  string
		want  string
		times int
		do    func() (string, error)
	}{
		{bareLoop, want.String(), 1, func() (string, error) { return fetchBare(ctx, client, base) }},
		{fetchAll, want.String(), 1, ask(script)},
		{fetchIn, strings.Repeat(want.String(), fetchesIn), fetchesIn, ask(strings.Repeat(script, fetchesIn))},
		{noFetch, "", 1, ask(`EMIT ""`)},
	}
	times := 40
	if o.quick {
		times = 2
	}
	took := map[string][]time.Duration{}
	for round := range o.rounds {
		fmt.Fprintf(stderr, "fetch: round %d of %d\n", round+1, o.rounds)
		for i := range times {
			for _, way := range ways {
				began := time.Now()
				got, err := way.do()
				if err != nil || !strings.Contains(got, way.want) {
					return fmt.Errorf("%s: %s, %w", way.name, got, err)
				}
				if i > 0 || o.quick { // the first opens connections
					took[way.name] = append(took[way.name], time.Since(began)/time.Duration(way.times))
				}
			}
		}
	}
	fmt.Fprintln(stdout, "| 100 addresses, ten at a time | median | times the bare loop |\n|---|---:|---:|")
	for _, way := range ways {
		fmt.Fprintf(stdout, "| %s | %s | %.2f |\n", way.name, load.Shown(load.Median(took[way.name])), load.Ratio(took[way.name], took[bareLoop]))
	}
	return nil
}

// asAddresses is the first argument of the process that serves the addresses.
const asAddresses = "child-addresses"

// serveAddresses answers each address with its path, until it is interrupted.
func serveAddresses(stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path) // who has gone misses nothing
	}))
	defer server.Close()
	fmt.Fprintf(stdout, "{\"url\":%q}\n", server.URL)
	<-ctx.Done()
	return nil
}

// fetchBare calls all addresses in a loop of its own, and returns the bodies in their order.
func fetchBare(ctx context.Context, client *http.Client, base string) (string, error) {
	bodies, errs := make([]string, addresses), make([]error, addresses)
	var group sync.WaitGroup
	places := make(chan struct{}, fetchesEach)
	for i := range addresses {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%d", base, i+1), nil)
			if err != nil {
				errs[i] = err
				return
			}
			response, err := client.Do(request)
			if err != nil {
				errs[i] = err
				return
			}
			body, err := io.ReadAll(response.Body)
			bodies[i], errs[i] = string(body), errors.Join(err, response.Body.Close())
		})
	}
	group.Wait()
	return strings.Join(bodies, ""), errors.Join(errs...)
}
