package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/keyedlock"
	"ql/lang/value"
)

// Trees has the files of all accounts: what they are called in rows, small
// content in the rows too, large content as blobs. It may be used by any number
// of goroutines.
type Trees struct {
	rows  Store
	blobs *Blobs
	clock func() time.Time
	// locks let one change after the other be made to an account's tree, so that they do
	// not undo each other's work. The rows alone keep other programs' changes apart.
	locks keyedlock.Locks[account.ID]
}

// NewTrees returns trees over rows and blobs, which the caller closes.
func NewTrees(rows Store, blobs *Blobs, clock func() time.Time) *Trees {
	return &Trees{rows: rows, blobs: blobs, clock: clock}
}

// Quota bounds what an account may store; zero means no bound.
type Quota struct {
	Bytes   int64   // of all files, and of what shares Storage with them
	File    int64   // bytes of one file
	Nodes   int64   // files and folders
	Storage Storage // nil where files share Bytes with nothing else
}

// Storage is the storage that an account's files share with something else.
type Storage interface {
	// ReserveFiles reserves storage until it is released. Held is what the caller has
	// reserved for the same already, and releases afterwards: it does not count twice.
	// It reports false where there is not enough.
	ReserveFiles(ctx context.Context, r, held Reservation) (release func(), ok bool, err error)
}

// Reservation is what a change of an account's files needs.
type Reservation struct {
	Before, After int64 // what they hold
	Writes        int64 // bytes that come onto the disk, beside all that is there
}

// Tree is the tree of files of one account.
type Tree struct {
	trees   *Trees
	account account.ID
	quota   Quota
	// What is read in place of the folder of the site as it is; nil for that.
	release  *int64
	manifest *Manifest
}

var _ engine.Files = (*Tree)(nil)

// For returns the tree of an account.
func (t *Trees) For(a account.ID, q Quota) *Tree { return &Tree{trees: t, account: a, quota: q} }

// maxTail is how much content is in a row.
const maxTail = 64 << 10

// maxChunk is how much content is in one blob.
const maxChunk = 8 << 20

// reservedFolder is a name at the top that Dir may hide, so that a script finds
// the same paths everywhere.
const reservedFolder = ".ql"

var (
	reservedKey  = Key(reservedFolder)
	temporaryKey = Key(temporaryPrefix)
)

// canonical checks a path and whether a script may use it.
func (t *Tree) canonical(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	path, err := Canonical(path)
	if err != nil {
		return "", err
	}
	return path, refuseReserved(path, reservedKey, temporaryKey)
}

// folderOf returns the folder of a path; "" for the top.
func folderOf(at string) string {
	folder := path.Dir(at)
	if folder == top {
		return ""
	}
	return folder
}

func missing(path string) error {
	return value.Errorf(fileNotFound, "there is no file %s", value.Quote(path))
}

func missingFolder(path string) error {
	return value.Errorf(fileNotFound, "there is no folder %s", value.Quote(path))
}

func folderNotFile(path string) error {
	return value.Errorf(isFolder, "%s is a folder, not a file", value.Quote(path))
}

// Read returns a file's content, if it has at most limit bytes.
func (t *Tree) Read(ctx context.Context, path string, limit int) ([]byte, error) {
	if err := refuseTop(path); err != nil {
		return nil, err
	}
	path, err := t.canonical(ctx, path)
	if err != nil {
		return nil, err
	}
	for {
		n, err := t.content(ctx, path)
		if err != nil {
			return nil, err
		}
		if n.Size > int64(limit) {
			return nil, value.Exceeded("value_size", int64(limit), "the file %s has %s, and a script can take %d at most", value.Quote(path), value.FormatByteCount(n.Size), limit)
		}
		content := make([]byte, 0, n.Size)
		for _, chunk := range n.Chunks {
			if err == nil {
				content, err = t.trees.blobs.read(chunk, content)
			}
		}
		if err == nil {
			return append(content, n.Tail...), ctx.Err()
		}
		// The file may have been replaced, and its blobs swept away, since its
		// row was read.
		again, readErr := t.content(ctx, path)
		if readErr != nil || !errors.Is(err, fs.ErrNotExist) || slices.Equal(again.Chunks, n.Chunks) {
			return nil, errors.Join(err, readErr)
		}
	}
}

// content returns the node of a file.
func (t *Tree) content(ctx context.Context, path string) (*Node, error) {
	n, err := t.node(ctx, Key(path))
	switch {
	case err != nil:
		return nil, err
	case n == nil || n.Path != path:
		return nil, missing(path)
	case n.Folder:
		return nil, folderNotFile(path)
	}
	return n, nil
}

// listPage is how many nodes of a folder are held at once.
const listPage = 256

// List implements engine.Files.
func (t *Tree) List(ctx context.Context, folder, after string) iter.Seq2[engine.FileInfo, error] {
	return func(yield func(engine.FileInfo, error) bool) {
		for {
			nodes, err := t.page(ctx, folder, after)
			if err != nil {
				yield(engine.FileInfo{}, err)
				return
			}
			for _, n := range nodes {
				after = path.Base(n.Path)
				if !yield(engine.FileInfo{Path: n.Path, Name: after, Size: n.Size, Modified: n.Modified, Folder: n.Folder}, nil) {
					return
				}
			}
			if len(nodes) < listPage {
				return
			}
		}
	}
}

// page returns the next nodes of a folder, behind a name. Each time it looks whether
// the folder is there: one that was moved away meanwhile has not come to its end.
func (t *Tree) page(ctx context.Context, folder, after string) ([]Node, error) {
	if folder == top {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return t.trees.rows.Children(ctx, t.account, "", top+after, listPage)
	}
	folder, err := t.canonical(ctx, folder)
	if err != nil {
		return nil, err
	}
	n, list, err := t.children(ctx, Key(folder), folder+"/"+after, listPage)
	switch {
	case err != nil:
		return nil, err
	case n == nil || n.Path != folder:
		return nil, missingFolder(folder)
	case !n.Folder:
		return nil, notFolder(folder)
	}
	return list, nil
}

func notFolder(path string) error {
	return value.Errorf(notAFolder, "%s is a file, not a folder", value.Quote(path))
}

// Write replaces a file's content, or makes the file, all at once. Folders are
// made on the way.
func (t *Tree) Write(ctx context.Context, path string, content []byte) error {
	path, err := t.canonical(ctx, path)
	if err != nil {
		return err
	}
	if err := t.checkSize(path, int64(len(content))); err != nil {
		return err
	}
	return t.change(ctx, func(p *txn) error {
		return p.put(Node{Path: path, Size: int64(len(content)), Modified: p.now}, func(n *Node) (err error) {
			n.Chunks, n.Tail, err = p.store(content)
			return err
		})
	})
}

// checkSize holds one file to its bound.
func (t *Tree) checkSize(path string, size int64) error {
	if t.quota.File > 0 && size > t.quota.File {
		return value.Exceeded("file_bytes", t.quota.File, "the file %s would have %s, and a file has %d at most", value.Quote(path), value.FormatByteCount(size), t.quota.File)
	}
	return nil
}

// Append adds to the end of a file, or makes it.
func (t *Tree) Append(ctx context.Context, path string, content []byte) error {
	path, err := t.canonical(ctx, path)
	if err != nil {
		return err
	}
	return t.change(ctx, func(p *txn) error { return p.extend(path, content) })
}

// Relocation is how a file is moved or copied.
type Relocation struct {
	If      Condition // that the file meets; nil for none
	Replace bool      // it may take the place of another file
}

// Copy makes a file with the content of another, as Write would.
func (t *Tree) Copy(ctx context.Context, from, to string) error {
	return t.CopyIf(ctx, from, to, Relocation{Replace: true})
}

// CopyIf is Copy as a relocation says.
func (t *Tree) CopyIf(ctx context.Context, from, to string, r Relocation) error {
	from, err := t.canonical(ctx, from)
	if err != nil {
		return err
	}
	to, err = t.canonical(ctx, to)
	if err != nil {
		return err
	}
	return t.change(ctx, func(p *txn) error {
		n, err := t.content(ctx, from)
		if err != nil {
			return err
		}
		if err := p.checkRelocation(from, to, r); err != nil {
			return err
		}
		return p.put(Node{Path: to, Size: n.Size, Modified: p.now}, func(copied *Node) error {
			copied.Chunks, copied.Tail = n.Chunks, n.Tail
			return nil
		})
	})
}

// Move gives a file or folder another path. A file may take the place of
// another; nothing takes the place of a folder.
func (t *Tree) Move(ctx context.Context, from, to string) error {
	return t.MoveIf(ctx, from, to, Relocation{Replace: true})
}

// MoveIf is Move as a relocation says.
func (t *Tree) MoveIf(ctx context.Context, from, to string, r Relocation) error {
	from, err := t.canonical(ctx, from)
	if err != nil {
		return err
	}
	to, err = t.canonical(ctx, to)
	if err != nil {
		return err
	}
	return t.change(ctx, func(p *txn) error {
		n, err := p.find(from)
		if err != nil || from == to {
			return err
		}
		if err := p.checkRelocation(from, to, r); err != nil {
			return err
		}
		if strings.HasPrefix(Key(to), Key(from)+"/") {
			return refuse(to, "a folder cannot be moved into itself")
		}
		if n.Folder && lengthens(from, to) {
			if err := p.checkMove(from, to); err != nil {
				return err
			}
		}
		old, err := p.prepareTarget(to, from)
		if err != nil {
			return err
		}
		if old != nil {
			if old.Folder {
				return folderNotFile(to)
			}
			if n.Folder {
				return value.Errorf(notAFolder, "%s is a file: a folder cannot take its place", value.Quote(to))
			}
			p.drop(*old)
		}
		p.changes = append(p.changes, Rename{From: from, To: to})
		return p.checkQuota(0)
	})
}

// checkRelocation applies the conditions of a relocation.
func (p *txn) checkRelocation(from, to string, r Relocation) error {
	if err := p.checkCondition(from, r.If); err != nil || r.Replace {
		return err
	}
	found, err := p.tree.trees.rows.Find(p.ctx, p.tree.account, []string{Key(to)})
	if err == nil && found[0] != nil && found[0].Path == to && !found[0].Folder {
		err = fault.New(fault.AlreadyExists, "there is a file %s already: remove it first, or say that it may be replaced", value.Quote(to))
	}
	return err
}

// MakeFolder makes a folder, with those on the way to it, and reports whether there was none.
func (t *Tree) MakeFolder(ctx context.Context, path string) (created bool, err error) {
	path, err = t.canonical(ctx, path)
	if err != nil {
		return false, err
	}
	return created, t.change(ctx, func(p *txn) error {
		old, err := p.prepareTarget(path, "")
		switch {
		case err != nil:
			return err
		case old != nil && !old.Folder:
			return notFolder(path)
		case old != nil:
			created = false
			return nil
		}
		created = true
		p.after.Nodes++
		p.changes = append(p.changes, Put{Node{Path: path, Folder: true, Modified: p.now}})
		return p.checkQuota(0)
	})
}

// Remove removes a file or an empty folder.
func (t *Tree) Remove(ctx context.Context, at string) error { return t.RemoveIf(ctx, at, nil) }

// RemoveIf is Remove of what meets a condition, where there is one.
func (t *Tree) RemoveIf(ctx context.Context, at string, check Condition) error {
	at, err := t.canonical(ctx, at)
	if err != nil {
		return err
	}
	return t.change(ctx, func(p *txn) error {
		n, err := p.find(at)
		if err != nil {
			return err
		}
		if err := p.checkCondition(at, check); err != nil {
			return err
		}
		if n.Folder {
			inside, err := t.trees.rows.Children(ctx, t.account, Key(at), "", 1)
			if err != nil {
				return err
			}
			if len(inside) > 0 {
				return value.Errorf(folderNotEmpty, "the folder %s is not empty: remove what is in it first", value.Quote(at))
			}
		}
		p.drop(*n)
		return nil
	})
}

// refuseReserved keeps scripts from a folder at the top and from names with a
// prefix, both given as keys; "" for no folder.
func refuseReserved(path, folder, prefix string) error {
	isFirst := true
	for segment := range strings.SplitSeq(path[1:], "/") {
		if mayBegin(segment, prefix) || isFirst && mayBegin(segment, folder) {
			key := Key(segment)
			if isFirst && folder != "" && key == folder || strings.HasPrefix(key, prefix) {
				return refuse(path, fmt.Sprintf("the name %s is kept for the service", value.Quote(segment)))
			}
		}
		isFirst = false
	}
	return nil
}

// mayBegin tells whether the key of a name may begin as another key does, by its first character.
func mayBegin(name, key string) bool {
	return key != "" && (name[0] >= utf8.RuneSelf || key[0] >= utf8.RuneSelf || upper(name[0]) == uint16(key[0]))
}
