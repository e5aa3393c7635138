// Package ring keeps entries on the disk for the short while until they are stored
// elsewhere: a file of fixed size, written round and round, in which each append is
// one write and one flush. What an entry means is its owner's business, as is to
// say from when on it is not needed any more.
//
// The file is made of frames, each at a block of its own: a header with the place
// of the frame and a checksum, and entries with their lengths. Places grow for
// ever; a frame stands in the file where its place is, modulo the file's size. So
// what an earlier round left is never taken for a frame of this one. Nor is an
// entry that looks like a frame: a frame carries a key that its entries' authors
// do not know.
package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"ql/internal/disk"
)

// Place is where a frame begins, or ends.
type Place int64

// Key is what the frames of one ring have in common. It is chosen by chance.
type Key [8]byte

const (
	// Block is what places and sizes are multiples of.
	Block = 4096
	// MaxFrame is how many bytes are appended at once, at most.
	MaxFrame = 1 << 20

	header = 4 + 4 + len(Key{}) + 8 + 4 + 4 // magic, checksum, key, place, length, entries
	magic  = "qlR1"
)

// ErrNoRoom is the error of an append that does not fit: into one frame, or into
// what is free.
var ErrNoRoom = errors.New("the ring has no room")

var errClosed = errors.New("the ring is closed")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Ring is a file that can be appended to. It may be used by any number of
// goroutines.
type Ring struct {
	mu     sync.Mutex
	file   *file
	buffer []byte
	key    Key
	size   Place
	next   Place // where the next frame goes
	needed Place // the first that may not be overwritten
	broken error // after which nothing is appended any more
	used   atomic.Int64
}

// Open opens a ring that goes on at a place, before which nothing is needed any
// more. Its file is made where it is missing, or has another size. It holds two
// frames at least: so the largest fits into one that is free, wherever that goes on.
func Open(path string, size int64, key Key, at Place) (*Ring, error) {
	if size < 2*MaxFrame || size%Block != 0 || at < 0 || at%Block != 0 {
		return nil, fmt.Errorf("a ring of %d bytes cannot go on at %d", size, at)
	}
	buffer, err := alignedBuffer(MaxFrame)
	if err != nil {
		return nil, err
	}
	file, err := prepare(path, size, buffer)
	if err != nil {
		return nil, errors.Join(err, releaseBuffer(buffer))
	}
	return &Ring{file: file, buffer: buffer, key: key, size: Place(size), next: at, needed: at}, nil
}

// prepare opens the file, with room on the disk for all of it.
func prepare(path string, size int64, zeros []byte) (*file, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Size() == size:
		return openFile(path)
	}
	made := path + ".new"
	if err := fill(made, size, zeros); err != nil {
		return nil, errors.Join(err, remove(made))
	}
	if err := os.Rename(made, path); err != nil {
		return nil, err
	}
	if err := disk.SyncFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return openFile(path)
}

// fill writes a file of zeros: an append changes nothing but bytes then, which is
// flushed faster than a file that grows.
func fill(path string, size int64, zeros []byte) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Append returns when entries are on the disk, with the place after them. With
// ErrNoRoom none is, nor will be. After a write that failed nothing is appended any
// more: where what it left could be erased, the place is 0, else some may be found
// before it later.
func (r *Ring) Append(entries [][]byte) (Place, error) {
	length := header
	for _, e := range entries {
		length += 4 + len(e)
		if length > len(r.buffer) {
			return 0, ErrNoRoom
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return 0, r.broken
	}
	at := r.place(length)
	end := at + padded(length)
	if end-r.needed > r.size {
		return 0, ErrNoRoom
	}
	frame := r.buffer[:padded(length)]
	r.encode(frame, length, at, entries)
	if err := r.file.write(frame, int64(at%r.size)); err != nil {
		r.broken = fmt.Errorf("writing to the ring: %w", err)
		if r.erase(at) != nil {
			return end, r.broken
		}
		return 0, r.broken
	}
	r.next = end
	r.used.Store(int64(r.next - r.needed))
	return end, nil
}

// erase writes over the beginning of a frame, without which there is none.
func (r *Ring) erase(at Place) error {
	block := r.buffer[:Block]
	clear(block)
	return r.file.write(block, int64(at%r.size))
}

// place is where a frame of so many bytes goes: no frame goes over the end of the
// file.
func (r *Ring) place(length int) Place {
	if left := r.size - r.next%r.size; padded(length) > left {
		return r.next + left
	}
	return r.next
}

func padded(length int) Place { return Place((length + Block - 1) / Block * Block) }

func (r *Ring) encode(frame []byte, length int, at Place, entries [][]byte) {
	b := append(frame[:0], magic...)
	b = append(b, 0, 0, 0, 0)
	b = append(b, r.key[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint32(b, uint32(length))
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, uint32(len(e)))
		b = append(b, e...)
	}
	clear(frame[length:])
	binary.BigEndian.PutUint32(frame[4:], crc32.Checksum(b[8:], castagnoli))
}

// Free says that what stands before a place is not needed any more.
func (r *Ring) Free(before Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needed = max(r.needed, min(before, r.next))
	r.used.Store(int64(r.next - r.needed))
}

// Used returns how many bytes of the file may not be overwritten. It waits for no write.
func (r *Ring) Used() int64 { return r.used.Load() }

// Close closes the file. A second time it does nothing.
func (r *Ring) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.broken, errClosed) {
		return nil
	}
	r.broken = errClosed
	return errors.Join(r.file.Close(), releaseBuffer(r.buffer))
}

// Read calls f with each entry that stands in a file from a place on, in the order
// in which they were appended, and returns the place after them. A file that is not
// there has none. Where frames are damaged, those that stand after them are read all
// the same, and whole is false: the last one alone may be torn, by a crash, since
// each is on the disk before the next is begun. Others may append meanwhile; then
// whole means nothing.
func Read(path string, key Key, from Place, f func(entry []byte) error) (to Place, whole bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return from, true, nil
	case err != nil:
		return from, true, err
	case !info.Mode().IsRegular(): // some kinds would be waited for
		return from, true, errors.New("it is no file")
	}
	file, err := os.Open(path)
	if err != nil {
		return from, true, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return read(file, Place(info.Size()/Block*Block), key, from, f)
}

func read(file io.ReaderAt, size Place, key Key, from Place, f func(entry []byte) error) (to Place, whole bool, err error) {
	if from < 0 || from%Block != 0 {
		return from, true, fmt.Errorf("no frame of a ring begins at %d", from)
	}
	whole = true
	for size > 0 {
		frame, at, err := readNext(file, size, key, from)
		if err != nil || frame == nil {
			return from, whole, err
		}
		if err := eachEntry(frame, f); err != nil {
			return from, whole, err
		}
		fits := padded(len(frame)) <= size-from%size
		whole = whole && (at == from || at%size == 0 && !fits)
		from = at + padded(len(frame))
	}
	return from, whole, nil
}

// readNext returns the first frame that stands at a place or after it, and where it
// is; nil for none.
func readNext(file io.ReaderAt, size Place, key Key, from Place) (frame []byte, at Place, err error) {
	for at = from; at < from+size; at += Block {
		if frame, err = readFrame(file, size, key, at); frame != nil || err != nil {
			break
		}
	}
	return frame, at, err
}

// readFrame returns the frame at a place, without what fills its last block; nil
// where there is none that is whole.
func readFrame(file io.ReaderAt, size Place, key Key, at Place) ([]byte, error) {
	head := make([]byte, header)
	if n, err := file.ReadAt(head, int64(at%size)); n < header {
		return nil, ignoreEnd(err)
	}
	length := int(binary.BigEndian.Uint32(head[24:]))
	if string(head[:4]) != magic || Key(head[8:16]) != key || binary.BigEndian.Uint64(head[16:]) != uint64(at) ||
		length < header || length > MaxFrame || at%size+padded(length) > size {
		return nil, nil
	}
	frame := make([]byte, length)
	if n, err := file.ReadAt(frame, int64(at%size)); n < length {
		return nil, ignoreEnd(err)
	}
	if crc32.Checksum(frame[8:], castagnoli) != binary.BigEndian.Uint32(frame[4:]) {
		return nil, nil
	}
	return frame, nil
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// eachEntry calls f with the entries of a frame.
func eachEntry(frame []byte, f func([]byte) error) error {
	count, rest := binary.BigEndian.Uint32(frame[header-4:]), frame[header:]
	for range count {
		if len(rest) < 4 || int64(binary.BigEndian.Uint32(rest)) > int64(len(rest)-4) {
			return errors.New("a frame of the ring is shorter than its entries")
		}
		n := 4 + int(binary.BigEndian.Uint32(rest))
		if err := f(rest[4:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return errors.New("a frame of the ring is longer than its entries")
	}
	return nil
}
