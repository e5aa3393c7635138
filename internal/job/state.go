// Package job holds what an execution of a script is to the service: its id,
// its states, its record, and what is stored of one that is resumed later. It
// declares the Store of records and the Queue of jobs which outlive a process, in
// parts by who calls them.
//
// Running scripts is the business of internal/engine, running jobs that of
// internal/worker, and writing records that of internal/record.
package job

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

// finished has a row for every state: whether nothing follows it. Which states may
// follow another is the business of the Queue, each of whose methods is one way.
var finished = map[State]bool{
	Accepted: false, Running: false, Paused: false, Waiting: false,
	Complete: true, Failed: true, Declined: true, Cancelled: true, Expired: true,
}

// StatesText names all states, for messages.
const StatesText = "accepted, running, paused, waiting, complete, failed, declined, cancelled or expired"

// Valid reports whether s is one of the states.
func (s State) Valid() bool {
	_, ok := finished[s]
	return ok
}

// Finished reports whether nothing follows s.
func (s State) Finished() bool { return finished[s] }
