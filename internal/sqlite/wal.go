package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A database in WAL mode has its last changes in a log beside it. Who opens it after a
// crash takes the log up to the first frame that is not whole, and drops the rest: that
// is the change which was on its way, as long as the disk does what it is told. Where
// it does not, the rest may be any number of changes that were flushed long before.
// The format: https://sqlite.org/fileformat2.html#walformat

// WALSuffix is what the name of a database's log ends in, after that of its file.
const WALSuffix = "-wal"

// WALDamageError says that a log has a frame which is not whole, and changes after it that
// were flushed later: SQLite would drop them in silence.
type WALDamageError struct {
	Path    string
	At      int64 // the byte where the frame begins
	Changes int   // that were committed, from there on, as far as they can be told
}

// Error says where the log is damaged, and what is lost.
func (e *WALDamageError) Error() string {
	changes := fmt.Sprintf("%d changes", e.Changes)
	if e.Changes == 1 {
		changes = "a change"
	}
	return fmt.Sprintf("the log %s is damaged at byte %d: %s, committed there or after, cannot be read", e.Path, e.At, changes)
}

const (
	walHeader   = 32
	frameHeader = 24
)

// CheckWAL looks for damage in the log of the database at a path, which nobody has open.
// The error is a *WALDamageError where there is some. What a crash or a power cut leaves is
// no damage: each commit is flushed before the next change is begun, so that only the
// last may be torn. Nor is there any where a log is missing.
func CheckWAL(path string) error {
	path += WALSuffix
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	at, changes, err := checkWAL(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if changes > 0 {
		return &WALDamageError{Path: path, At: at, Changes: changes}
	}
	return nil
}

// checkWAL returns where a log is damaged and how many changes were committed from there
// on; 0 where it is not.
func checkWAL(r io.Reader) (at int64, changes int, err error) {
	var header [walHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, 0, unlessShort(err)
	}
	w := walk{order: binary.LittleEndian, brokenAt: -1}
	if header[3]&1 != 0 {
		w.order = binary.BigEndian
	}
	size := int(binary.BigEndian.Uint32(header[8:]))
	w.salt, w.before = [8]byte(header[16:]), sumAt(header[24:])
	if sum(w.order, [2]uint32{}, header[:24]) != w.before || size < 512 || size > 65536 || size&(size-1) != 0 {
		w.brokenAt, w.headless, w.order, size = 0, true, binary.NativeEndian, plausible(size)
	}
	frame := make([]byte, frameHeader+size)
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(r, frame); err != nil {
			if err = unlessShort(err); err != nil || !w.proved {
				return 0, 0, err
			}
			return w.brokenAt, w.changes, nil
		}
		w.frame(frame, at)
	}
}

// plausible is the size of pages where the header does not tell it: that of ours.
func plausible(size int) int {
	if size >= 512 && size <= 65536 && size&(size-1) == 0 {
		return size
	}
	return 4096
}

// walk goes through the frames of a log. The checksum of a frame covers all before it,
// so that a frame can be checked by itself with the one that stands before it.
type walk struct {
	order    binary.ByteOrder
	salt     [8]byte // that the frames of this round have
	headless bool    // the header is damaged: the salt is that of the frame before
	before   [2]uint32
	ended    bool // the frame before ends a change

	brokenAt int64 // where the first frame begins that is not whole; -1 for none yet
	changes  int   // committed from there on
	// proved says that a whole frame follows the end of a change from there on: when it
	// was written, that change was flushed.
	proved bool
}

func (w *walk) frame(frame []byte, at int64) {
	salt, own := [8]byte(frame[8:]), sumAt(frame[16:])
	whole := salt == w.salt && sum(w.order, sum(w.order, w.before, frame[:8]), frame[frameHeader:]) == own
	if !whole && w.brokenAt < 0 {
		w.brokenAt = at
	}
	ends := binary.BigEndian.Uint32(frame[4:]) != 0
	if w.brokenAt >= 0 {
		if whole && w.ended {
			w.proved = true
		}
		if ends && salt == w.salt {
			w.changes++
		}
	}
	w.before, w.ended = own, ends
	if w.headless {
		w.salt = salt
	}
}

func sumAt(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// sum is the checksum of a log, of bytes that follow those with a sum.
func sum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

func unlessShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
