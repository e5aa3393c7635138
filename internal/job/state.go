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

// finished has a row for every state: whether nothing follows it.
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

// Transition is a way from one state to others, by the one method that takes it.
type Transition struct {
	From State // "" for a job that is not stored yet
	By   string
	To   []State
}

// Transitions are all there are. docs/architecture.md draws them.
var Transitions = []Transition{
	{"", "Accept", []State{Accepted, Running}},
	{"", "Adopt", []State{Paused, Waiting}},
	{"", "AcceptEnded", []State{Complete, Failed}},
	{"", "Record", []State{Complete, Failed}}, // of Store
	{Accepted, "Claim", []State{Running}},
	{Accepted, "Cancel", []State{Cancelled}},
	{Running, "Suspend", []State{Paused, Waiting}},
	{Running, "Release", []State{Running}},
	{Running, "Claim", []State{Running}}, // its lease was released, or has ended
	{Running, "Finish", []State{Complete, Failed, Declined, Cancelled, Expired}},
	{Running, "FinishAsStored", []State{Failed, Cancelled}},
	{Running, "Cancel", []State{Cancelled}}, // its lease was released
	{Paused, "Answer", []State{Running}},
	{Paused, "Claim", []State{Running}}, // nobody answered in time
	{Paused, "Cancel", []State{Cancelled}},
	{Waiting, "Claim", []State{Running}},
	{Waiting, "Cancel", []State{Cancelled}},
}
