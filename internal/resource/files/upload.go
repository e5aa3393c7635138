package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"slices"
	"time"

	"ql/internal/engine"
)

// Condition decides, by what names the content that a file has and by when it was
// written, whether it may be changed; "" and the zero time where there is none.
type Condition func(tag string, written time.Time) error

// Upload is how a file is written from a stream.
type Upload struct {
	Size int64     // of the content; negative where it is not known
	If   Condition // nil for no condition
}

// Upload writes a file from a stream, as Write would, and returns the tag of its
// content. Of the content no more than a small piece is held in memory; of one
// that comes to an end too early, or grows too large, nothing is stored.
func (t *Tree) Upload(ctx context.Context, path string, from io.Reader, u Upload) (tag string, err error) {
	return t.upload(ctx, path, u, func(in *receiver) error { return in.receive(from) }, func() context.Context { return ctx })
}

// WriteStream implements engine.Files.
func (t *Tree) WriteStream(ctx context.Context, path string, write func(io.Writer) error, commit func() context.Context) error {
	_, err := t.upload(ctx, path, Upload{Size: -1}, func(in *receiver) error {
		w := &receiverWriter{in: in, buffer: make([]byte, 0, readBuffer)}
		if err := write(w); err != nil {
			return err
		}
		return w.finish()
	}, commit)
	return err
}

// upload writes a file of what receive receives, under what commit returns then.
func (t *Tree) upload(ctx context.Context, path string, u Upload, receive func(*receiver) error, commit func() context.Context) (tag string, err error) {
	path, err = t.canonical(ctx, path)
	if err != nil {
		return "", err
	}
	// What would be refused at the end is refused before anything is read.
	reserved, err := t.precheck(ctx, path, u)
	if err != nil {
		return "", err
	}
	defer reserved.release()
	in := &receiver{blobs: t.trees.blobs, ctx: ctx, grow: reserved.grow}
	defer in.discard()
	if err := receive(in); err != nil {
		return "", storageFault(err)
	}
	return t.putReceived(commit(), path, in, reserved, u.If)
}

// putReceived makes a file of content that has come.
func (t *Tree) putReceived(ctx context.Context, path string, in *receiver, reserved *uploadReservation, check Condition) (tag string, err error) {
	n := Node{Path: path, Size: in.size, Tail: in.tail}
	for _, piece := range in.pieces {
		n.Chunks = append(n.Chunks, piece.Chunk)
	}
	return n.tag(), t.change(ctx, func(p *txn) error {
		p.held = reserved.held
		if err := p.checkCondition(path, check); err != nil {
			return err
		}
		n.Modified = p.now
		return p.put(n, func(*Node) error { return storageFault(in.publish(p.pin)) })
	})
}

// Received is content that has come and is no file yet. Until it is stored or discarded it counts as
// what the account stores; should the process end before, it is gone.
type Received struct {
	tree     *Tree
	in       *receiver
	reserved *uploadReservation
	pin      *pin // of its blobs, once they are published
}

// Receive receives the content of a file from a stream, which may become a file by Store. Of it no more
// than a small piece is held in memory. Name is what errors call it. The caller discards what it gets.
func (t *Tree) Receive(ctx context.Context, name string, from io.Reader) (*Received, error) {
	usage, err := t.trees.rows.Usage(ctx, t.account)
	if err != nil {
		return nil, err
	}
	reserved := &uploadReservation{tree: t, ctx: ctx, path: name, usage: usage}
	r := &Received{tree: t, in: &receiver{blobs: t.trees.blobs, ctx: ctx, grow: reserved.grow}, reserved: reserved, pin: &pin{blobs: t.trees.blobs}}
	if err := r.in.receive(from); err != nil {
		r.Discard()
		return nil, storageFault(err)
	}
	return r, nil
}

// Size returns how many bytes have come.
func (r *Received) Size() int64 { return r.in.size }

// Store makes a file of it, as Write would.
func (r *Received) Store(ctx context.Context, path string) error {
	path, err := r.tree.canonical(ctx, path)
	if err != nil {
		return err
	}
	// Not with the change, which removes what it made where it fails: it may be tried again.
	if err := r.in.publish(r.pin); err != nil {
		return storageFault(err)
	}
	if _, err = r.tree.putReceived(ctx, path, r.in, r.reserved, nil); err == nil {
		r.pin.made = nil
	}
	return err
}

// Ref implements engine.RequestContent: from then on it is content as files have it, until it is
// discarded.
func (r *Received) Ref(path string) ([]byte, error) {
	if err := r.in.publish(r.pin); err != nil {
		return nil, storageFault(err)
	}
	ref := Ref{Path: path, Chunks: r.chunks(), Tail: r.in.tail}
	return ref.Encode(), nil
}

// Open opens what has come to be read, until it is discarded. The caller closes it before.
func (r *Received) Open() (*Content, error) {
	if err := r.in.publish(r.pin); err != nil {
		return nil, storageFault(err)
	}
	return r.tree.trees.OpenContent(r.chunks(), r.in.tail), nil
}

// Hand has it stay for whoever holds it in the store before it is discarded, such as a job: until then
// it is known there as content that nothing refers to.
func (r *Received) Hand(ctx context.Context, path string) (ref []byte, err error) {
	if ref, err = r.Ref(path); err != nil {
		return nil, err
	}
	return ref, r.tree.trees.rows.AddDead(ctx, r.tree.trees.deadBlobs(r.tree.account, r.chunks()))
}

func (r *Received) chunks() (chunks []Chunk) {
	for _, piece := range r.in.pieces {
		chunks = append(chunks, piece.Chunk)
	}
	return chunks
}

// Discard ends it: what was not stored is gone. It may be called more than once.
func (r *Received) Discard() {
	r.in.discard()
	r.pin.release()
	made := r.pin.made
	r.pin.made = nil
	r.tree.trees.discard(context.WithoutCancel(r.in.ctx), r.tree.account, made)
	r.reserved.release()
}

// Keep implements engine.RequestFiler.
func (t *Tree) Keep(ctx context.Context, f *engine.RequestFile, to string) error {
	if r, ok := f.Content.(*Received); ok {
		return r.Store(ctx, to)
	}
	to, err := t.canonical(ctx, to)
	if err != nil {
		return err
	}
	ref, err := ParseRef(f.Ref)
	if err != nil {
		return err
	}
	n := Node{Path: to, Size: f.Size, Chunks: ref.Chunks, Tail: ref.Tail}
	if err := t.checkSize(to, n.Size); err != nil {
		return err
	}
	return t.change(ctx, func(p *txn) error {
		n.Modified = p.now
		return p.put(n, func(*Node) error {
			for _, chunk := range n.Chunks {
				p.pin.add(chunk.Hash)
			}
			return nil
		})
	})
}

// checkCondition applies a condition to the file at a path.
func (p *txn) checkCondition(path string, check Condition) error {
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

// uploadReservation is what an upload has reserved of the account's storage.
type uploadReservation struct {
	tree     *Tree
	ctx      context.Context
	path     string
	usage    Usage       // when it began
	replaced int64       // the size of the file that it replaces
	reserved int64       // bytes of content
	held     Reservation // all of that
	releases []func()
}

// precheck finds out whether a file could be written, and reserves the storage that
// it is known to need.
func (t *Tree) precheck(ctx context.Context, path string, u Upload) (*uploadReservation, error) {
	usage, err := t.trees.rows.Usage(ctx, t.account)
	if err != nil {
		return nil, err
	}
	r := &uploadReservation{tree: t, ctx: ctx, path: path, usage: usage}
	p := &txn{ctx: ctx, tree: t, before: usage, after: usage}
	if err := p.checkCondition(path, u.If); err != nil {
		return nil, err
	}
	old, err := p.prepareTarget(path, "")
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

// grow reserves storage for a content of so many bytes.
func (r *uploadReservation) grow(size int64) error {
	if err := r.tree.checkSize(r.path, size); err != nil {
		return err
	}
	if size <= r.reserved {
		return nil
	}
	had, has := max(r.reserved-r.replaced, 0), max(size-r.replaced, 0)
	// What was reserved before is counted by the storage.
	c := Reservation{Before: r.usage.Bytes, After: r.usage.Bytes + has - had, Writes: size - r.reserved}
	release, err := r.tree.reserve(r.ctx, c, Reservation{}, r.usage.Bytes+has)
	if err != nil {
		return err
	}
	if release != nil {
		r.releases = append(r.releases, release)
	}
	r.reserved = size
	r.held = Reservation{Before: r.usage.Bytes, After: r.usage.Bytes + has, Writes: size}
	return nil
}

// release releases all that was reserved.
func (r *uploadReservation) release() {
	for _, release := range r.releases {
		release()
	}
	r.releases = nil
}

// receiver is content on its way into blobs. Until it is published it has
// names that only an upload knows: given up, it is gone.
type receiver struct {
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
	// readBuffer is how much of an upload is held in memory.
	readBuffer = 256 << 10
	// maxSyncs is how many pieces are on their way to the disk while the next
	// one comes.
	maxSyncs = 2
	// maxPublishes is how many pieces get the names of blobs at once.
	maxPublishes = 8
)

// receive reads content to its end.
func (in *receiver) receive(from io.Reader) error {
	buffer := make([]byte, readBuffer)
	for {
		n, err := fill(contextReader{in.ctx, from}, buffer)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if err := in.take(buffer[:n]); err != nil {
			return err
		}
		if ended {
			return in.finish()
		}
	}
}

// take takes what comes next: a full buffer, or the last of all.
func (in *receiver) take(content []byte) error {
	if err := in.grow(in.size + int64(len(content))); err != nil {
		return err
	}
	in.size += int64(len(content))
	return in.write(content)
}

// receiverWriter has a receiver take what is written to it.
type receiverWriter struct {
	in     *receiver
	buffer []byte
}

// Write implements io.Writer.
func (w *receiverWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if err := w.in.ctx.Err(); err != nil {
			return n, err
		}
		more := min(len(p)-n, cap(w.buffer)-len(w.buffer))
		w.buffer = append(w.buffer, p[n:n+more]...)
		n += more
		if len(w.buffer) < cap(w.buffer) {
			break
		}
		if err := w.in.take(w.buffer); err != nil {
			return n, err
		}
		w.buffer = w.buffer[:0]
	}
	return n, nil
}

// finish takes the rest.
func (w *receiverWriter) finish() error {
	if err := w.in.take(w.buffer); err != nil {
		return err
	}
	return w.in.finish()
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

// write writes what has come: a full buffer, or the last of all.
func (in *receiver) write(content []byte) error {
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
func (in *receiver) last() *piece {
	if n := len(in.pieces); n > 0 && in.pieces[n-1].synced == nil {
		return in.pieces[n-1]
	}
	return nil
}

func (in *receiver) begin() (*piece, error) {
	w, err := in.blobs.store.Create()
	if err != nil {
		return nil, err
	}
	p := &piece{blob: w, sum: sha256.New()}
	in.pieces = append(in.pieces, p)
	return p, nil
}

// end has a piece written to the disk, beside what comes next.
func (in *receiver) end(p *piece) error {
	p.Hash = Hash(p.sum.Sum(nil))
	p.sum = nil
	p.synced = make(chan error, 1)
	go func() { p.synced <- p.blob.Finish() }()
	if before := len(in.pieces) - 1 - maxSyncs; before >= 0 {
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
func (in *receiver) finish() error {
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
func (in *receiver) publish(pin *pin) error {
	if in.published {
		return nil
	}
	for batch := range slices.Chunk(in.pieces, maxPublishes) {
		if err := publishAtOnce(batch, pin); err != nil {
			return err
		}
	}
	in.published = true
	return nil
}

// publishAtOnce publishes pieces side by side: each may take a request to a server.
func publishAtOnce(pieces []*piece, pin *pin) error {
	for _, p := range pieces {
		pin.add(p.Hash)
	}
	ended := make(chan error, len(pieces))
	for _, p := range pieces {
		go func() { ended <- p.blob.Publish(p.Hash) }()
	}
	var err error
	for _, p := range pieces {
		err = errors.Join(err, <-ended)
		pin.made = append(pin.made, p.Chunk) // or nearly so: one that failed may yet be there
	}
	return err
}

// discard removes what was not published.
func (in *receiver) discard() {
	for _, p := range in.pieces {
		if p.synced != nil {
			_ = p.wait() // before it is removed; whether it is sound no longer matters
		}
		p.blob.Discard()
	}
}
