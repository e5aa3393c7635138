// Package webhook delivers the ends of jobs, and their pauses, to callers' servers, after the
// Standard Webhooks specification: signed, under the same id at every attempt,
// at least once, again and again for three days where a server does not take
// it. It declares the Store of deliveries and their attempts.
//
// A delivery is written by the store with its job's end, and what it says comes
// from the function that the Sender is given; how a call leaves the node is the
// business of internal/network.
package webhook

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// State is the state of a delivery.
type State string

// The states. Only Repeat leaves one of the last three.
const (
	Pending   State = "pending"   // due at a moment
	Delivered State = "delivered" // settled: the server took it
	Stopped   State = "stopped"   // settled: the server wants no more, or there is nothing to send any more
	Exhausted State = "exhausted" // settled: the server never took it
)

// Valid reports whether s is one of the states.
func (s State) Valid() bool {
	return s == Pending || s == Delivered || s == Stopped || s == Exhausted
}

// Delivery is what a server is sent: that a job has finished, or is paused.
type Delivery struct {
	Seq      int64  // its number in the store; later ones have greater ones
	ID       string // the same at all attempts
	Account  account.ID
	Job      job.ID
	URL      string
	State    State
	Attempts int       // that came to an end
	Due      time.Time // of the next attempt, or when a claim ends; zero when settled
	Made     time.Time
	Settled  time.Time // zero while it is not
	Event    string    // what it says: finished or paused
	Prompt   string    // of a pause: the id of the prompt
}

// Attempt is what became of one call.
type Attempt struct {
	Number int // 1 for the first
	At     time.Time
	Took   time.Duration // to the microsecond
	Status int           // of HTTP; 0 where there was no answer
	Answer string        // its start, printable
	Error  string        // why there was no answer, or why it does not count
}

// Errors of a Store.
var (
	ErrNotFound = errors.New("webhook delivery not found")
	// ErrClaimLost says that a delivery is no longer claimed by who says so.
	// Nothing was changed.
	ErrClaimLost = errors.New("webhook claim lost")
	// ErrOver says, of what a delivery says, that it is so no longer: the question was answered,
	// or has expired, since.
	ErrOver = errors.New("the question is over")
)

// Store stores deliveries: for who sends them, and for who looks at them. Each method is
// one whole change, committed when it returns nil, and safe for concurrent use, also from
// several processes. Times are stored to the microsecond, in UTC.
type Store interface {
	Outbox
	History
}

// Outbox is what a Sender needs of a Store.
//
// A delivery that is due is claimed for a while: its Due moves to the end of
// that while. It is in the hands of who claimed it as long as Due and Attempts
// are as they were left by the claim. A claim that ends by itself, since its
// process died, leaves the delivery due again: it may have been sent, and will
// be once more.
type Outbox interface {
	// Due lists deliveries that are due at a moment, the longest due first.
	Due(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// DueAccounts lists accounts with deliveries that are due at a moment, by their
	// ids, from the one after a given one on and then from the first on.
	DueAccounts(ctx context.Context, now time.Time, after account.ID, limit int) ([]account.ID, error)
	// DueOf is Due for one account, from a delivery after a given one on; from the
	// first after the zero Delivery.
	DueOf(ctx context.Context, a account.ID, now time.Time, after Delivery, limit int) ([]Delivery, error)
	// Next returns when the first delivery becomes due, or a claim ends, after a
	// moment; zero for never.
	Next(ctx context.Context, after time.Time) (time.Time, error)
	// Claim takes those of the deliveries that nobody has changed since they were
	// listed, until a moment, and returns them as they are then, in their order.
	Claim(ctx context.Context, list []Delivery, until time.Time) ([]Delivery, error)
	// Settle ends a claim by an attempt, whose number is d.Attempts + 1. Where s
	// is Pending the next one is due at a moment; otherwise that moment is when
	// the delivery was settled. ErrClaimLost where d is claimed by another, or settled.
	Settle(ctx context.Context, d Delivery, a Attempt, s State, at time.Time) error
	// Release ends a claim without an attempt; the delivery is due at a moment.
	Release(ctx context.Context, d Delivery, due time.Time) error
}

// History is what people and the node's upkeep need of a Store.
type History interface {
	// ByID finds a delivery; ErrNotFound where there is none.
	ByID(ctx context.Context, id string) (Delivery, error)
	// ByJob returns the deliveries of a job, the newest first.
	ByJob(ctx context.Context, id job.ID) ([]Delivery, error)
	// List returns an account's deliveries, the newest first.
	List(ctx context.Context, a account.ID, q Query) ([]Delivery, error)
	// Attempts returns the attempts of a delivery, the first first.
	Attempts(ctx context.Context, id string) ([]Attempt, error)

	// Repeat makes a delivery due now, settled or not, and returns it as it is
	// then. Its attempts are counted on. It ends a claim, so that one which is
	// being sent is sent twice.
	Repeat(ctx context.Context, id string, now time.Time) (Delivery, error)
	// Forget removes up to limit deliveries that were settled before a moment,
	// with their attempts, and returns how many.
	Forget(ctx context.Context, before time.Time, limit int) (int, error)
	// Count counts the deliveries that are not settled, up to most, for who watches the
	// service.
	Count(ctx context.Context, now time.Time, most int) (Counts, error)
}

// Counts is how many deliveries are not settled.
type Counts struct {
	Pending   int
	OldestDue time.Time // since when the longest due one is; zero where none is
}

// Query is what a listing asks for.
type Query struct {
	State State // "" for all
	Limit int   // the most that are returned; below 1 nothing is
	// Before asks for those that follow this delivery of the account in the
	// listing; "" for the first. After one that is not there follows nothing.
	Before string
}
