package files

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"
)

// Content is a file's content as it was when it was opened, to be read piece by
// piece. A file that is changed or removed meanwhile does not change it: the
// blobs stay until it is closed. It is used by one goroutine at a time.
type Content struct {
	pin      *pin
	chunks   []Chunk
	tail     []byte
	size     int64
	modified time.Time
	tag      string

	at   int64 // where the next read begins
	open *openChunk
}

// openChunk is a chunk that is being read, from its first byte on: so all that
// is given out of it can be checked at its end.
type openChunk struct {
	Chunk
	file io.ReadCloser
	sum  hash.Hash
	from int64 // where it begins in the content
	read int64 // of it
}

// Open opens a file to be read. The caller closes it.
func (t *Tree) Open(ctx context.Context, path string) (*Content, error) {
	if err := refuseTop(path); err != nil {
		return nil, err
	}
	path, err := t.canonical(ctx, path)
	if err != nil {
		return nil, err
	}
	n, err := t.content(ctx, path)
	if err != nil {
		return nil, err
	}
	for {
		c := t.trees.contentOf(n)
		if len(n.Chunks) == 0 {
			return c, nil
		}
		// What it had may have been swept before it was pinned.
		again, err := t.content(ctx, path)
		if err == nil && slices.Equal(again.Chunks, n.Chunks) {
			return c, nil
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return nil, err
		}
		n = again
	}
}

// contentOf returns a node's content, with its blobs pinned.
func (t *Trees) contentOf(n *Node) *Content {
	p := &pin{blobs: t.blobs, hashes: make([]Hash, 0, len(n.Chunks))}
	for _, chunk := range n.Chunks {
		p.add(chunk.Hash)
	}
	return &Content{pin: p, chunks: n.Chunks, tail: n.Tail, size: n.Size, modified: n.Modified, tag: n.tag()}
}

// OpenContent returns content that was noted earlier, to be read: what a link to a
// file hands out, whatever has become of the file since.
func (t *Trees) OpenContent(chunks []Chunk, tail []byte) *Content {
	n := &Node{Chunks: chunks, Tail: tail, Size: int64(len(tail))}
	for _, c := range chunks {
		n.Size += c.Size
	}
	return t.contentOf(n)
}

// tag names a file's content: no two contents have the same, and a file has the
// same for as long as it is not written.
func (n *Node) tag() string {
	if n.sealed != "" {
		return n.sealed
	}
	sum := sha256.New()
	for i := range n.Chunks {
		sum.Write(n.Chunks[i].Hash[:])
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(n.Chunks[i].Size)))
	}
	tail := sha256.Sum256(n.Tail)
	sum.Write(tail[:])
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// InMemory returns the content where all of it is in memory; false for others. It is not to be changed.
func (c *Content) InMemory() ([]byte, bool) { return c.tail, len(c.chunks) == 0 }

// Size returns how many bytes the content has.
func (c *Content) Size() int64 { return c.size }

// Modified returns when it was written.
func (c *Content) Modified() time.Time { return c.modified }

// Tag names the content: another content has another name.
func (c *Content) Tag() string { return c.tag }

// Read implements io.Reader. The last bytes of a chunk are given out only where
// the whole chunk is what was written.
func (c *Content) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	chunk, from, ok := c.chunkAt()
	if !ok {
		rest := c.tail[min(c.at-from, int64(len(c.tail))):]
		if len(rest) == 0 {
			return 0, io.EOF
		}
		n := copy(p, rest)
		c.at += int64(n)
		return n, nil
	}
	if err := c.enter(chunk, from); err != nil {
		return 0, err
	}
	n, err := c.open.Read(p)
	c.at += int64(n)
	return n, err
}

// chunkAt returns the chunk that the next byte is in and where that begins; of
// the tail, only the latter.
func (c *Content) chunkAt() (chunk Chunk, from int64, ok bool) {
	for _, chunk := range c.chunks {
		if c.at < from+chunk.Size {
			return chunk, from, true
		}
		from += chunk.Size
	}
	return Chunk{}, from, false
}

// enter opens a chunk, unless it is open, and reads on to where c is.
func (c *Content) enter(chunk Chunk, from int64) error {
	if o := c.open; o != nil && o.from == from && o.from+o.read == c.at {
		return nil
	}
	if err := c.closeChunk(); err != nil {
		return err
	}
	f, err := c.pin.blobs.store.Open(chunk.Hash)
	if err != nil {
		return err
	}
	c.open = &openChunk{Chunk: chunk, file: f, sum: sha256.New(), from: from}
	_, err = io.CopyN(io.Discard, c.open, c.at-from)
	return err
}

// Read reads of one chunk alone.
func (o *openChunk) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), o.Size-o.read)]
	n, err := o.file.Read(p)
	o.sum.Write(p[:n])
	o.read += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // the last bytes may come with the end
	}
	switch {
	case errors.Is(err, io.EOF):
		return 0, fmt.Errorf("blob %x: %w", o.Hash[:4], io.ErrUnexpectedEOF)
	case err == nil && o.read == o.Size && Hash(o.sum.Sum(nil)) != o.Hash:
		return 0, fmt.Errorf("blob %x is damaged", o.Hash[:4])
	}
	return n, err
}

// Seek implements io.Seeker.
func (c *Content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return c.at, errors.New("files: seek before the beginning")
	}
	c.at = offset
	return offset, nil
}

// Close lets go of the content. It may be called more than once.
func (c *Content) Close() error {
	if len(c.pin.hashes) > 0 {
		c.pin.release()
	}
	return c.closeChunk()
}

func (c *Content) closeChunk() error {
	if c.open == nil {
		return nil
	}
	err := c.open.file.Close()
	c.open = nil
	return err
}
