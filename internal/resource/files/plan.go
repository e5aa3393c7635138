package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ql/lang/value"
)

// plan is a change of a tree while it is worked out: what was seen, and what
// follows from it. It is carried out only where the tree is still as seen.
type plan struct {
	ctx     context.Context
	tree    *Tree
	now     time.Time
	before  Usage
	after   Usage
	changes []Change
	stale   bool   // the tree has changed meanwhile
	release func() // gives back the room that was claimed, if any
}

// change works out a change and carries it out. Where the tree has changed
// meanwhile, it starts again.
func (t *Tree) change(ctx context.Context, work func(*plan) error) error {
	release, err := t.trees.turns.take(ctx, t.account)
	if err != nil {
		return err
	}
	defer release()
	// A blob that is found, or made, stays until its row is there.
	t.trees.blobs.sweeping.RLock()
	defer t.trees.blobs.sweeping.RUnlock()
	for {
		done, err := t.attempt(ctx, work)
		if err != nil || done {
			return err
		}
	}
}

func (t *Tree) attempt(ctx context.Context, work func(*plan) error) (bool, error) {
	usage, err := t.trees.rows.Usage(ctx, t.account)
	if err != nil {
		return false, err
	}
	p := &plan{ctx: ctx, tree: t, now: t.trees.clock().UTC().Truncate(time.Microsecond), before: usage, after: usage}
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
	return t.trees.rows.Apply(ctx, t.account, p.before, p.after, p.changes)
}

// checkQuota holds the account to what it may keep. What makes it less is
// always allowed.
func (p *plan) checkQuota() error {
	q := p.tree.quota
	if p.after.Bytes > p.before.Bytes {
		if err := p.checkBytes(); err != nil {
			return err
		}
	}
	if q.Nodes > 0 && p.after.Nodes > q.Nodes && p.after.Nodes > p.before.Nodes {
		return value.Errorf(quotaExceeded, "the account would have %d files and folders, and may have %d", p.after.Nodes, q.Nodes).AtLimit("files", q.Nodes)
	}
	return nil
}

func (p *plan) checkBytes() (err error) {
	p.release, err = p.tree.claim(p.ctx, p.before.Bytes, p.after.Bytes, p.after.Bytes)
	return err
}

// claim keeps room for files that grow from before to after, of which they would
// hold total in the end. What it returns gives the room back; nil for nothing.
func (t *Tree) claim(ctx context.Context, before, after, total int64) (release func(), err error) {
	q := t.quota
	if q.Bytes > 0 && total > q.Bytes {
		return nil, value.Errorf(quotaExceeded, "the account's files would hold %s, and may hold %d", value.ByteCount(total), q.Bytes).AtLimit("storage", q.Bytes)
	}
	if q.Room == nil {
		return nil, nil
	}
	release, ok, err := q.Room.Claim(ctx, before, after)
	if err == nil && !ok {
		err = value.Errorf(quotaExceeded, "the account's files would hold %s, and with its databases more than the %d that it may keep", value.ByteCount(total), q.Bytes).AtLimit("storage", q.Bytes)
	}
	return release, err
}

// store writes the part of content that is too large for a row as blobs, and
// returns them and the rest.
func (p *plan) store(content []byte) (chunks []Chunk, tail []byte, err error) {
	for len(content) > maxTail {
		if err := p.ctx.Err(); err != nil {
			return nil, nil, err
		}
		chunk, err := p.tree.trees.blobs.put(content[:min(len(content), maxChunk)])
		if err != nil {
			return nil, nil, err
		}
		chunks = append(chunks, chunk)
		content = content[chunk.Size:]
	}
	return chunks, content, nil
}

// put plans to store a file, in place of another file or of nothing. fill gets
// its content, once it is known that there is room for it.
func (p *plan) put(n Node, fill func(*Node) error) error {
	old, err := p.place(n.Path, "")
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
	if err := p.checkQuota(); err != nil {
		return err
	}
	if err := fill(&n); err != nil {
		return err
	}
	p.changes = append(p.changes, Put{n})
	return nil
}

// extend plans to add content to the end of a file, or to make it.
func (p *plan) extend(path string, content []byte) error {
	old, err := p.place(path, "")
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
	if err := p.checkQuota(); err != nil {
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
		if replace, n.Chunks, err = p.tree.trees.blobs.join(chunks, n.Chunks); err != nil {
			return err
		}
	}
	p.changes = append(p.changes, Extend{n, replace})
	return nil
}

// drop plans to remove a node.
func (p *plan) drop(n Node) {
	p.after.Nodes--
	p.after.Bytes -= n.Size
	p.changes = append(p.changes, Drop{n.Path})
}

// find returns what stands at a path.
func (p *plan) find(path string) (*Node, error) {
	found, err := p.tree.trees.rows.Find(p.ctx, p.tree.account, []string{Key(path)})
	if err != nil {
		return nil, err
	}
	if found[0] == nil || found[0].Path != path {
		return nil, missing(path)
	}
	return found[0], nil
}

// checkReach refuses a move of a folder after which something below it could no
// longer be reached.
func (p *plan) checkReach(from, to string) error {
	longest, deepest, err := p.tree.trees.rows.Below(p.ctx, p.tree.account, Key(from))
	if err != nil {
		return err
	}
	return checkReach(from, to, extremes{longest, deepest})
}

// place plans the folders on the way to a path, and returns what stands there
// now, nil where there is nothing. Nothing gets a name that some system would
// take for one that is there already; except is a path that is about to lose
// its name.
func (p *plan) place(to, except string) (*Node, error) {
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
