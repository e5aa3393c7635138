package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"slices"
	"time"
)

// Check decides, by what names the content that a file has and by when it was
// written, whether it may be changed; "" and the zero time where there is none.
type Check func(tag string, written time.Time) error

// Upload is how a file is written from a stream.
type Upload struct {
	Size int64 // of the content; negative where it is not known
	If   Check // nil for no condition
}

// Upload writes a file from a stream, as Write would, and returns the tag of its
// content. Of the content no more than a small piece is held in memory; of one
// that comes to an end too early, or grows too large, nothing is kept.
func (t *Tree) Upload(ctx context.Context, path string, from io.Reader, u Upload) (tag string, err error) {
	path, err = t.canonical(ctx, path)
	if err != nil {
		return "", err
	}
	// What would be refused at the end is refused before anything is read.
	room, err := t.rehearse(ctx, path, u)
	if err != nil {
		return "", err
	}
	defer room.release()
	in := &incoming{blobs: t.trees.blobs, ctx: ctx, grow: room.grow}
	defer in.discard()
	if err := in.receive(from); err != nil {
		return "", storageFault(err)
	}
	n := Node{Path: path, Size: in.size, Tail: in.tail}
	for _, piece := range in.pieces {
		n.Chunks = append(n.Chunks, piece.Chunk)
	}
	return n.tag(), t.change(ctx, func(p *plan) error {
		p.held = room.held
		if err := p.meets(path, u.If); err != nil {
			return err
		}
		n.Modified = p.now
		return p.put(n, func(*Node) error { return storageFault(in.publish(p.pin)) })
	})
}

// meets applies a condition to the file at a path.
func (p *plan) meets(path string, check Check) error {
	if check == nil {
		return nil
	}
	n, err := p.tree.trees.rows.Content(p.ctx, p.tree.account, Key(path))
	if err != nil {
		return err
	}
	if n == nil || n.Folder || n.Path != path {
		return check("", time.Time{})
	}
	return check(n.tag(), n.Modified)
}

// room is what an upload has claimed of the account's storage.
type room struct {
	tree     *Tree
	ctx      context.Context
	path     string
	usage    Usage // when it began
	replaced int64 // the size of the file whose place it takes
	claimed  int64 // bytes of content that there is room for
	held     Claim // all of that
	releases []func()
}

// rehearse finds out whether a file could be written, and claims the room that
// it is known to need.
func (t *Tree) rehearse(ctx context.Context, path string, u Upload) (*room, error) {
	usage, err := t.trees.rows.Usage(ctx, t.account)
	if err != nil {
		return nil, err
	}
	r := &room{tree: t, ctx: ctx, path: path, usage: usage}
	p := &plan{ctx: ctx, tree: t, before: usage, after: usage}
	if err := p.meets(path, u.If); err != nil {
		return nil, err
	}
	old, err := p.place(path, "")
	switch {
	case err != nil:
		return nil, err
	case old == nil:
		p.after.Nodes++
	case old.Folder:
		return nil, folderNotFile(path)
	default:
		r.replaced = old.Size
	}
	if err := p.checkQuota(0); err != nil { // the number of files
		return nil, err
	}
	if err := r.grow(max(u.Size, 0)); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// grow claims room for a content of so many bytes.
func (r *room) grow(size int64) error {
	if err := r.tree.checkSize(r.path, size); err != nil {
		return err
	}
	if size <= r.claimed {
		return nil
	}
	had, has := max(r.claimed-r.replaced, 0), max(size-r.replaced, 0)
	// What was claimed before is counted by whoever keeps the room.
	c := Claim{Before: r.usage.Bytes, After: r.usage.Bytes + has - had, Writes: size - r.claimed}
	release, err := r.tree.claim(r.ctx, c, Claim{}, r.usage.Bytes+has)
	if err != nil {
		return err
	}
	if release != nil {
		r.releases = append(r.releases, release)
	}
	r.claimed = size
	r.held = Claim{Before: r.usage.Bytes, After: r.usage.Bytes + has, Writes: size}
	return nil
}

// release gives back all that was claimed.
func (r *room) release() {
	for _, release := range r.releases {
		release()
	}
	r.releases = nil
}

// incoming is content on its way into blobs. Until it is published it has
// names that only an upload knows: given up, it is gone.
type incoming struct {
	blobs *Blobs
	ctx   context.Context
	grow  func(size int64) error

	size      int64
	pieces    []*piece
	tail      []byte
	published bool
}

// piece is a chunk that is written as it comes.
type piece struct {
	Chunk
	blob   BlobWriter
	sum    hash.Hash
	synced chan error // gives the end of writing it once
}

const (
	// readAtOnce is how much of an upload is held in memory.
	readAtOnce = 256 << 10
	// syncsAtOnce is how many pieces are on their way to the disk while the next
	// one comes.
	syncsAtOnce = 2
)

// receive reads content to its end.
func (in *incoming) receive(from io.Reader) error {
	buffer := make([]byte, readAtOnce)
	for {
		n, err := fill(contextReader{in.ctx, from}, buffer)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if err := in.grow(in.size + int64(n)); err != nil {
			return err
		}
		in.size += int64(n)
		if err := in.take(buffer[:n]); err != nil {
			return err
		}
		if ended {
			return in.finish()
		}
	}
}

// fill reads until the buffer is full. Unlike io.ReadFull it tells an end from
// a stream that was cut off.
func fill(from io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = from.Read(buffer[n:])
		n += more
	}
	return n, err
}

// take writes what has come: a full buffer, or the last of all.
func (in *incoming) take(content []byte) error {
	last := in.last()
	if last == nil && len(content) <= maxTail {
		in.tail = slices.Clone(content)
		return nil
	}
	if last == nil {
		var err error
		if last, err = in.begin(); err != nil {
			return err
		}
	}
	last.sum.Write(content)
	last.Size += int64(len(content))
	if _, err := last.blob.Write(content); err != nil {
		return err
	}
	if last.Size == maxChunk {
		return in.end(last)
	}
	return nil
}

// last returns the piece that is being written, nil where the next one begins.
func (in *incoming) last() *piece {
	if n := len(in.pieces); n > 0 && in.pieces[n-1].synced == nil {
		return in.pieces[n-1]
	}
	return nil
}

func (in *incoming) begin() (*piece, error) {
	w, err := in.blobs.store.Create()
	if err != nil {
		return nil, err
	}
	p := &piece{blob: w, sum: sha256.New()}
	in.pieces = append(in.pieces, p)
	return p, nil
}

// end has a piece written to the disk, beside what comes next.
func (in *incoming) end(p *piece) error {
	p.Hash = Hash(p.sum.Sum(nil))
	p.sum = nil
	p.synced = make(chan error, 1)
	go func() { p.synced <- p.blob.Finish() }()
	if before := len(in.pieces) - 1 - syncsAtOnce; before >= 0 {
		return in.pieces[before].wait()
	}
	return nil
}

// wait returns when the piece is on the disk.
func (p *piece) wait() error {
	err := <-p.synced
	p.synced <- err // for whoever asks again
	return err
}

// finish waits until all is on the disk.
func (in *incoming) finish() error {
	if last := in.last(); last != nil {
		if err := in.end(last); err != nil {
			return err
		}
	}
	for _, p := range in.pieces {
		if err := p.wait(); err != nil {
			return err
		}
	}
	return nil
}

// publish gives the pieces the names of blobs, which are pinned. It may be called
// again.
func (in *incoming) publish(pin *pin) error {
	if in.published {
		return nil
	}
	for _, p := range in.pieces {
		pin.add(p.Hash)
		if err := p.blob.Publish(p.Hash); err != nil {
			return err
		}
		pin.made = append(pin.made, p.Chunk)
	}
	in.published = true
	return nil
}

// discard removes what was not published.
func (in *incoming) discard() {
	for _, p := range in.pieces {
		if p.synced != nil {
			_ = p.wait() // before it is removed; whether it is sound no longer matters
		}
		p.blob.Discard()
	}
}
