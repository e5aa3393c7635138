package sqlite

import (
	"context"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Stmt is a prepared statement.
type Stmt struct {
	conn    *Conn
	p       uintptr
	fresh   bool  // it has made no step of its run yet
	counted int64 // instructions that were noted as work

	room                uintptr // for parameters, see MakeRoom; 0 for none
	roomBytes, roomUsed int
}

// Prepare compiles the first statement of sql and returns what follows it.
// Text without a statement gives nil.
func (c *Conn) Prepare(ctx context.Context, sql string) (s *Stmt, rest string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	c.begin(ctx)
	defer c.end()

	text := c.duplicate(bytesOf(sql + "\x00"))
	if text == 0 {
		return nil, "", c.noMemory()
	}
	defer lib.Xsqlite3_free(c.tls, text)
	var p, tail uintptr
	rc := c.withPointer(func(outTail uintptr) int32 {
		return c.withPointer(func(out uintptr) int32 {
			return lib.Xsqlite3_prepare_v3(c.tls, c.db, text, int32(len(sql)+1), lib.SQLITE_PREPARE_PERSISTENT, out, outTail)
		}, &p)
	}, &tail)
	if rc != lib.SQLITE_OK {
		return nil, "", c.failure(rc)
	}
	rest = sql[tail-text:]
	if p == 0 {
		return nil, rest, nil
	}
	return &Stmt{conn: c, p: p, fresh: true}, rest, nil
}

// Close frees the statement.
func (s *Stmt) Close() {
	lib.Xsqlite3_finalize(s.conn.tls, s.p)
	s.freeRoom()
}

// Reset ends the statement's run and forgets its parameters.
func (s *Stmt) Reset() {
	s.fresh = true
	lib.Xsqlite3_reset(s.conn.tls, s.p)
	lib.Xsqlite3_clear_bindings(s.conn.tls, s.p)
	s.freeRoom()
}

// MakeRoom takes memory for the texts and blobs that are bound next, so many bytes at once: a block for each of
// many takes longer than to copy them. Reset gives it back, as the parameters no longer stand in it then.
func (s *Stmt) MakeRoom(bytes int) error {
	s.freeRoom()
	if bytes <= 0 {
		return nil
	}
	if s.room = lib.Xsqlite3_malloc64(s.conn.tls, uint64(bytes)); s.room == 0 {
		return s.conn.noMemory()
	}
	s.roomBytes = bytes
	return nil
}

func (s *Stmt) freeRoom() {
	if s.room != 0 {
		lib.Xsqlite3_free(s.conn.tls, s.room)
	}
	s.room, s.roomBytes, s.roomUsed = 0, 0, 0
}

// hold copies b to where a parameter can have it: into the room that was made, or else into a block of its own,
// that free says how to give back. The place is 0 where there is no memory left.
func (s *Stmt) hold(b []byte) (place, free uintptr) {
	if s.room == 0 || len(b) > s.roomBytes-s.roomUsed {
		return s.conn.duplicate(b), freePointer()
	}
	place = s.room + uintptr(s.roomUsed)
	copy(view(place, len(b)), b)
	s.roomUsed += len(b)
	return place, 0 // which is not to be freed by itself
}

// ReadOnly reports whether the statement leaves the database file as it is.
func (s *Stmt) ReadOnly() bool { return lib.Xsqlite3_stmt_readonly(s.conn.tls, s.p) != 0 }

// Reprepared returns how often the statement was prepared again since Prepare,
// because the tables had changed.
func (s *Stmt) Reprepared() int {
	return int(lib.Xsqlite3_stmt_status(s.conn.tls, s.p, lib.SQLITE_STMTSTATUS_REPREPARE, 0))
}

// Params returns the number of parameters.
func (s *Stmt) Params() int { return int(lib.Xsqlite3_bind_parameter_count(s.conn.tls, s.p)) }

// ParamName returns the name of parameter i, from 1, with its sign; "" for a
// plain question mark.
func (s *Stmt) ParamName(i int) string {
	return libc.GoString(lib.Xsqlite3_bind_parameter_name(s.conn.tls, s.p, int32(i)))
}

// BindNull sets parameter i, from 1, to null.
func (s *Stmt) BindNull(i int) error {
	return s.bound(lib.Xsqlite3_bind_null(s.conn.tls, s.p, int32(i)))
}

// BindInt sets parameter i, from 1, to an integer.
func (s *Stmt) BindInt(i int, v int64) error {
	return s.bound(lib.Xsqlite3_bind_int64(s.conn.tls, s.p, int32(i), v))
}

// BindFloat sets parameter i, from 1, to a real number.
func (s *Stmt) BindFloat(i int, v float64) error {
	return s.bound(lib.Xsqlite3_bind_double(s.conn.tls, s.p, int32(i), v))
}

// BindText sets parameter i, from 1, to a copy of a UTF-8 text.
func (s *Stmt) BindText(i int, v string) error {
	p, free := s.hold(bytesOf(v))
	if p == 0 {
		return s.conn.noMemory()
	}
	return s.bound(lib.Xsqlite3_bind_text64(s.conn.tls, s.p, int32(i), p, uint64(len(v)), free, lib.SQLITE_UTF8))
}

// BindBlob sets parameter i, from 1, to a copy of some bytes.
func (s *Stmt) BindBlob(i int, v []byte) error {
	p, free := s.hold(v)
	if p == 0 {
		return s.conn.noMemory()
	}
	return s.bound(lib.Xsqlite3_bind_blob64(s.conn.tls, s.p, int32(i), p, uint64(len(v)), free))
}

func (s *Stmt) bound(rc int32) error {
	if rc != lib.SQLITE_OK {
		return s.conn.failure(rc)
	}
	return nil
}

// Step goes to the next row and reports whether there is one. Where ctx ends
// first, its error is returned.
func (s *Stmt) Step(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	c := s.conn
	c.begin(ctx)
	defer c.end()
	if s.fresh {
		s.start()
	}
	c.running = s
	switch rc := lib.Xsqlite3_step(c.tls, s.p); rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, c.failure(rc)
	}
}

// Err returns ErrMemoryFull where there was no memory for what was read of the
// current row: a text or bytes that had to be written out came as nothing.
func (s *Stmt) Err() error {
	if s.conn.allocation.full {
		return ErrMemoryFull
	}
	return nil
}

// Columns returns the number of columns; 0 where the statement gives no rows.
func (s *Stmt) Columns() int { return int(lib.Xsqlite3_column_count(s.conn.tls, s.p)) }

// ColumnName returns the name of column i, from 0.
func (s *Stmt) ColumnName(i int) string {
	return strings.ToValidUTF8(libc.GoString(lib.Xsqlite3_column_name(s.conn.tls, s.p, int32(i))), "\uFFFD")
}

// ColumnOrigin returns the table and the column that column i comes from as it is; "" where it is
// computed.
func (s *Stmt) ColumnOrigin(i int) (table, column string) {
	table = libc.GoString(lib.Xsqlite3_column_table_name(s.conn.tls, s.p, int32(i)))
	column = libc.GoString(lib.Xsqlite3_column_origin_name(s.conn.tls, s.p, int32(i)))
	return strings.ToValidUTF8(table, "\uFFFD"), strings.ToValidUTF8(column, "\uFFFD")
}

// Kind returns what the current row holds in column i: one of the library's
// type numbers.
func (s *Stmt) Kind(i int) int { return int(lib.Xsqlite3_column_type(s.conn.tls, s.p, int32(i))) }

// Cell is what a row holds in a column: Kind says which of the others it is, text and bytes are in Bytes.
type Cell struct {
	Kind  int // one of the library's type numbers
	Int   int64
	Float float64
	Bytes []byte // valid until the next Step or Reset; a text need not be UTF-8
}

// Cell returns what the current row holds in column i. Most values are looked at where they are: the
// library's functions take a call for the kind and one or two for the value, and copy a text to put a zero
// behind it.
func (s *Stmt) Cell(i int) Cell {
	p := s.program()
	if p.FpResultRow != 0 && uint(i) < uint(p.FnResColumn) {
		m := (*lib.TMem)(at(p.FpResultRow + uintptr(i)*unsafe.Sizeof(lib.TMem{})))
		switch m.Fflags & (lib.MEM_AffMask | lib.MEM_Zero) {
		case lib.MEM_Int:
			return Cell{Kind: lib.SQLITE_INTEGER, Int: *(*int64)(unsafe.Pointer(&m.Fu))}
		case lib.MEM_Real:
			return Cell{Kind: lib.SQLITE_FLOAT, Float: m.Fu.Fr}
		case lib.MEM_Str:
			if m.Fenc == lib.SQLITE_UTF8 {
				return Cell{Kind: lib.SQLITE_TEXT, Bytes: view(m.Fz, int(m.Fn))}
			}
		case lib.MEM_Blob:
			return Cell{Kind: lib.SQLITE_BLOB, Bytes: view(m.Fz, int(m.Fn))}
		}
	}
	switch kind := s.Kind(i); kind {
	case lib.SQLITE_INTEGER:
		return Cell{Kind: kind, Int: s.Int(i)}
	case lib.SQLITE_FLOAT:
		return Cell{Kind: kind, Float: s.Float(i)}
	case lib.SQLITE_TEXT:
		return Cell{Kind: kind, Bytes: s.Text(i)}
	case lib.SQLITE_BLOB:
		return Cell{Kind: kind, Bytes: s.Blob(i)}
	default:
		return Cell{Kind: kind}
	}
}

// Int returns the integer in column i.
func (s *Stmt) Int(i int) int64 { return lib.Xsqlite3_column_int64(s.conn.tls, s.p, int32(i)) }

// Float returns the real number in column i.
func (s *Stmt) Float(i int) float64 { return lib.Xsqlite3_column_double(s.conn.tls, s.p, int32(i)) }

// Text returns the text in column i, valid until the next Step or Reset. It
// need not be UTF-8.
func (s *Stmt) Text(i int) []byte {
	p := lib.Xsqlite3_column_text(s.conn.tls, s.p, int32(i))
	return view(p, s.size(i))
}

// Blob returns the bytes in column i, valid until the next Step or Reset.
func (s *Stmt) Blob(i int) []byte {
	p := lib.Xsqlite3_column_blob(s.conn.tls, s.p, int32(i))
	return view(p, s.size(i))
}

func (s *Stmt) size(i int) int {
	return int(lib.Xsqlite3_column_bytes(s.conn.tls, s.p, int32(i)))
}
