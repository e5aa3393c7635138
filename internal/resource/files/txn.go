package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"ql/internal/fault"
	"ql/lang/value"
)

// txn is a change of a tree while it is worked out: what was read, and what follows
// from it. It is applied only where the tree is still as it was read.
type txn struct {
	ctx     context.Context
	tree    *Tree
	now     time.Time
	before  Usage
	after   Usage
	changes []Change
	stale   bool        // the tree has changed meanwhile
	release func()      // releases the storage that was reserved, if any
	held    Reservation // what the caller has reserved for the same change already
	pin     *pin        // of the blobs that it refers to, or will
}

// change works out a change and carries it out. Where the tree has changed
// meanwhile, it starts again.
func (t *Tree) change(ctx context.Context, work func(*txn) error) error {
	if err := t.trees.locks.Lock(ctx, t.account); err != nil {
		return err
	}
	defer t.trees.locks.Unlock(t.account)
	// A blob that is found, or made, stays until its row is there.
	pin := &pin{blobs: t.trees.blobs}
	defer pin.release()
	for full := false; ; {
		done, err := t.attempt(ctx, pin, work)
		if !full && fault.Is(err, fault.StorageUnavailable) && t.trees.reclaimDisk(ctx) {
			full = true
			continue
		}
		if err != nil || done {
			pin.release()
			t.trees.discard(context.WithoutCancel(ctx), t.account, pin.made)
			return t.trees.deleting(ctx, err)
		}
	}
}

// deleting makes the error of a change that refers to a blob which is being removed: it
// can be made when that is over. Where nobody is at it any more, it is over now.
func (t *Trees) deleting(ctx context.Context, err error) error {
	if !errors.Is(err, ErrDeleting) {
		return err
	}
	err = errors.Join(err, t.blobs.FinishDeletions(ctx, t.rows))
	return fault.Retryable(fault.StorageUnavailable, max(time.Second, t.blobs.delay/10), "the same content is being removed from the storage at this moment").WithCause(err)
}

func (t *Tree) attempt(ctx context.Context, pin *pin, work func(*txn) error) (bool, error) {
	usage, err := t.trees.rows.Usage(ctx, t.account)
	if err != nil {
		return false, err
	}
	p := &txn{ctx: ctx, tree: t, pin: pin, now: t.trees.clock().UTC().Truncate(time.Microsecond), before: usage, after: usage}
	defer func() {
		if p.release != nil {
			p.release()
		}
	}()
	if err := work(p); err != nil {
		return false, err
	}
	if p.stale {
		return false, nil
	}
	if len(p.changes) == 0 {
		return true, nil
	}
	done, err := t.trees.rows.Apply(ctx, t.account, p.before, p.after, p.changes)
	if done && err == nil {
		pin.stored(p.changes)
	}
	return done, err
}

// checkQuota holds the account to what it may store, and to what may be on the
// disk while so many bytes are written. What makes it less is always allowed.
func (p *txn) checkQuota(writes int64) error {
	q := p.tree.quota
	if p.after.Bytes > p.before.Bytes || writes > 0 {
		var err error
		if p.release, err = p.tree.reserve(p.ctx, Reservation{Before: p.before.Bytes, After: p.after.Bytes, Writes: writes}, p.held, p.after.Bytes); err != nil {
			return err
		}
	}
	if q.Nodes > 0 && p.after.Nodes > q.Nodes && p.after.Nodes > p.before.Nodes {
		return tooManyNodes(p.after.Nodes, q.Nodes)
	}
	return nil
}

func tooManyNodes(nodes, most int64) error {
	return value.Errorf(quotaExceeded, "the account would have %d files and folders, and may have %d", nodes, most).AtLimit("files", most)
}

// reserve reserves storage, beside what the caller holds already, for files that would
// hold total in the end. What it returns releases it; nil for nothing.
func (t *Tree) reserve(ctx context.Context, c, held Reservation, total int64) (release func(), err error) {
	q := t.quota
	if q.Bytes > 0 && total > q.Bytes && c.After > c.Before {
		return nil, value.Errorf(quotaExceeded, "the account's files would hold %s, and may hold %d", value.FormatByteCount(total), q.Bytes).AtLimit("storage", q.Bytes)
	}
	if q.Storage == nil {
		return nil, nil
	}
	release, ok, err := q.Storage.ReserveFiles(ctx, c, held)
	if err == nil && !ok {
		err = value.Errorf(quotaExceeded, "the account's files would hold %s, and with its databases, and what is on its way or not yet swept, more than the %d that it may keep", value.FormatByteCount(total), q.Bytes).AtLimit("storage", q.Bytes)
	}
	return release, err
}

// store writes the part of content that is too large for a row as blobs, and
// returns them and the rest.
func (p *txn) store(content []byte) (chunks []Chunk, tail []byte, err error) {
	for len(content) > maxTail {
		if err := p.ctx.Err(); err != nil {
			return nil, nil, err
		}
		chunk, err := p.tree.trees.blobs.put(content[:min(len(content), maxChunk)], p.pin)
		if err != nil {
			return nil, nil, err
		}
		chunks = append(chunks, chunk)
		content = content[chunk.Size:]
	}
	return chunks, content, nil
}

// put plans to store a file, in place of another file or of nothing. fill gets
// its content, once storage is reserved for it.
func (p *txn) put(n Node, fill func(*Node) error) error {
	old, err := p.prepareTarget(n.Path, "")
	if err != nil {
		return err
	}
	if old == nil {
		p.after.Nodes++
	} else {
		if old.Folder {
			return folderNotFile(n.Path)
		}
		p.after.Bytes -= old.Size
	}
	p.after.Bytes += n.Size
	if err := p.checkQuota(n.Size); err != nil {
		return err
	}
	if err := fill(&n); err != nil {
		return err
	}
	p.changes = append(p.changes, Put{n})
	return nil
}

// extend plans to add content to the end of a file, or to make it.
func (p *txn) extend(path string, content []byte) error {
	old, err := p.prepareTarget(path, "")
	if err != nil {
		return err
	}
	n := Node{Path: path, Modified: p.now}
	var chunks []Chunk // that it has
	if old == nil {
		p.after.Nodes++
	} else {
		if old.Folder {
			return folderNotFile(path)
		}
		whole, err := p.tree.trees.rows.Content(p.ctx, p.tree.account, Key(path))
		if err != nil {
			return err
		}
		if whole == nil {
			p.stale = true // it went since it was found
			return nil
		}
		n.Size, n.Tail, chunks = whole.Size, whole.Tail, whole.Chunks
	}
	n.Size += int64(len(content))
	p.after.Bytes += int64(len(content))
	if err := p.tree.checkSize(path, n.Size); err != nil {
		return err
	}
	writes := int64(len(content))
	if len(chunks) > 0 && len(n.Tail)+len(content) > maxTail {
		writes += maxCompaction
	}
	if err := p.checkQuota(writes); err != nil {
		return err
	}
	if n.Chunks, n.Tail, err = p.store(slices.Concat(n.Tail, content)); err != nil {
		return err
	}
	if old == nil {
		p.changes = append(p.changes, Put{n})
		return nil
	}
	replace := 0
	if len(n.Chunks) > 0 {
		if replace, n.Chunks, err = p.tree.trees.blobs.compact(chunks, n.Chunks, p.pin); err != nil {
			return p.unlessStale(err)
		}
	}
	p.changes = append(p.changes, Extend{n, replace})
	return nil
}

// unlessStale returns an error, unless a blob was not found and the tree has
// changed: then it is of a file that is no longer so.
func (p *txn) unlessStale(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now, failed := p.tree.trees.rows.Usage(p.ctx, p.tree.account)
	if failed != nil || now.Generation == p.before.Generation {
		return errors.Join(err, failed)
	}
	p.stale = true
	return nil
}

// drop plans to remove a node.
func (p *txn) drop(n Node) {
	p.after.Nodes--
	p.after.Bytes -= n.Size
	p.changes = append(p.changes, Drop{n.Path})
}

// find returns what is at a path.
func (p *txn) find(path string) (*Node, error) {
	found, err := p.tree.trees.rows.Find(p.ctx, p.tree.account, []string{Key(path)})
	if err != nil {
		return nil, err
	}
	if found[0] == nil || found[0].Path != path {
		return nil, missing(path)
	}
	return found[0], nil
}

// checkMove refuses a move of a folder after which something below it could no
// longer be reached.
func (p *txn) checkMove(from, to string) error {
	longest, deepest, err := p.tree.trees.rows.Below(p.ctx, p.tree.account, Key(from))
	if err != nil {
		return err
	}
	return checkMove(from, to, extremes{longest, deepest})
}

// prepareTarget plans the folders on the way to a path, and returns what is there
// now, nil where there is nothing. Nothing gets a name that some system would
// take for one that is there already; except is a path that is about to lose
// its name.
func (p *txn) prepareTarget(to, except string) (*Node, error) {
	var paths, keys []string
	for end := range ends(to) {
		paths = append(paths, to[:end])
		keys = append(keys, Key(to[:end]))
	}
	nodes, err := p.tree.trees.rows.Find(p.ctx, p.tree.account, keys)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		at, last := paths[i], i == len(paths)-1
		if n != nil && n.Path != at {
			if n.Path != except {
				return nil, refuse(at, fmt.Sprintf("there is %s already, which is the same name on some systems", value.Quote(n.Path)))
			}
			n = nil
		}
		switch {
		case last:
			return n, nil
		case n == nil:
			p.after.Nodes++
			p.changes = append(p.changes, Put{Node{Path: at, Folder: true, Modified: p.now}})
		case !n.Folder:
			return nil, notFolder(at)
		}
	}
	return nil, nil
}
