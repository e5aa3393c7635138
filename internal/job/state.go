// Package job holds what an execution of a script is to the service: its id,
// its states and the ways between them, the record that is kept of it, and what
// is stored of one that goes on later. It declares the Store that keeps records
// and the Queue that keeps jobs which outlive a process, and offers the
// Recorder, by which synchronous runs are recorded without waiting for the disk.
//
// Running scripts is the business of internal/engine, and running jobs that of
// internal/worker.
package job

import "slices"

// State is where a job stands.
type State string

// The states. A synchronous run that succeeded is answered with "ok", and is
// Complete in every record.
const (
	Accepted  State = "accepted"  // stored, not begun
	Running   State = "running"   // a node has it
	Paused    State = "paused"    // waits for a person
	Waiting   State = "waiting"   // waits for a moment
	Complete  State = "complete"  // finished: the script came to its end
	Failed    State = "failed"    // finished: an error ended it
	Declined  State = "declined"  // finished: a person said no
	Cancelled State = "cancelled" // finished: a person stopped it
	Expired   State = "expired"   // finished: nobody answered in time
)

// next has a row for every state: those that may follow it. Each way is one
// guarded change of the job's row, so that no state is left by two callers.
var next = map[State][]State{
	Accepted:  {Running, Cancelled},
	Running:   {Complete, Failed, Declined, Cancelled, Paused, Waiting},
	Paused:    {Running, Expired, Cancelled},
	Waiting:   {Running, Cancelled},
	Complete:  nil,
	Failed:    nil,
	Declined:  nil,
	Cancelled: nil,
	Expired:   nil,
}

// Valid reports whether s is one of the states.
func (s State) Valid() bool {
	_, ok := next[s]
	return ok
}

// Finished reports whether nothing follows s.
func (s State) Finished() bool {
	following, ok := next[s]
	return ok && len(following) == 0
}

// MayBecome reports whether a job in state s may go to another state.
func (s State) MayBecome(other State) bool { return slices.Contains(next[s], other) }
