// Package attacktest attacks the service as hostile tenants and strangers would: the real
// program in production, on a node held to 2.5 GiB, beside a neighbour who calls on. It
// must not die, hold more than it may, keep anything afterwards, or let the neighbour
// wait. It holds tests only.
//
// With QL_PROMISES=1 each attack lasts half a minute, with QL_ATTACKS_LAST=5s so long;
// otherwise some run for a moment.
package attacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/programtest"
)

// asAttacker holds what an attack needs, in the environment of the process that makes it.
const asAttacker = "QL_TEST_ATTACK"

func TestMain(m *testing.M) {
	if text := os.Getenv(asAttacker); text != "" {
		os.Exit(attackAs(text))
	}
	os.Exit(programtest.Main(m))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// orders are what the process of an attacker is told.
type orders struct {
	Attack string
	URL    string
	Keys   map[string]string // API keys by account
	Hang   string            // an address where a host may listen that never answers
	For    time.Duration
}

// attackAs is the process of an attacker.
func attackAs(text string) int {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	i := slices.IndexFunc(attacks, func(a attack) bool { return a.name == o.Attack })
	if i < 0 {
		fmt.Fprintln(os.Stderr, "there is no attack", o.Attack)
		return 1
	}
	m := newMallory(o)
	ctx, cancel := context.WithTimeout(context.Background(), o.For)
	defer cancel()
	attacks[i].run(ctx, m)
	fmt.Println(m)
	return 0
}

// small are the attacks of which a moment is tried each time that the tests run.
var small = []string{"slots in transactions", "stalled bodies", "slow readers"}

// TestPromiseAttacks holds the service to what it promises under each attack.
func TestPromiseAttacks(t *testing.T) {
	data := makeData(t)
	lasts, all := 30*time.Second, programtest.Promised()
	if !all {
		lasts = 3 * time.Second
	}
	if text := os.Getenv("QL_ATTACKS_LAST"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		check(t, err)
		all = true
	}
	for _, a := range attacks {
		if !all && !slices.Contains(small, a.name) {
			continue
		}
		t.Run(a.name, func(t *testing.T) { attackOnce(t, data, a, lasts) })
	}
}

func attackOnce(t *testing.T, data made, a attack, lasts time.Duration) {
	n := startNode(t, data)
	before := n.diskBytes()
	alone := n.neighbour(time.Second)
	attacked := make(chan string)
	go func() { attacked <- n.attack(a.name, lasts) }()
	beside := n.neighbour(lasts)
	said := <-attacked
	n.cancelAll()
	left := n.settle(2 * time.Minute)
	peak := n.peakBytes()
	grown := n.diskBytes() - before
	t.Logf("%s; neighbour alone %s, beside %s; peak %d MiB, disk %d MiB", said, alone, beside, peak>>20, grown>>20)
	if n.isDead() {
		t.Fatalf("the node died: %s\n%s", n.process.ProcessState, n.said())
	}
	if strings.Contains(said, mistaken) {
		t.Error("the attack is none")
	}
	if left != "" {
		t.Errorf("held after the attack: %s", left)
	}
	if peak > mostResident {
		t.Errorf("the node held %d MiB", peak>>20)
	}
	if a.disk > 0 && grown > a.disk {
		t.Errorf("the disk grew by %d MiB", grown>>20)
	}
	if beside.refused*100 > beside.calls {
		t.Errorf("%d of the neighbour's %d calls were refused: %s", beside.refused, beside.calls, beside.why)
	}
	if programtest.Promised() {
		if most := max(2*alone.p99, 50*time.Millisecond); beside.p99 > most {
			t.Errorf("the neighbour's p99 was %s, and may be %s", beside.p99, most)
		}
	}
	n.stop()
}
