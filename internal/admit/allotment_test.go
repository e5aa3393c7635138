package admit

import (
	"reflect"
	"testing"
)

// TestShares: what a node may hold, by what it needs and others have.
func TestShares(t *testing.T) {
	node := func(incarnation int64, held, wanted int) NodeShares {
		return NodeShares{incarnation, [SharedLimits]Share{SharedRunning: {held, wanted}, SharedQueued: {held, wanted}}}
	}
	for _, c := range []struct {
		name   string
		nodes  []NodeShares
		limit  int
		demand Demand
		want   Share
	}{
		{"alone", nil, 10, Demand{More: 3}, Share{3, 0}},
		{"some ahead", nil, 100, Demand{Used: 5, More: 1, Spare: 5}, Share{11, 0}},
		{"fewer ahead near the limit", nil, 10, Demand{Used: 5, More: 1, Spare: 5}, Share{7, 0}},
		{"what others leave", []NodeShares{node(2, 8, 0)}, 10, Demand{More: 5}, Share{2, 3}},
		{"nothing is left", []NodeShares{node(2, 10, 0)}, 10, Demand{More: 1}, Share{0, 1}},
		{"more than there is", []NodeShares{node(2, 10, 0)}, 10, Demand{Used: 4, More: 1}, Share{4, 1}},
		{"what it has had a use for", []NodeShares{node(1, 5, 0), node(2, 3, 0)}, 10, Demand{Keep: 4}, Share{4, 0}},
		{"what nobody used", []NodeShares{node(1, 5, 0)}, 10, Demand{}, Share{}},
		{"another waits for his part", []NodeShares{node(1, 10, 0), node(2, 0, 7)}, 10, Demand{Used: 4, More: 6, Keep: 10}, Share{5, 5}},
		{"another waits for little", []NodeShares{node(1, 10, 0), node(2, 0, 2)}, 10, Demand{Used: 4, More: 6}, Share{8, 2}},
		{"another has his part", []NodeShares{node(1, 5, 0), node(2, 5, 7)}, 10, Demand{Used: 5, More: 5}, Share{5, 5}},
		{"it cannot give back what it uses", []NodeShares{node(1, 10, 0), node(2, 0, 7)}, 10, Demand{Used: 9}, Share{9, 0}},
		{"it had its turn", []NodeShares{node(1, 1, 0), node(2, 0, 1)}, 1, Demand{More: 3}, Share{0, 1 + 2}},
		{"it lets another have it", []NodeShares{node(1, 0, 3), node(2, 0, 1)}, 1, Demand{More: 3, Yields: true}, Share{0, 3}},
		{"nobody waits any more", []NodeShares{node(1, 0, 3), node(2, 0, 0)}, 1, Demand{More: 3, Yields: true}, Share{1, 2}},
		{"it is its turn", []NodeShares{node(1, 0, 3), node(2, 0, 1)}, 1, Demand{More: 3}, Share{1, 2}},
	} {
		a := Allotment{1, c.nodes}
		if got := a.Share(1, SharedRunning, c.limit, c.demand); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	// Who may queue no more refuses, and waits for nothing.
	full := Allotment{1, []NodeShares{node(2, 9, 0)}}
	if got := full.Share(1, SharedQueued, 10, Demand{More: 3}); got != (Share{Held: 1}) {
		t.Errorf("of a queue: %+v", got)
	}
}

func TestAllotmentsAsBytes(t *testing.T) {
	var none Allotment
	one := NodeShares{7, [SharedLimits]Share{{1, 2}, {3, 4}}}
	a := none.With(one)
	a = a.With(NodeShares{9, [SharedLimits]Share{{5, 0}, {0, 0}}})
	nodes, err := ReadNodes(a.AppendNodes(nil))
	if err != nil || !reflect.DeepEqual(nodes, a.Nodes) {
		t.Errorf("%+v became %+v, %v", a.Nodes, nodes, err)
	}
	if living := a.Among([]int64{7, 8}); !reflect.DeepEqual(living.Nodes, []NodeShares{one}) || !living.IsContended() {
		t.Errorf("of the living are %+v", living)
	}
	if left := a.With(NodeShares{Incarnation: 7}); left.Of(7) != (NodeShares{Incarnation: 7}) || left.IsContended() {
		t.Errorf("without one there are %+v", left)
	}
	if _, err := ReadNodes([]byte("no")); err == nil {
		t.Error("nonsense is read")
	}
}
