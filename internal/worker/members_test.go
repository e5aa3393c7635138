package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"ql/internal/job"
	"ql/internal/member"
)

// watchedMembers is the members' store of one process. It tells of its renewals, until
// it is out of reach: as of a process that is stopped, and does not know it.
type watchedMembers struct {
	member.Store
	renewed chan struct{}
	silent  chan struct{} // closed when it is
}

func (m watchedMembers) Renew(ctx context.Context, who member.Member, seen int64) error {
	select {
	case <-m.silent:
		return errors.New("out of reach")
	default:
	}
	err := m.Store.Renew(ctx, who, seen)
	tell(m.renewed)
	return err
}

// TestTakesOverFromTheDead has one node of two die, with a job under way and others in
// its queue: the other runs them all, and takes nothing from it while it lives.
func TestTakesOverFromTheDead(t *testing.T) {
	stuck := &stuckDatabases{held: make(chan struct{}, 10), until: make(chan struct{})}
	defer close(stuck.until)
	silent, renewed := make(chan struct{}), []chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	node := func(id int64) func(*Options) {
		return func(o *Options) {
			o.Node.ID, o.Lease, o.MaxRunning, o.Log = id, 900*time.Millisecond, 1, slog.New(slog.DiscardHandler)
			o.Members = watchedMembers{o.Members, renewed[id-1], map[int64]chan struct{}{1: silent}[id]}
		}
	}
	e := newWorld(t, faults{databases: stuck.wrap}, node(1))
	running := e.submit("APPEND \"x\" TO FILE \"/log\"\nSELECT 1 AS one SET VALUE ?x\nEMIT ?x")
	<-stuck.held
	queued := []job.ID{e.submit(`EMIT "one"`), e.submit(`EMIT "two"`)}

	e.start(node(2))
	for range 10 { // longer than it takes to be taken for dead
		<-renewed[0]
		<-renewed[1]
	}
	for _, id := range queued {
		e.wantState(id, job.Accepted)
	}

	stuck.free = 100
	close(silent)
	for i, id := range queued {
		e.wantResult(id, []string{"one", "two"}[i])
	}
	e.wantResult(running, "1")
	e.wantResult(e.submit(`READ "/log" AS TEXT SET ?log EMIT ?log`), "x")
}
