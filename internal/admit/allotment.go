package admit

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
)

// Allotments say how the nodes of a service have shared out limits of accounts that count things under way. A
// node allows as many as it holds a share for, and asks for more when it needs them; the shares of one that is no
// member any more are nobody's. Methods are safe for concurrent use.
type Allotments interface {
	// Allotment returns that of an account, and the incarnations that are members: those of all who hold a share
	// in it and live are among them.
	Allotment(ctx context.Context, account int64) (Allotment, []int64, error)
	// SwapAllotment replaces that of an account, where it still has the version that the new one was made from; 0
	// is that of one that is not there. It returns the version of the new one, and 0 where it did nothing.
	SwapAllotment(ctx context.Context, account, version int64, now Allotment) (int64, error)
	// Contended lists accounts of which a node wants a greater share than there is.
	Contended(ctx context.Context, limit int) ([]int64, error)
}

// SharedLimit is a limit of an account that nodes share out.
type SharedLimit uint8

// The limits that are shared out.
const (
	SharedRunning SharedLimit = iota // jobs that are under way
	SharedQueued                     // jobs that wait for that
	SharedLimits                     // how many these are
)

// Share is what a node has of a limit.
type Share struct {
	Held   int // how many it may have
	Wanted int // how many more it has a use for, and did not get
}

// NodeShares are what a node has of all limits of an account.
type NodeShares struct {
	Incarnation int64
	Of          [SharedLimits]Share
}

func (n *NodeShares) isEmpty() bool { return n.Of == [SharedLimits]Share{} }

// Allotment is how an account's limits are shared out.
type Allotment struct {
	Version int64 // another one after each change; 0 for none
	Nodes   []NodeShares
}

// Of returns the shares of an incarnation.
func (a *Allotment) Of(incarnation int64) NodeShares {
	for _, n := range a.Nodes {
		if n.Incarnation == incarnation {
			return n
		}
	}
	return NodeShares{Incarnation: incarnation}
}

// With returns the allotment with other shares of one incarnation.
func (a *Allotment) With(n NodeShares) Allotment {
	others := slices.DeleteFunc(slices.Clone(a.Nodes), func(one NodeShares) bool { return one.Incarnation == n.Incarnation })
	if !n.isEmpty() {
		others = append(others, n)
	}
	return Allotment{a.Version, others}
}

// Among returns the allotment without the shares of those who are no members.
func (a *Allotment) Among(members []int64) Allotment {
	living := slices.DeleteFunc(slices.Clone(a.Nodes), func(one NodeShares) bool { return !slices.Contains(members, one.Incarnation) })
	return Allotment{a.Version, living}
}

// IsContended tells whether a node wants more than it has of what others may give back.
func (a *Allotment) IsContended() bool {
	return slices.ContainsFunc(a.Nodes, func(n NodeShares) bool { return n.Of[SharedRunning].Wanted > 0 })
}

// Demand is what a node needs of a limit.
type Demand struct {
	Used  int // how many it has, which it cannot give back
	More  int // how many more it has a use for now
	Keep  int // up to how many it keeps of those that it holds, where nobody waits for them
	Spare int // how many more it may hold that it has no use for yet
	// Yields says that it has just let another have its turn, and waits for that.
	Yields bool
}

// Share returns what a node may hold of a limit: what it has, and what it needs and others leave. Of what is under
// way, and ends, others who wait have their part: who holds more gives it back as it comes free. Where there is less than one
// for each, who had one lets another have it.
func (a *Allotment) Share(self int64, l SharedLimit, limit int, d Demand) Share {
	held, wanted, claimants := 0, 0, 1
	for _, n := range a.Nodes {
		if n.Incarnation != self && n.Of[l] != (Share{}) {
			held += n.Of[l].Held
			wanted += n.Of[l].Wanted
			claimants++
		}
	}
	part, behind := limit/claimants, false
	for _, n := range a.Nodes {
		behind = behind || n.Incarnation != self && n.Of[l].Wanted > 0 && n.Of[l].Held < max(part, 1)
	}
	most, need := limit-held, d.Used+d.More
	switch {
	case !behind:
	case part > 0:
		most = min(most, max(part, most-wanted))
	case d.Yields || a.Of(self).Of[l].Held > 0:
		most = min(most, 0)
	default:
		most = min(most, 1)
	}
	s := Share{Held: max(d.Used, min(most, need))}
	if l == SharedRunning { // who cannot queue a job refuses it, and does not wait
		s.Wanted = max(0, need-s.Held)
	}
	if s.Held >= need && !behind {
		s.Held = max(s.Held, min(d.Keep, a.Of(self).Of[l].Held, most), need+min(d.Spare, (most-need)/(2*(claimants+1))))
	}
	return s
}

// AppendNodes writes the shares of an allotment for a store: numbers, as varints.
func (a *Allotment) AppendNodes(b []byte) []byte {
	for _, n := range a.Nodes {
		b = binary.AppendVarint(b, n.Incarnation)
		for _, s := range n.Of {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(s.Held)), int64(s.Wanted))
		}
	}
	return b
}

// ReadNodes reads what AppendNodes wrote.
func ReadNodes(b []byte) (nodes []NodeShares, err error) {
	next := func() (number int64) {
		number, size := binary.Varint(b)
		if size <= 0 {
			err, b = errors.New("an allotment is not readable"), nil
			return 0
		}
		b = b[size:]
		return number
	}
	for len(b) > 0 {
		n := NodeShares{Incarnation: next()}
		for l := range n.Of {
			n.Of[l].Held = int(next())
			n.Of[l].Wanted = int(next())
		}
		nodes = append(nodes, n)
	}
	return nodes, err
}
