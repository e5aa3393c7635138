package shares

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"ql/internal/account"
)

// Hash is the SHA-256 of a token, of a cookie, or of a blob's bytes.
type Hash = [sha256.Size]byte

// CreateParams are what a link is made of.
type CreateParams struct {
	Token   Hash // the token itself is stored nowhere
	Account account.ID
	Path    string // canonical
	Name    string // that the file is handed out under
	Times   int    // that it may be used; 0 for any number
	Made    time.Time
	Expires time.Time
	Purpose Purpose
	Bounds  Bounds
}

// Purpose is what a link is made for. Links of a purpose are in no list, and forgotten when they have
// ended.
type Purpose string

// The purposes.
const (
	OfOwner  Purpose = ""         // a link that its owner gives to somebody, who downloads
	Download Purpose = "download" // for the owner's own browser, which downloads
	Preview  Purpose = "preview"  // for the owner's own browser, which shows the file in a page
)

// Bounds is what an account's links may come to. Zero means no bound.
type Bounds struct {
	File  int64 // bytes of the file
	Bytes int64 // of all content that links lead to, each content once
	Links int   // rows, of which the oldest ended ones make room for new ones
}

// Share is a link as it stands.
type Share struct {
	Seq     int64 // in the order of their making
	Token   Hash
	Account account.ID
	Path    string // of the file when it was shared
	Name    string
	Size    int64
	Times   int // 0 for any number
	Used    int // downloads that were begun
	Made    time.Time
	Expires time.Time
	Latest  time.Time // when the last of them was begun; zero for never
	Revoked time.Time // zero where it was not
	Purpose Purpose
}

// ID is what a link is called where its token must not be shown.
func (s Share) ID() string { return hex.EncodeToString(s.Token[:idBytes]) }

const idBytes = 8

// Limited reports whether a link may be used so many times only.
func (s Share) Limited() bool { return s.Times > 0 }

// State says whether a link still leads to its file.
type State string

// The states.
const (
	Open    State = "open"
	Used    State = "used"
	Expired State = "expired"
	Revoked State = "revoked"
)

// StateAt returns the state at a moment.
func (s Share) StateAt(now time.Time) State {
	switch {
	case !s.Revoked.IsZero():
		return Revoked
	case s.Limited() && s.Used >= s.Times:
		return Used
	case !s.Expires.After(now):
		return Expired
	}
	return Open
}

// Content is what a link hands out: chunks, which are blobs, and then the tail.
type Content struct {
	Digest Hash // the same for the same chunks and tail
	Size   int64
	Chunks []Chunk
	Tail   []byte
}

// Chunk is a piece of content, stored as a blob.
type Chunk struct {
	Hash Hash
	Size int64
}

// Visit is somebody who wants the file.
type Visit struct {
	At      time.Time
	Client  *Hash // of the cookie that the client brought; nil for none
	Fresh   Hash  // of the cookie that a client is given whose download begins
	Address string
	Agent   string
}

// Delivery is a download that may begin.
type Delivery struct {
	Share   Share
	Content Content
	Receipt int  // its number
	Restart bool // of one that had begun
}

// Receipt is what is known of a download.
type Receipt struct {
	Number   int
	At       time.Time
	Address  string
	Agent    string
	Restarts int
	Sent     int64     // bytes, by the attempt that came farthest
	Finished time.Time // zero where not all was sent
}

// Errors of Store.
var (
	ErrNotFound = errors.New("there is no such link")
	ErrEnded    = errors.New("the link has ended")
	ErrNoFile   = errors.New("there is no such file")
	ErrFolder   = errors.New("it is a folder")
	ErrLinks    = errors.New("the account has too many links")
)

// SizeError says that content is too large for a bound.
type SizeError struct {
	Size  int64 // of the file, or of all content together
	Bound int64
	All   bool // it is all content that is too large
}

// Error implements error.
func (e *SizeError) Error() string { return "the content is too large to be shared" }

// The rules by which a broken download may be begun again.
const (
	RestartWithin = 10 * time.Minute
	MaxRestarts   = 3
)

// MaxReceipts is how many receipts of one link are stored: the newest.
const MaxReceipts = 100

// Store stores links. Methods are safe for concurrent use.
type Store interface {
	// Create makes a link to the content that the file has at this moment:
	// whatever becomes of the file, the content stays as long as the link leads
	// to it. It is ErrNoFile, ErrFolder, ErrLinks or a *SizeError.
	Create(ctx context.Context, n CreateParams) error
	// Find returns a link with the content that it leads to, or ErrNotFound.
	// Content that nobody can load any more is empty. A link of a disabled
	// account is not found.
	Find(ctx context.Context, token Hash) (Share, Content, error)
	// Claim claims one use of a link, or restarts the download that the client
	// had begun, and returns when that is on the disk. It is ErrNotFound or
	// ErrEnded.
	Claim(ctx context.Context, token Hash, v Visit) (Delivery, error)
	// RecordProgress records how much of a download was sent; finished is zero where that
	// was not all.
	RecordProgress(ctx context.Context, a account.ID, share int64, receipt int, sent int64, finished time.Time) error
	// Revoke ends a link of an account; ErrNotFound where it has none such. A
	// second time it does nothing.
	Revoke(ctx context.Context, a account.ID, token Hash, at time.Time) error
	// ByID returns the link of an account with an id, or ErrNotFound.
	ByID(ctx context.Context, a account.ID, id string) (Share, error)
	// List returns links of an account, the newest first: up to limit of those
	// made before the one with the number; 0 for the newest of all. Those of a purpose are
	// left out.
	List(ctx context.Context, a account.ID, before int64, limit int) ([]Share, error)
	// Receipts returns those of a link, the newest first.
	Receipts(ctx context.Context, a account.ID, share int64) ([]Receipt, error)
	// Prune lets go of content that nobody can load any more at a moment, and
	// forgets links that expired before another, and those of a purpose once they have ended. It returns how many rows it
	// changed, no more than about the limit.
	Prune(ctx context.Context, now, forget time.Time, limit int) (int, error)
}
