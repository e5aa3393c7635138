package sqlite

import (
	"encoding/binary"
	"errors"

	lib "modernc.org/sqlite/lib"
)

// WALVersion is the version of a database by its write-ahead log. As long as it is
// the same, nobody has committed anything, in this process or another: by the same bytes
// SQLite itself tells whether what it has cached is still so.
type WALVersion [48]byte

var errNoIndex = errors.New("sqlite: there is no index of a write-ahead log")

// commits counts them, until the number starts anew.
func (v *WALVersion) commits() uint32 { return binary.NativeEndian.Uint32(v[8:]) }

// Follows reports whether exactly one commit lies between an earlier version and this
// one.
func (v *WALVersion) Follows(earlier *WALVersion) bool { return v.commits() == earlier.commits()+1 }

// WALVersions returns what reads the version of a database in WAL mode, which was read
// from before. It may be called by any goroutine until the connection is closed.
func (c *Conn) WALVersions() (func() WALVersion, error) {
	main := c.duplicate(bytesOf("main\x00"))
	if main == 0 {
		return nil, errNoMemory
	}
	defer lib.Xsqlite3_free(c.tls, main)
	var file uintptr
	rc := c.withPointer(func(out uintptr) int32 {
		return lib.Xsqlite3_file_control(c.tls, c.db, main, lib.SQLITE_FCNTL_FILE_POINTER, out)
	}, &file)
	if rc != lib.SQLITE_OK || file == 0 {
		return nil, c.failure(rc)
	}
	index, err := c.walIndex(file)
	if err != nil {
		return nil, err
	}
	return func() WALVersion { return *(*WALVersion)(at(index)) }, nil
}
