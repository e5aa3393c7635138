package files

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"ql/internal/engine"
	"ql/lang/value"
)

// fileChanged is the code of content that is not what it was.
const fileChanged = "file_changed"

// held is content of a Tree that a loop holds. Its reference names the blobs by their hashes,
// so that it can be opened again, in another process too, for as long as they are there: while
// the state of a job refers to them, and else for a day at least after the file was changed,
// unless the account needs their storage.
type held struct {
	*Content
	path string
	ref  []byte
}

// Ref implements engine.FileContent.
func (h *held) Ref() []byte { return h.ref }

// Read implements io.Reader.
func (h *held) Read(p []byte) (int, error) {
	n, err := h.Content.Read(p)
	if errors.Is(err, fs.ErrNotExist) {
		err = gone(h.path)
	}
	return n, err
}

func gone(path string) error {
	return value.Errorf(fileChanged, "the file %s was changed since the loop through it began, and what it was is no longer kept", value.Quote(path))
}

// Ref is a reference to content of a Tree, taken apart.
type Ref struct {
	Path   string // of the file that had it
	Chunks []Chunk
	Tail   []byte
}

// Encode writes a reference, for ParseRef.
func (r *Ref) Encode() []byte {
	b := appendBytes(nil, []byte(r.Path))
	b = binary.AppendUvarint(b, uint64(len(r.Chunks)))
	for _, chunk := range r.Chunks {
		b = append(b, chunk.Hash[:]...)
		b = binary.AppendUvarint(b, uint64(chunk.Size))
	}
	return appendBytes(b, r.Tail)
}

// ParseRef takes a reference apart.
func ParseRef(ref []byte) (r Ref, err error) {
	d := refReader{rest: ref}
	r.Path = string(d.bytes())
	r.Chunks = make([]Chunk, 0, min(d.number(), int64(len(ref)/len(Hash{}))))
	for range cap(r.Chunks) {
		var c Chunk
		copy(c.Hash[:], d.take(int64(len(c.Hash))))
		c.Size = d.number()
		r.Chunks = append(r.Chunks, c)
	}
	r.Tail = d.bytes()
	if d.bad || len(d.rest) > 0 {
		return Ref{}, errBadRef
	}
	return r, nil
}

// Hold implements engine.Files.
func (t *Tree) Hold(ctx context.Context, path string) (engine.FileContent, error) {
	c, err := t.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	ref := Ref{Path: path, Chunks: c.chunks, Tail: c.tail}
	return &held{Content: c, path: path, ref: ref.Encode()}, nil
}

var errBadRef = errors.New("files: this is no reference to content")

// Held implements engine.Files.
func (t *Tree) Held(_ context.Context, ref []byte) (engine.FileContent, error) {
	r, err := ParseRef(ref)
	if err != nil {
		return nil, err
	}
	return &held{Content: t.trees.OpenContent(r.Chunks, r.Tail), path: r.Path, ref: ref}, nil
}

func appendBytes(b, s []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

// refReader takes a reference apart.
type refReader struct {
	rest []byte
	bad  bool
}

func (d *refReader) number() int64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > 1<<62 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[size:]
	return int64(n)
}

func (d *refReader) take(n int64) []byte {
	if n > int64(len(d.rest)) {
		d.bad = true
		return nil
	}
	s := d.rest[:n:n]
	d.rest = d.rest[n:]
	return s
}

func (d *refReader) bytes() []byte { return d.take(d.number()) }

// heldFile is content of a Dir. A real file can be changed in its place by anybody: what has
// another size or time than it had is not what it was.
type heldFile struct {
	io.ReadSeeker
	file *os.File
	path string
	ref  []byte
	size int64
	at   int64
}

// Hold implements engine.Files.
func (d *Dir) Hold(ctx context.Context, path string) (engine.FileContent, error) {
	path, f, info, err := d.openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	ref := fmt.Appendf(nil, "%d %d %s", info.Size(), info.ModTime().UnixNano(), path)
	return &heldFile{ReadSeeker: io.NewSectionReader(f, 0, info.Size()), file: f, path: path, ref: ref, size: info.Size()}, nil
}

// Held implements engine.Files.
func (d *Dir) Held(ctx context.Context, ref []byte) (engine.FileContent, error) {
	var size, modified int64
	var path string
	if n, _ := fmt.Sscanf(string(ref), "%d %d", &size, &modified); n != 2 {
		return nil, errBadRef
	}
	path = string(ref[len(fmt.Sprintf("%d %d ", size, modified)):])
	c, err := d.Hold(ctx, path)
	var known *value.Error
	if errors.As(err, &known) {
		return nil, gone(path)
	}
	if err != nil {
		return nil, err
	}
	if string(c.Ref()) != string(ref) {
		return nil, errors.Join(gone(path), c.Close())
	}
	return c, nil
}

// Ref implements engine.FileContent.
func (h *heldFile) Ref() []byte { return h.ref }

// Read implements io.Reader.
func (h *heldFile) Read(p []byte) (int, error) {
	n, err := h.ReadSeeker.Read(p)
	h.at += int64(n)
	if errors.Is(err, io.EOF) && h.at < h.size {
		return n, gone(h.path)
	}
	return n, err
}

// Seek implements io.Seeker.
func (h *heldFile) Seek(offset int64, whence int) (at int64, err error) {
	h.at, err = h.ReadSeeker.Seek(offset, whence)
	return h.at, err
}

// Close implements io.Closer.
func (h *heldFile) Close() error { return h.file.Close() }
