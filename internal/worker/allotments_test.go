package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/member"
	"ql/lang/value"
)

// slowDatabases tells of each query, which then waits until it may go on.
type slowDatabases struct {
	engine.Databases
	begun chan struct{}
	goOn  chan struct{}
	over  chan struct{} // closed at the end

	running, most atomic.Int64
}

func (d *slowDatabases) wrap(real engine.Databases) engine.Databases {
	d.Databases = real
	return d
}

func (d *slowDatabases) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	d.most.Store(max(d.most.Load(), d.running.Add(1)))
	defer d.running.Add(-1)
	d.begun <- struct{}{}
	select {
	case <-d.goOn:
	case <-d.over:
	}
	return d.Databases.Query(ctx, name, q)
}

// hintsOfTwo brings the hints of two nodes to both.
type hintsOfTwo struct{ to [2]chan member.Hint }

func (h *hintsOfTwo) Send(what member.Hint) {
	for _, to := range h.to {
		select {
		case to <- what:
		default: // it may be lost
		}
	}
}

// hintsOfNode are those of one node.
type hintsOfNode struct {
	*hintsOfTwo
	n int64
}

func (h hintsOfNode) Deliver(ctx context.Context) { <-ctx.Done() }

func (h hintsOfNode) Listen(ctx context.Context, f func(member.Hint)) {
	for {
		select {
		case what := <-h.to[h.n-1]:
			f(what)
		case <-ctx.Done():
			return
		}
	}
}

// pairOfNodes is a world of two nodes, and accounts of so many jobs.
type pairOfNodes struct {
	*world
	slow   *slowDatabases
	nodes  [2]*Worker
	silent chan struct{} // closed when the first node is not heard of any more
	limits account.Limits
}

func newPairOfNodes(t *testing.T, concurrent, queued int) *pairOfNodes {
	p := &pairOfNodes{slow: &slowDatabases{begun: make(chan struct{}, 100), goOn: make(chan struct{}, 100), over: make(chan struct{})}, silent: make(chan struct{}), limits: account.Unlimited.Limits()}
	p.limits.Concurrent, p.limits.Queued = concurrent, queued
	hints := &hintsOfTwo{[2]chan member.Hint{make(chan member.Hint, 100), make(chan member.Hint, 100)}}
	node := func(id int64) func(*Options) {
		return func(o *Options) {
			o.Node.ID, o.Lease, o.Log = id, 900*time.Millisecond, slog.New(slog.DiscardHandler)
			o.Hints = hintsOfNode{hints, id}
			o.Limits = func(account.Plan) account.Limits { return p.limits }
			o.Allotments, o.Gate = p.store.Allotments(), admit.NewGate(admit.GateOptions{Slots: 16}) // a query that hangs has its slot
			o.Members = watchedMembers{o.Members, make(chan struct{}, 1), map[int64]chan struct{}{1: p.silent}[id]}
		}
	}
	p.world = newWorld(t, faults{databases: p.slow.wrap}, func(o *Options) { o.Node.ID = 9 })
	check(t, p.w.Stop(t.Context()))
	for i := range p.nodes {
		p.start(node(int64(i) + 1))
		p.nodes[i] = p.w
	}
	t.Cleanup(func() { close(p.slow.over) })
	check(t, p.nodes[0].renew(t.Context())) // it sees the other
	return p
}

const slowScript = "SELECT 1 AS one SET VALUE ?x\nEMIT ?x"

// submitAt has a node take a job, and returns why it did not.
func (p *pairOfNodes) submitAt(n int) (job.ID, error) {
	p.t.Helper()
	s := p.submission(slowScript)
	s.Limits = p.limits
	_, err := p.nodes[n].Submit(context.Background(), s)
	return s.Summary.ID, err
}

func settleAll(t *testing.T, w *Worker) {
	t.Helper()
	_, err := w.settle(t.Context(), true)
	check(t, err)
}

// TestLimitsOfTwoNodes: two nodes together run and queue no more jobs of an account than one may.
func TestLimitsOfTwoNodes(t *testing.T) {
	p := newPairOfNodes(t, 3, 4)
	var ids []job.ID
	for i := range 7 {
		id, err := p.submitAt(i % 2)
		check(t, err)
		ids = append(ids, id)
	}
	for range 3 {
		<-p.slow.begun
	}
	for n := range p.nodes {
		if id, err := p.submitAt(n); !errors.Is(err, ErrQueueFull) {
			t.Errorf("node %d takes one too many, %v: %v", n+1, id, err)
		}
	}
	for range ids {
		p.slow.goOn <- struct{}{}
	}
	for i, id := range ids {
		p.w = p.nodes[i%2]
		p.wantResult(id, "1")
	}
	if n := p.slow.most.Load(); n != 3 {
		t.Errorf("%d jobs ran at once", n)
	}
	// What is not used any more is given back.
	for _, w := range p.nodes {
		for range 2 {
			settleAll(t, w)
		}
	}
	a, _, err := p.store.Allotments().Allotment(t.Context(), int64(p.ada.ID))
	if err != nil || len(a.Nodes) > 0 {
		t.Errorf("when all is over %+v is held, %v", a, err)
	}
}

// TestNodesTakeTurns: where there is but one slot, a node with a long queue lets the other have it in between.
func TestNodesTakeTurns(t *testing.T) {
	p := newPairOfNodes(t, 1, 100)
	var first []job.ID
	for range 5 {
		id, err := p.submitAt(0)
		check(t, err)
		first = append(first, id)
	}
	<-p.slow.begun
	other, err := p.submitAt(1)
	check(t, err)
	settleAll(t, p.nodes[0]) // it sees that the other one waits
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case p.slow.goOn <- struct{}{}:
			case <-p.slow.begun:
			case <-done:
				return
			}
		}
	}()
	p.w = p.nodes[1]
	p.wantResult(other, "1")
	if v, err := p.nodes[1].View(t.Context(), first[len(first)-1]); err != nil || v.State.Finished() {
		t.Errorf("it came after all of the first node's: %+v, %v", v.State, err)
	}
	p.w = p.nodes[0]
	for _, id := range first {
		p.wantResult(id, "1")
	}
}

// TestDeadNodeGivesBack: what a node held is had by the others once it is buried.
func TestDeadNodeGivesBack(t *testing.T) {
	p := newPairOfNodes(t, 1, 1)
	running, err := p.submitAt(0)
	check(t, err)
	<-p.slow.begun
	if _, err := p.submitAt(0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.submitAt(1); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("a job beyond what all may queue: %v", err)
	}
	close(p.silent)
	<-p.slow.begun // by the other node
	for range 3 {  // the attempt of the first one may take one
		p.slow.goOn <- struct{}{}
	}
	p.w = p.nodes[1]
	p.wantResult(running, "1")
}

// countedAllotments counts how often they are asked for.
type countedAllotments struct {
	admit.Allotments
	n atomic.Int64
}

func (a *countedAllotments) Allotment(ctx context.Context, id int64) (admit.Allotment, []int64, error) {
	a.n.Add(1)
	return a.Allotments.Allotment(ctx, id)
}

func (a *countedAllotments) SwapAllotment(ctx context.Context, id, version int64, now admit.Allotment) (int64, error) {
	a.n.Add(1)
	return a.Allotments.SwapAllotment(ctx, id, version, now)
}

func (a *countedAllotments) Contended(ctx context.Context, limit int) ([]int64, error) {
	a.n.Add(1)
	return a.Allotments.Contended(ctx, limit)
}

// TestAloneAsksNobody: a process that shares its store with nobody has all of each limit, without a word.
func TestAloneAsksNobody(t *testing.T) {
	e := newWorld(t, faults{})
	check(t, e.w.Stop(t.Context()))
	asked := &countedAllotments{Allotments: e.store.Allotments()}
	e.start(func(o *Options) { o.Allotments = asked })
	for range 20 {
		e.wantResult(e.submit(`EMIT "x"`), "x")
	}
	settleAll(t, e.w)
	if n := asked.n.Load(); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}
