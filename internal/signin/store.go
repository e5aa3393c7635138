package signin

import (
	"context"
	"crypto/sha256"
	"time"

	"ql/internal/account"
)

// ID names a sign-in, and no other one ever after. The zero ID is none.
type ID int64

// Hash is that of the secret that a browser has in its cookie.
type Hash [sha256.Size]byte

// SignIn is a browser that is signed in to an account, as it is stored. Its secret is not.
type SignIn struct {
	ID      ID
	Account account.ID
	Hash    Hash
	Created time.Time
	Used    time.Time // to the minute
	// Confirmed is when the password was last entered, zero where it never was.
	Confirmed time.Time
}

// Expiry says which sign-ins are over: those used last, or made, before a moment.
type Expiry struct {
	Used, Created time.Time
}

// Store keeps sign-ins. Each method is one whole transition, committed when it returns nil. A
// sign-in that is not there is account.ErrNotFound. With a changed password, and when an account
// is disabled, marked as deleted or deleted, all of its sign-ins are removed in the same transition.
// Times are kept to the microsecond, in UTC.
type Store interface {
	// Create stores a new sign-in and returns its ID; that of s is ignored. Those of the account
	// that are over are removed, and of the others those that were not used for longest, so that
	// there are at most most with the new one. It is account.ErrConflict where the account is
	// disabled, or its epoch is another than the one under which its owner proved who they are,
	// and account.ErrNotFound where there is none.
	Create(ctx context.Context, s SignIn, epoch int64, over Expiry, most int) (ID, error)
	// ByHash and ByID find a sign-in with its account. Whether it is over is not looked at.
	ByHash(ctx context.Context, hash Hash) (account.Account, SignIn, error)
	ByID(ctx context.Context, id ID) (account.Account, SignIn, error)
	// Touch stores when a sign-in was used, unless a later use is stored; that of one that is gone
	// is left out.
	Touch(ctx context.Context, id ID, at time.Time) error
	// Confirm stores when the password was entered again.
	Confirm(ctx context.Context, id ID, at time.Time) error
	// Remove removes a sign-in; one that is gone is no error.
	Remove(ctx context.Context, id ID) error
	// Sweep removes up to limit sign-ins of all accounts that are over, and returns how many.
	Sweep(ctx context.Context, over Expiry, limit int) (int, error)
}
