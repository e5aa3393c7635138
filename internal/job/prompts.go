package job

import (
	"context"
	"time"

	"ql/internal/member"
	"ql/internal/principal"
)

// Prompts is what whoever answers a job's prompt calls.
type Prompts interface {
	// Answer claims a job for a member that is paused at the answer's prompt;
	// ErrNotPaused where it is not, and an error of package member where the claimant is
	// none.
	Answer(ctx context.Context, id ID, a Answer, m member.Member, now time.Time) (Lease, error)
	// FindAnswer returns the reply that a prompt of a job got.
	FindAnswer(ctx context.Context, id ID, prompt string) (reply [32]byte, found bool, err error)
}

// Prompt is the question at which a job is paused.
type Prompt struct {
	ID   string
	Kind string
	To   string // whom it is for, "" where the script does not say
	// Sent says that the script has read the address of its page before it asked: to send it
	// to whoever shall answer.
	Sent    bool
	Token   [32]byte // the hash of what opens its page
	Sealed  []byte   // that token, for those who may see the job
	Message string
	Schema  []byte // JSON; nil for a CONFIRM
	Follows []byte // what the job may do after it, as JSON of a bytecode.Prospect; nil where the account shows none
	Expires time.Time
}

// Answer is a reply to a prompt, accepted.
type Answer struct {
	Prompt  string
	Reply   [32]byte // a hash over it: the same reply again is no second one
	By      principal.Credential
	ByName  string // of the key, or the origin of the page; "" for others
	Address string
	At      time.Time
	// Decision and Note are what was decided, and what whoever did says beside it.
	Decision, Note string
	Step           int64  // of the journal
	Entries        []byte // the reply as the journal has it, sealed
}
