package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite appends what a transaction has changed to its log, flushes the log, and then writes the
// index by which others find it there. Where the flush fails the index stays as it was. So what
// stands in place of the flush decides whether there is a change, before anybody can have seen it.

// Change is what a transaction has changed of a database: whole pages.
type Change struct {
	PageSize int
	Size     uint32 // how many pages the database has after it
	pages    []changedPage
	read     func(into []byte, at int64) error
}

type changedPage struct {
	number uint32
	at     int64 // where its content begins in the log
}

// Pages is how many it has changed.
func (ch *Change) Pages() int { return len(ch.pages) }

// Each calls f with each of them, by number. The content is as it is until f returns.
func (ch *Change) Each(f func(number uint32, content []byte) error) error {
	content := make([]byte, ch.PageSize)
	for _, p := range ch.pages {
		if err := ch.read(content, p.at); err != nil {
			return err
		}
		if err := f(p.number, content); err != nil {
			return err
		}
	}
	return nil
}

func onSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	c := findTLS(tls)
	f := c.counted[file]
	if f.wal && c.config.Commit != nil {
		return c.commit(tls, file, f)
	}
	return function[func(*libc.TLS, uintptr, int32) int32](f.ordinary.FxSync)(tls, file, flags)
}

// commit has what was appended to the log made last.
func (c *Conn) commit(tls *libc.TLS, file uintptr, f *countedFile) int32 {
	change, err := c.appended(tls, file, f)
	// A checkpoint flushes the log too. What it finds there beyond what is seen was undone.
	f.written = 0
	if err == nil && change != nil {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		err = c.config.Commit(ctx, change)
	}
	if err != nil {
		c.refused = err
		return lib.SQLITE_IOERR_FSYNC
	}
	return lib.SQLITE_OK
}

// indexLastFrame is where the log's index has the number of the last frame that is seen.
// https://sqlite.org/walformat.html#the_wal_index_header
const indexLastFrame = 16

// appended is the change that this connection has written to the log, after what is seen of it; nil
// where there is none: a log is flushed as well when it begins anew, and before a checkpoint.
func (c *Conn) appended(tls *libc.TLS, file uintptr, f *countedFile) (*Change, error) {
	index, err := c.walIndex(f.main)
	if err != nil {
		return nil, err
	}
	version := *(*WALVersion)(at(index))
	ch := &Change{read: func(into []byte, offset int64) error {
		buffer := tls.Alloc(len(into))
		defer tls.Free(len(into))
		read := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.ordinary.FxRead)
		if rc := read(tls, file, buffer, int32(len(into)), offset); rc != lib.SQLITE_OK {
			return fmt.Errorf("sqlite: the log cannot be read: %w", &Error{Code: int(rc), Message: libc.GoString(lib.Xsqlite3_errstr(tls, rc))})
		}
		copy(into, libc.GoBytes(buffer, len(into)))
		return nil
	}}
	var log [walHeader]byte
	if err := ch.read(log[:], 0); err != nil {
		return nil, err
	}
	ch.PageSize = int(binary.BigEndian.Uint32(log[8:]))
	frame := int64(frameHeader + ch.PageSize)
	seen := int64(binary.NativeEndian.Uint32(version[indexLastFrame:]))
	// The last write was one of the last frame, whole or its header.
	frames := (f.written - walHeader + frame - 1) / frame
	if frames <= seen {
		return nil, nil
	}
	last := make(map[uint32]int64, frames-seen)
	var header [frameHeader]byte
	for i := seen; i < frames; i++ {
		offset := walHeader + i*frame
		if err := ch.read(header[:], offset); err != nil {
			return nil, err
		}
		last[binary.BigEndian.Uint32(header[:])] = offset + frameHeader
		ch.Size = binary.BigEndian.Uint32(header[4:])
	}
	if ch.Size == 0 {
		return nil, nil // one that was undone before its end, and a checkpoint
	}
	for number, at := range last {
		if number <= ch.Size { // what a change cuts off is none of the database any more
			ch.pages = append(ch.pages, changedPage{number, at})
		}
	}
	slices.SortFunc(ch.pages, func(a, b changedPage) int { return cmp.Compare(a.number, b.number) })
	return ch, nil
}

// walIndex is where the index of the log of a database file begins in memory.
func (c *Conn) walIndex(file uintptr) (index uintptr, err error) {
	methods := methodsAt(fileAt(file).FpMethods)
	const region = 32 << 10 // the first part of the index, as SQLite maps it
	rc := c.withPointer(func(out uintptr) int32 {
		shm := function[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](methods.FxShmMap)
		return shm(c.tls, file, 0, region, 0, out)
	}, &index)
	switch {
	case rc != lib.SQLITE_OK:
		return 0, c.failure(rc)
	case index == 0:
		return 0, errNoIndex
	}
	return index, nil
}
