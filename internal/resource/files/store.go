package files

import (
	"context"
	"errors"
	"slices"
	"time"

	"ql/internal/account"
)

// Node is a file or a folder of a Tree.
type Node struct {
	Path     string // canonical
	Folder   bool
	Size     int64
	Modified time.Time // to the microsecond

	// A file's content: its chunks, then its tail. Only Content fills them.
	Chunks []Chunk
	Tail   []byte

	sealed string // see Seal
}

// Seal says that the node is not changed any more, and that several may read it at once: what names
// its content is computed once.
func (n *Node) Seal() {
	n.Chunks, n.Tail = slices.Clip(n.Chunks), slices.Clip(n.Tail)
	if !n.Folder {
		n.sealed = n.tag()
	}
}

// Chunk is a piece of content, kept as a blob.
type Chunk struct {
	Hash Hash
	Size int64
}

// Hash is the SHA-256 of a blob's bytes, which is its name.
type Hash [32]byte

// Usage is how much an account keeps, at one generation of its tree.
type Usage struct {
	Generation int64 // 0 for a tree that was never changed
	Bytes      int64 // of all files
	Nodes      int64 // files and folders
	Dead       int64 // bytes of blobs that nothing refers to any more and that are still there
	Releases   int64 // bytes that the site's releases, and what was sent for one, take beside the files
}

// Stored is what the account stores.
func (u Usage) Stored() int64 { return u.Bytes + u.Releases }

// DeadBlob is a blob on the disk that nothing refers to.
type DeadBlob struct {
	Chunk
	Account account.ID // whose storage it is; 0 for nobody's
	Since   time.Time  // when a sweep first saw it; zero before that
}

// DeadQuery says which dead blobs are asked for.
type DeadQuery struct {
	Account account.ID // those of one account, the oldest first; 0 for those of all
	// Of all, by hash: those seen at this moment or before it, zero for any; and
	// those after a hash.
	Before time.Time
	After  Hash
	// Deleting asks for those of all, by hash, whose deletion was started.
	Deleting bool
}

// ErrDeleting says that a change refers to a blob that is being removed.
var ErrDeleting = errors.New("a blob of the file is being removed")

// Store stores the nodes of accounts' trees. Nodes are found by their Key: no two
// of an account have the same. Methods are safe for concurrent use.
type Store interface {
	SiteStore
	DeadBlobStore

	// Usage returns what the account keeps, and the generation of its tree.
	Usage(ctx context.Context, a account.ID) (Usage, error)
	// Find returns the nodes with the keys, without content; nil where there is
	// none.
	Find(ctx context.Context, a account.ID, keys []string) ([]*Node, error)
	// Content returns one node with its content, as it is at one moment; nil
	// where there is none.
	Content(ctx context.Context, a account.ID, key string) (*Node, error)
	// Children returns up to limit nodes of a folder, without content, by path,
	// which are behind the path after; "" is the key of the top.
	Children(ctx context.Context, a account.ID, key, after string, limit int) ([]Node, error)
	// Below returns, of the paths below a folder, one with the most bytes and one
	// with the most parts; "" where there are none.
	Below(ctx context.Context, a account.ID, key string) (longest, deepest string, err error)
	// SiteOwners returns up to limit accounts that have something at SiteFolder.
	SiteOwners(ctx context.Context, limit int) ([]account.ID, error)
	// Apply makes changes, one after the other, all or none, and sets the
	// account's usage, with the next generation. Where the generation is no
	// longer that of before, it does nothing and reports false. It is ErrDeleting
	// where it refers to a blob whose deletion was started.
	Apply(ctx context.Context, a account.ID, before, after Usage, changes []Change) (bool, error)
	// HasBlob reports whether a chunk of any account is this blob: of a file, of
	// what a link leads to, or of a site's release.
	HasBlob(ctx context.Context, hash Hash) (bool, error)
}

// DeadBlobStore stores which blobs are dead: a blob is from the change on with which the
// last chunk goes that is this blob, and no longer from the change on that refers to it
// again. Its bytes are the Dead of the account whose chunk that was, also where that is a
// link's.
type DeadBlobStore interface {
	// Dead returns up to limit dead blobs.
	Dead(ctx context.Context, q DeadQuery, limit int) ([]DeadBlob, error)
	// MarkDeadSeen sets when those were first seen that were not before.
	MarkDeadSeen(ctx context.Context, now time.Time) error
	// AddDead adds blobs that are on the disk, but those that something refers to
	// and those that are known as dead.
	AddDead(ctx context.Context, blobs []DeadBlob) error
	// StartDeletion says of dead blobs that they are about to be removed from the disk,
	// and returns of which: not of those that something refers to, which are dead no
	// more. From then on no change refers to them, until DropDead. A deletion that a
	// process did not come to the end of is started again by the next.
	StartDeletion(ctx context.Context, hashes []Hash) ([]Hash, error)
	// DropDead forgets blobs that were removed from the disk.
	DropDead(ctx context.Context, hashes []Hash) error
	// EndDeletion says that blobs were removed, at a moment: they are nobody's storage any
	// more. That no change refers to them holds on, until DropDeletions.
	EndDeletion(ctx context.Context, hashes []Hash, now time.Time) error
	// DropDeletions forgets the deletions that ended at a moment or before it.
	DropDeletions(ctx context.Context, before time.Time) error
}

// Change is one of Put, Extend, Rename and Drop.
type Change interface{ isChange() }

// Put stores a node with its content, in place of one with the same key.
type Put struct{ Node Node }

// Extend adds chunks to those that a file has, in place of the last few, and
// replaces its tail, size and time.
type Extend struct {
	Node    Node
	Replace int // how many of its last chunks go
}

// Rename gives a node, and all below it, another path.
type Rename struct{ From, To string }

// Drop removes a node, which has nothing below it.
type Drop struct{ Path string }

func (Put) isChange()    {}
func (Extend) isChange() {}
func (Rename) isChange() {}
func (Drop) isChange()   {}

// ParentKey returns the key of the folder of a path; "" for the top.
func ParentKey(path string) string { return Key(folderOf(path)) }
