package worker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/network"
	"ql/internal/resource/fetch"
)

// lossyNetwork makes calls, and loses what the first of them brought.
type lossyNetwork struct {
	engine.Network
	mu   sync.Mutex
	lost bool
}

func (n *lossyNetwork) Fetch(ctx context.Context, r engine.Request) (engine.Reply, error) {
	reply, err := n.Network.Fetch(ctx, r)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.lost {
		n.lost = true
		return engine.Reply{}, errors.New("the process died")
	}
	return reply, err
}

// TestFetchIsRepeatedAlike: a call whose answer was lost is made again, with
// the same content and the same key; what came before is not done twice, nor is
// a call made again whose answer was kept.
func TestFetchIsRepeatedAlike(t *testing.T) {
	var mu sync.Mutex
	var bodies, keys []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies, keys = append(bodies, string(body)), append(keys, r.Header.Get("Idempotency-Key"))
	}))
	defer server.Close()
	client := network.NewClient(network.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, AnyPort: true}, network.ForFetches())
	defer client.Close()
	lossy := &lossyNetwork{Network: fetch.New(fetch.Options{Client: client, Limits: fetch.LimitsOf(account.Standard.Limits())})}

	e := newWorld(t, faults{})
	open := e.host.Resources
	e.host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
		r, err := open(ctx, a, l, session)
		r.Network = lossy
		return r, err
	}
	id := e.submit(`
		APPEND "x" TO FILE "/log"
		SET ?order AS UUID()
		FETCH "` + server.URL + `" BODY ?order SET ?a
		FETCH "` + server.URL + `" BODY ?order SET ?b
		READ "/log" AS TEXT SET ?log
		EMIT "{?a.status} {?b.status} {?log}"`)
	e.wantResult(id, "200 200 x")
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] == keys[2] || bodies[0] == "" || bodies[0] != bodies[1] || bodies[1] != bodies[2] {
		t.Errorf("the server saw the keys %q with %q", keys, bodies)
	}
	if strings.Contains(keys[0], id.String()[:8]) {
		t.Errorf("the key %s tells the job's id, by which anybody may see the job", keys[0])
	}
}
