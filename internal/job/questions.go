package job

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/principal"
)

// QuestionState is what became of a prompt.
type QuestionState string

// The states of questions. Those after the first two are ends.
const (
	QuestionAnnounced QuestionState = "announced" // its script has read its address, and waits before it asks
	QuestionOpen      QuestionState = "open"      // its job is paused at it
	QuestionAnswered  QuestionState = "answered"
	QuestionExpired   QuestionState = "expired"   // nobody answered in time
	QuestionWithdrawn QuestionState = "withdrawn" // its job ended first
)

// QuestionStates are those that a listing can ask for: of one that is merely announced there is
// nothing to list.
var QuestionStates = []QuestionState{QuestionOpen, QuestionAnswered, QuestionExpired, QuestionWithdrawn}

// IsListed tells whether a listing can ask for the state.
func (s QuestionState) IsListed() bool { return slices.Contains(QuestionStates, s) }

// IsEnd tells whether nothing follows the state.
func (s QuestionState) IsEnd() bool { return s != QuestionAnnounced && s != QuestionOpen }

// Questions is what whoever looks at the prompts of jobs calls, open or over. A question goes
// with the record of its job.
type Questions interface {
	// QuestionByToken finds the question whose page a token opens, whatever became of it;
	// ErrNotFound where there is none.
	QuestionByToken(ctx context.Context, token [32]byte) (Question, error)
	// Question finds a question of a job by its prompt's id, or, for "", the one that was asked
	// last; ErrNotFound where there is none.
	Question(ctx context.Context, id ID, prompt string) (Question, error)
	// NextQuestion finds the first question of the same job after one, open or answered, that is for
	// the same: of the same audience, and where that is not named of the same kind. ErrNotFound where
	// there is none yet.
	NextQuestion(ctx context.Context, after *Question) (Question, error)
	// ListQuestions returns questions of an account that were asked, those asked last first.
	ListQuestions(ctx context.Context, a account.ID, q QuestionQuery) ([]Question, error)
}

// Question is a prompt as it is stored from when it is asked until its job is forgotten.
type Question struct {
	Job      Summary // whose question it is
	Seq      int64   // of the job
	State    QuestionState
	Prompt   string // the prompt's id, "" while it is announced
	Kind     string // "" in answers of earlier versions
	Audience string // whom it is for, "" where the script does not say
	Title    string // the start of its words
	Asked    time.Time
	Expires  time.Time // zero for never
	Ended    time.Time // zero while it is open

	// Of an answer:
	Reply    [32]byte
	By       principal.Credential
	ByName   string // of the key, or the origin of the page
	Decision string // as package engine names them; "" in answers of earlier versions
	Note     string

	// Of an open one in a listing, and of the next one:
	Sealed []byte // the token of its page
	Sent   bool   // its script has taken the address of its page, as that of a Prompt
	Schema []byte // JSON; nil for a CONFIRM, and where it has more than AlwaysShownBytes
	Large  bool   // the schema was left out
}

// QuestionQuery is what a listing of questions asks for.
type QuestionQuery struct {
	State      QuestionState        // "" for all
	Audience   string               // "" for all
	Job        int64                // the number of a job, 0 for all jobs
	Credential principal.Credential // by which its job was started, "" for all
	KeyID      account.NamedKeyID   // likewise, 0 for all
	Programs   []string             // names of published programs; none for all jobs
	Limit      int                  // the most that are returned; below 1 nothing is
	// Before asks for those that follow this prompt of the account in the listing; "" for the
	// first. After one that is not there follows nothing.
	Before string
}

// questionRow is what a question counts besides its texts.
const questionRow = 512

// QuestionBytes is how much room a question counts in a store that was asked and is not answered.
func QuestionBytes(p *Prompt) int64 {
	if p == nil { // it is announced
		return questionRow
	}
	return questionRow + int64(len(p.To)+len(Title(p.Message)))
}

// QuestionBytes is how much room the question counts at which a job is suspended, or which it
// announces.
func (s *Suspension) QuestionBytes() int64 {
	if s.Prompt == nil && s.Announced == nil {
		return 0
	}
	return QuestionBytes(s.Prompt)
}

// Bytes is how much room an answer counts beside its question.
func (a *Answer) Bytes() int64 { return int64(len(a.ByName) + len(a.Note)) }

// maxTitle is how many characters a title has.
const maxTitle = 200

// Title is the start of a prompt's words, which stays when those go.
func Title(message string) string {
	message = strings.TrimSpace(message)
	if len(message) <= maxTitle {
		return message
	}
	n := 0
	for at := range message {
		if n == maxTitle {
			return message[:at]
		}
		n++
	}
	return message
}

// ReceiptNumber is what whoever answers a prompt is given: twelve digits that are the same wherever
// that answer is shown. The prompt cannot be told from them.
func ReceiptNumber(prompt string) string {
	sum := sha256.Sum256([]byte("receipt of prompt " + prompt))
	const digits = 1_000_000_000_000
	n := binary.BigEndian.Uint64(sum[:8]) % digits
	return fmt.Sprintf("%04d-%04d-%04d", n/1_0000_0000, n/1_0000%1_0000, n%1_0000)
}

// AnsweredBy says who answered, in a word: the owner, a key by its name, a page by its origin, or whoever
// had the link or knew the job's id.
func AnsweredBy(by principal.Credential, name string) string {
	switch by {
	case principal.ByKey, principal.ByPassword, principal.ByToken:
		return "owner"
	case principal.ByNamedKey:
		return strings.TrimSpace("key " + name)
	case principal.ByOrigin:
		return strings.TrimSpace("page " + name)
	}
	return "link"
}
