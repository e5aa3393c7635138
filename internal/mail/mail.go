// Package mail sends mails of accounts through the operator's server: addresses that are read
// strictly, messages written piece by piece, and a queue in the store from which each is sent at
// least once, again and again for three days where the server does not take it. It declares the
// Store of mails.
//
// Who may send what to whom is the business of internal/resource/mails, and how the server is
// reached that of internal/network.
package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// State is the state of a mail.
type State string

// The states.
const (
	Pending State = "pending" // due at a moment
	Sent    State = "sent"    // settled: the server took it for all recipients
	Failed  State = "failed"  // settled: for one of them at least it never did
)

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return s == Pending || s == Sent || s == Failed }

// Mail is a mail as it is stored. What it says is sealed.
type Mail struct {
	Seq      int64 // its number in the store; later ones have greater ones
	ID       string
	Account  account.ID
	Job      job.ID // whose step it is; zero for that of a call
	State    State
	Attempts int       // that came to an end
	Due      time.Time // of the next attempt, or when a claim ends; zero when settled
	Made     time.Time
	Settled  time.Time // zero while it is not
	Size     int64     // of the message, about
	Head     []byte    // sealed: whom it is from and for, and what it is about
	Outcomes []Outcome // for its recipients, in their order; nil before the first attempt
	Error    string    // why the last attempt came to nothing
}

// Outcome is what became of a mail for one recipient.
type Outcome struct {
	State State  `json:"state"`
	Error string `json:"error,omitempty"` // what the server said
}

// CreateParams are what a mail is made of.
type CreateParams struct {
	ID          string
	Account     account.ID
	Made        time.Time
	Recipients  int
	Head, Body  []byte   // sealed
	BodySize    int64    // as it is sent, without attachments
	Attachments []string // canonical paths of files, whose content is that of the moment of the commit
	Bounds      Bounds
}

// Bounds is what an account's mails may come to.
type Bounds struct {
	Minute   int   // recipients in a minute; 0 for any number
	Day      int   // in 24 hours; 0 for any number
	Size     int64 // bytes of a mail with its attachments, as they are sent
	Waiting  int64 // bytes of what mails say that are not settled
	Contents int64 // bytes of attachments and what links lead to; 0 for any number
}

// Content is the content of an attachment.
type Content struct {
	Size   int64
	Chunks []Chunk
	Tail   []byte
}

// Chunk is a part of content.
type Chunk struct {
	Hash [32]byte
	Size int64
}

// Errors of a Store.
var (
	ErrNotFound = errors.New("mail not found")
	// ErrClaimLost says that a mail is no longer claimed by who says so. Nothing was changed.
	ErrClaimLost = errors.New("mail claim lost")
)

// FileError says that a file cannot be attached.
type FileError struct {
	Path   string
	Folder bool // it is one, and otherwise it is missing
}

func (e *FileError) Error() string { return fmt.Sprintf("%q cannot be attached", e.Path) }

// BoundError says which bound a mail would break.
type BoundError struct {
	What  string // minute, day, size, waiting or contents
	Bound int64
	Value int64 // what it would come to
}

func (e *BoundError) Error() string {
	return fmt.Sprintf("mail: %s would be %d of %d", e.What, e.Value, e.Bound)
}

// Store stores mails: for who sends them, and for who looks at them. Each method is one whole
// change, committed when it returns nil, and safe for concurrent use, also from several processes.
// Times are stored to the microsecond, in UTC.
type Store interface {
	Outbox
	History
	// Create stores a mail that is due at once, with the checkpoint of the context. One whose id the
	// account has already is stored once. Errors are *BoundError and *FileError; an account that is
	// not there is account.ErrNotFound.
	Create(ctx context.Context, n CreateParams) error
}

// Outbox is what a Sender needs of a Store. A mail that is due is claimed for a while: its Due moves
// to the end of that while. It is in the hands of who claimed it as long as Due and Attempts are as
// they were left by the claim. A claim that ends by itself, or whose claimer died, leaves the mail due again.
type Outbox interface {
	// DueAccounts lists accounts with mails that are due at a moment, by their ids, from the one
	// after a given one on and then from the first on.
	DueAccounts(ctx context.Context, now time.Time, after account.ID, limit int) ([]account.ID, error)
	// DueOf lists mails of an account that are due at a moment, the longest due first.
	DueOf(ctx context.Context, a account.ID, now time.Time, limit int) ([]Mail, error)
	// Next returns when the first mail becomes due, or a claim ends, after a moment; zero for never.
	Next(ctx context.Context, after time.Time) (time.Time, error)
	// Claim takes a mail until a moment, for an incarnation of a node, 0 for nobody's, and returns it as it is then.
	// ErrClaimLost where somebody has changed it since it was listed.
	Claim(ctx context.Context, m Mail, by int64, until time.Time) (Mail, error)
	// ReleaseDead ends the claims of incarnations that are no members: their mails are due now. It
	// returns how many there were.
	ReleaseDead(ctx context.Context, now time.Time) (int, error)
	// Body returns what a claimed mail says, sealed, and its attachments in their order.
	Body(ctx context.Context, m Mail) (sealed []byte, attachments []Content, err error)
	// Settle ends a claim by an attempt. Where s is Pending the next one is due at a moment;
	// otherwise that moment is when the mail was settled, and what it says is let go of.
	Settle(ctx context.Context, m Mail, outcomes []Outcome, failure string, s State, at time.Time) error
	// Release ends a claim without an attempt, for a reason; the mail is due at a moment.
	Release(ctx context.Context, m Mail, failure string, due time.Time) error
}

// History is what people and the node's upkeep need of a Store.
type History interface {
	// ByID finds a mail of an account; ErrNotFound where there is none.
	ByID(ctx context.Context, a account.ID, id string) (Mail, error)
	// List returns an account's mails, the newest first.
	List(ctx context.Context, a account.ID, q Query) ([]Mail, error)
	// Forget removes up to limit mails that were settled before a moment, and returns how many.
	Forget(ctx context.Context, before time.Time, limit int) (int, error)
	// Count counts the mails that are not settled, up to most, for who watches the service.
	Count(ctx context.Context, now time.Time, most int) (Counts, error)
}

// Counts is how many mails are not settled.
type Counts struct {
	Pending   int
	OldestDue time.Time // since when the longest due one is; zero where none is
}

// Query is what a listing asks for.
type Query struct {
	State State // "" for all
	Limit int   // the most that are returned; below 1 nothing is
	// Before asks for those that follow this mail of the account in the listing; "" for the first.
	// After one that is not there follows nothing.
	Before string
}

// Head is what a mail says of itself, sealed as JSON.
type Head struct {
	From    string   `json:"from"` // "" for the operator's sender
	To      []string `json:"to"`
	Subject string   `json:"subject"`
	HTML    bool     `json:"html,omitempty"`
	Names   []string `json:"names,omitempty"` // of attachments
	// Question says that it tells of a question of the script.
	Question bool `json:"question,omitempty"`
}

// OpenHead opens what a mail says of itself.
func OpenHead(s Sealer, m *Mail) (h Head, err error) {
	plain, err := s.Open(m.Account, SealHead(m.ID), m.Head)
	if err == nil {
		err = json.Unmarshal(plain, &h)
	}
	return h, err
}
