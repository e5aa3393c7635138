package attacktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/programtest"
)

// actions are what callers do, some of whom hang up: after each nothing of it is held.
var actions = []func(context.Context, *mallory, string, *rand.Rand){
	func(ctx context.Context, m *mallory, who string, _ *rand.Rand) { m.sync(ctx, who, "EMIT 1") },
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) { // it computes until it is told to stop
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(400))*time.Millisecond)
		defer cancel()
		m.sync(ctx, who, "FOR ?i FROM 1 TO 3000000 DO SET ?x AS ?i END")
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) {
		m.submit(ctx, who, fmt.Sprintf("CREATE TABLE IF NOT EXISTS t (i INTEGER); TRANSACTION FOR ?i FROM 1 TO %d DO INSERT INTO t VALUES (?i); END END", r.IntN(20_000)), "")
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) {
		m.submit(ctx, who, fmt.Sprintf("SET ?a AS REPEAT(\"a\", %d) WAIT 1 SECOND EMIT LENGTH(?a)", r.IntN(6_000_000)), "")
	},
	func(ctx context.Context, m *mallory, who string, _ *rand.Rand) { // it is cancelled while it runs
		job := m.submit(ctx, who, "FOR ?i FROM 1 TO 200000 DO SET ?x AS NOW() END", "")
		m.send(ctx, http.MethodDelete, "/v1/job/"+job.ID, "192.0.2.1", nil, nil)
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) { // it is asked, and answered rightly or not
		job := m.submit(ctx, who, fmt.Sprintf("SET ?a AS REPEAT(\"a\", %d) CONFIRM \"Sure?\" EMIT LENGTH(?a)", r.IntN(6_000_000)), "")
		m.send(ctx, http.MethodGet, "/v1/job/"+job.ID+"?wait=5", "192.0.2.1", nil, nil)
		reply := []string{`{"approved":true}`, `{"approved":false}`, `{"fields":{}}`, `{`}[r.IntN(4)]
		m.send(ctx, http.MethodPost, "/v1/confirm/"+job.ID, "192.0.2.1", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(reply))
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) { // it reads some of a large answer
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(600))*time.Millisecond)
		defer cancel()
		job := m.submit(ctx, who, "EMIT REPEAT(CHARACTER(1), 7000000)", "")
		slow(ctx, m.open(ctx, http.MethodGet, "/v1/job/"+job.ID+"?wait=2", "192.0.2.1", nil, nil))
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) { // it listens, and goes
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(600))*time.Millisecond)
		defer cancel()
		job := m.submit(ctx, who, "EMIT 1 WAIT 1 SECOND EMIT 2", "")
		slow(ctx, m.open(ctx, http.MethodGet, "/v1/job/"+job.ID+"/events", "192.0.2.1", nil, nil))
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) { // it sends a body and breaks off
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(200))*time.Millisecond)
		defer cancel()
		m.send(ctx, http.MethodPost, "/v1/query", "192.0.2.1", http.Header{"Content-Type": {"application/json"}}, &stalled{ctx, r.IntN(mib)})
	},
	func(ctx context.Context, m *mallory, who string, r *rand.Rand) {
		m.put(ctx, who, "/f.bin", strings.Repeat("x", r.IntN(3*mib)))
		m.sync(ctx, who, "READ \"/f.bin\" SET ?x WRITE ?x TO \"/g.bin\" EMIT LENGTH(?x)")
	},
	func(ctx context.Context, m *mallory, who string, _ *rand.Rand) {
		m.sync(ctx, who, "EMIT PASSWORD_MATCHES(\"a\", PASSWORD_HASH(\"a\"))")
	},
}

// TestPromiseMixes has callers do many things at once, large and small, hang up, cancel,
// and the node killed beneath some of them: when they are gone, nothing of it is held.
func TestPromiseMixes(t *testing.T) {
	mixes := 2
	if programtest.Promised() {
		mixes = 200
	}
	n := startNode(t, makeData(t))
	random := rand.New(rand.NewPCG(1, 2))
	for mix := range mixes {
		m := newMallory(orders{URL: n.url, Keys: n.keys, For: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), m.For)
		var all sync.WaitGroup
		for range 4 + random.IntN(12) {
			do, who, r := actions[random.IntN(len(actions))], fmt.Sprintf("eve%d", random.IntN(crowd)), rand.New(rand.NewPCG(random.Uint64(), 1))
			all.Go(func() { do(ctx, m, who, r) })
		}
		kills := mix%4 == 1
		if kills {
			timer := time.NewTimer(time.Duration(random.IntN(1500)) * time.Millisecond)
			<-timer.C
			n.kill()
		}
		all.Wait()
		cancel()
		m.client.CloseIdleConnections()
		if kills {
			n.client.CloseIdleConnections()
			n.start()
		}
		n.cancelAll()
		if left := n.settle(time.Minute); left != "" || n.isDead() {
			t.Fatalf("after mix %d (%s) there is left: %s\n%s", mix, m, left, n.said())
		}
	}
	n.stop()
}
