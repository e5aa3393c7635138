package upkeep

import (
	"context"
	"testing"
	"time"

	"ql/internal/config"
	"ql/internal/member"
)

// TestDutyOfOne: what is done once for all is done by the node with the duty, and by another when that is dead.
func TestDutyOfOne(t *testing.T) {
	a := start(t, func(*config.Settings) {})
	members := a.store.Members()
	var nodes []*Upkeep
	var sessions []*member.Session
	ran := make([]int, 2)
	own := make([]int, 2)
	for i := range 2 {
		s, err := member.Join(t.Context(), member.Options{Store: members, Node: member.Node{ID: int64(i + 1)}, Lease: time.Minute})
		check(t, err)
		o := a.upkeep.o
		o.Duties, o.Member = members, func() (member.Member, error) { return s.Member(), nil }
		o.Tasks = []Task{func(context.Context, time.Time) error { ran[i]++; return nil }}
		o.Own = []Task{func(context.Context, time.Time) error { own[i]++; return nil }}
		nodes, sessions = append(nodes, New(o)), append(sessions, s)
	}
	run := func(want ...int) {
		t.Helper()
		for _, u := range nodes {
			check(t, u.Run(t.Context(), time.Now()))
		}
		if ran[0] != want[0] || ran[1] != want[1] {
			t.Errorf("the nodes ran %v times, and not %v", ran, want)
		}
	}
	run(1, 0)
	run(2, 0)
	check(t, sessions[0].Leave(t.Context()))
	run(2, 1)
	check(t, sessions[0].Rejoin(t.Context()))
	run(2, 2)
	if own[0] != 4 || own[1] != 4 {
		t.Errorf("what is each node's own ran %v times", own)
	}
}
