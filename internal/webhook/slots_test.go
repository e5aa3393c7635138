package webhook

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ql/internal/account"
)

// queuesOf are deliveries of accounts, each to a host of its own.
func queuesOf(counts map[account.ID]int) map[account.ID][]Delivery {
	queues := map[account.ID][]Delivery{}
	for a, n := range counts {
		for i := range n {
			queues[a] = append(queues[a], Delivery{ID: fmt.Sprintf("%d/%d", a, i), Account: a, URL: fmt.Sprintf("https://host%d.example/", i)})
		}
	}
	return queues
}

// TestTurns gives places to accounts with one and with many deliveries.
func TestTurns(t *testing.T) {
	now := time.Now()
	p := newSlotPool(16, 8, 4)
	var got []string
	chosen := p.assign(queuesOf(map[account.ID]int{1: 100, 2: 1, 3: 3}), now)
	for _, c := range chosen {
		got = append(got, c.ID)
	}
	want := []string{"1/0", "2/0", "3/0", "1/1", "3/1", "1/2", "3/2", "1/3", "1/4", "1/5", "1/6", "1/7"}
	if !slices.Equal(got, want) {
		t.Errorf("the order is %v", got)
	}
	// The last quarter is for accounts without a call under way.
	if got := p.assign(queuesOf(map[account.ID]int{2: 5, 3: 5, 4: 5, 5: 5}), now); len(got) != 2 || got[0].Account != 4 || got[1].Account != 5 {
		t.Errorf("beside %d calls: %v", len(chosen), got)
	}
	for _, c := range chosen {
		p.release(c.slot)
	}
	if p.taken != 2 || len(p.accounts) != 2 || len(p.hosts) != 2 {
		t.Errorf("after all have left: %+v", p)
	}
}

// TestSlowness: a host and an account whose calls take long have fewer places
// until they answer again, or for some time.
func TestSlowness(t *testing.T) {
	now := time.Now()
	p := newSlotPool(64, 8, 4)
	d := Delivery{Account: 1, URL: "https://trap.example:8443/x"}
	room := func(d Delivery) (n int) {
		var taken []slot
		for s, ok := p.acquire(d, now); ok; s, ok = p.acquire(d, now) {
			taken = append(taken, s)
		}
		for _, s := range taken {
			p.release(s)
		}
		return len(taken)
	}
	other := Delivery{Account: 2, URL: d.URL}
	steps := []struct {
		name         string
		do           func()
		host, others int // places of the host, and of the same host for another account
	}{
		{"at first", func() {}, 4, 4},
		{"after a quick call", func() { p.slowness.note(targetOf(d), time.Second, now) }, 4, 4},
		{"after a slow one", func() { p.slowness.note(targetOf(d), 15*time.Second, now) }, 1, 4},
		{"when it answers", func() { p.slowness.note(targetOf(d), time.Second, now) }, 4, 4},
		{"after another slow one", func() { p.slowness.note(targetOf(d), 15*time.Second, now) }, 1, 4},
		{"after some time", func() { now = now.Add(slowFor) }, 4, 4},
	}
	for _, step := range steps {
		step.do()
		if host, others := room(d), room(other); host != step.host || others != step.others {
			t.Errorf("%s: %d places, another account %d", step.name, host, others)
		}
	}
	for i := range slowAccount {
		p.slowness.note(target{1, fmt.Sprintf("trap%d.example", i)}, 15*time.Second, now)
	}
	fresh := Delivery{Account: 1, URL: "https://fresh.example/"}
	if got := room(fresh); got != 2 {
		t.Errorf("an account whose hosts are slow has %d places", got)
	}
	p.slowness.note(targetOf(fresh), time.Second, now)
	if got := room(fresh); got != 4 {
		t.Errorf("an account that has fewer slow hosts has %d places", got)
	}
	for i := range 5 * slowKept {
		p.slowness.note(target{account.ID(i), "trap.example"}, time.Minute, now)
	}
	if n := len(p.slowness.now) + len(p.slowness.before); n > 2*slowKept {
		t.Errorf("%d targets are remembered", n)
	}
}
