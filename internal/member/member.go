// Package member says which processes share a store, and which of them are dead. A
// process joins as the next incarnation of its node, renews while it lives, and
// leaves; one that has not renewed for long is buried by the others. No wall clock
// decides anything: renewals are counted, and time is that since the machine booted.
//
// What a member holds, and who takes that over, is the business of who holds it: for
// jobs see job.Leases.
package member

import (
	"context"
	"errors"
)

// Errors of a Store.
var (
	// ErrBuried says that the others took a member for dead. What it held is theirs.
	ErrBuried = errors.New("member was buried")
	// ErrReplaced says that a later process of the same node has joined.
	ErrReplaced = errors.New("member was replaced by a later process of its node")
	// ErrBehind says that a member has not seen the last change that all must see.
	ErrBehind = errors.New("member has not seen the last change")
	// ErrOldProgram says that what is stored needs a later version of the program than the one that would join.
	ErrOldProgram = errors.New("the nodes of this database were upgraded, and what they store needs a newer version of this program than this one: start that")
)

// Node is what a process says of itself when it joins.
type Node struct {
	ID      int64  // which of the nodes; the same for each process of it
	Version string // of the program
	Formats int    // the newest format of snapshots that it can read
	Knows   int    // the last change of the store's schema that its program knows; 0 where that is the same for all
	Address string // where other nodes reach it, "" for nowhere
}

// Member is one incarnation of a node.
type Member struct {
	ID          int64 // the node's
	Incarnation int64 // never given again, to any node
}

// Info is a member as the others see it.
type Info struct {
	Member
	Counter int64 // grows with each renewal
	Seen    int64 // the last change that it has seen

	// As of its node.
	Version string
	Formats int
	Knows   int
	Address string
}

// Store has the members. Each method is one whole change, committed when it returns
// nil. Methods are safe for concurrent use.
type Store interface {
	// Join makes a process the next incarnation of its node. The incarnation before
	// is no member from then on. That it joined is a change that the others must see, where there are others. It
	// returns the number of the last change too; ErrOldProgram where the program knows too little.
	Join(ctx context.Context, n Node) (m Member, last int64, err error)
	// Renew counts a renewal of a member that has seen the changes up to a number;
	// ErrBehind where there are later ones, ErrBuried or ErrReplaced where it is no
	// member.
	Renew(ctx context.Context, m Member, seen int64) error
	// LastChange returns the number of the last change that all must see: each change of
	// an account, of what leads to it, or of what may be done in its name, has a greater
	// one than those before, when it is committed.
	LastChange(ctx context.Context) (int64, error)
	// List returns all members, by their node.
	List(ctx context.Context) ([]Info, error)
	// Bury removes a member, unless it has renewed since it was listed so. It returns
	// whether it did.
	Bury(ctx context.Context, i Info) (bool, error)
	// Leave removes a member, if it is one.
	Leave(ctx context.Context, m Member) error
}
