package sqlite

import (
	"errors"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite sorts, groups and recurses in temporary files, and notes changes in a
// write-ahead log, which no limit of its own bounds. So connections are opened
// through a virtual file system (VFS) that is the ordinary one but for the writing of
// these: what they hold is counted, and too much is refused as if the disk were
// full.

// vfsName is its name inside the library.
const vfsName = "ql-temporary"

// sharedVFS registers the counting VFS, once for all connections.
var sharedVFS = sync.OnceValues(func() (*countingVFS, error) {
	tls := libc.NewTLS()
	defer tls.Close()
	lib.Xsqlite3_initialize(tls)
	ordinary := lib.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString(vfsName)
	if err != nil {
		return nil, err
	}
	own := lib.Xsqlite3_malloc64(tls, uint64(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	if ordinary == 0 || own == 0 {
		return nil, errors.New("sqlite: there is no file system")
	}
	*vfsAt(own) = *vfsAt(ordinary)
	vfsAt(own).FpNext = 0
	vfsAt(own).FzName = name
	vfsAt(own).FxOpen = functionPointer(onOpen)
	if lib.Xsqlite3_vfs_register(tls, own, 0) != lib.SQLITE_OK {
		return nil, errors.New("sqlite: the VFS was refused")
	}
	return &countingVFS{name: name, ordinary: ordinary, methods: map[uintptr]uintptr{}}, nil
})

// countingVFS is the VFS that counts, and the ordinary one below it.
type countingVFS struct {
	name, ordinary uintptr

	mu sync.Mutex
	// methods finds the counting methods of files by their ordinary ones.
	methods map[uintptr]uintptr
}

func vfsAt(p uintptr) *lib.Tsqlite3_vfs            { return (*lib.Tsqlite3_vfs)(at(p)) }
func methodsAt(p uintptr) *lib.Tsqlite3_io_methods { return (*lib.Tsqlite3_io_methods)(at(p)) }
func fileAt(p uintptr) *lib.Tsqlite3_file          { return (*lib.Tsqlite3_file)(at(p)) }

// counting returns methods that count writes and are otherwise those given.
func (v *countingVFS) counting(tls *libc.TLS, ordinary uintptr) uintptr {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := v.methods[ordinary]; p != 0 {
		return p
	}
	p := lib.Xsqlite3_malloc64(tls, uint64(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	if p == 0 {
		return 0
	}
	*methodsAt(p) = *methodsAt(ordinary)
	methodsAt(p).FxWrite = functionPointer(onWrite)
	methodsAt(p).FxTruncate = functionPointer(onTruncate)
	methodsAt(p).FxSync = functionPointer(onSync)
	methodsAt(p).FxClose = functionPointer(onClose)
	v.methods[ordinary] = p
	return p
}

// countedFile is an open temporary file of a connection, or its log.
type countedFile struct {
	ordinary *lib.Tsqlite3_io_methods
	wal      bool
	size     int64
	main     uintptr // of a log: the file of its database
	written  int64   // where the last write ended
}

func onOpen(tls *libc.TLS, _, name, file uintptr, flags int32, outFlags uintptr) int32 {
	c := findTLS(tls)
	if c == nil {
		return lib.SQLITE_CANTOPEN
	}
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](vfsAt(c.vfs.ordinary).FxOpen)
	rc := open(tls, c.vfs.ordinary, name, file, flags, outFlags)
	wal := flags&lib.SQLITE_OPEN_WAL != 0 && (c.config.GrowWAL != nil || c.config.Commit != nil)
	if rc != lib.SQLITE_OK || flags&lib.SQLITE_OPEN_DELETEONCLOSE == 0 && !wal {
		return rc
	}
	ordinary := fileAt(file).FpMethods
	f := &countedFile{ordinary: methodsAt(ordinary), wal: wal}
	if wal {
		// It may be there already, and is counted then.
		size := c.withSize(func(out uintptr) int32 {
			return function[func(*libc.TLS, uintptr, uintptr) int32](f.ordinary.FxFileSize)(tls, file, out)
		})
		f.size, f.main = size, lib.Xsqlite3_database_file_object(tls, name)
	}
	if methods := c.vfs.counting(tls, ordinary); methods != 0 {
		c.counted[file] = f
		fileAt(file).FpMethods = methods
	}
	return rc
}

// withSize returns the size that f writes, 0 where it fails.
func (c *Conn) withSize(f func(out uintptr) int32) int64 {
	out := c.tls.Alloc(8)
	defer c.tls.Free(8)
	size := (*int64)(at(out))
	*size = 0
	if f(out) != lib.SQLITE_OK {
		return 0
	}
	return *size
}

// grow counts what a file grows by, which may be negative, and reports whether it
// may.
func (c *Conn) grow(f *countedFile, bytes int64) bool {
	more := c.config.GrowTemporary
	if f.wal {
		more = c.config.GrowWAL
	}
	switch {
	case !f.wal && bytes > 0 && c.temporarySize+bytes > c.config.Temporary, more != nil && !more(bytes) && bytes > 0:
		c.walFull, c.temporaryFull = c.walFull || f.wal, c.temporaryFull || !f.wal
		return false
	case !f.wal:
		c.temporarySize += bytes
	}
	f.size += bytes
	return true
}

func onWrite(tls *libc.TLS, file, content uintptr, n int32, offset int64) int32 {
	c := findTLS(tls)
	f := c.counted[file]
	if grown := offset + int64(n) - f.size; grown > 0 && !c.grow(f, grown) {
		return lib.SQLITE_FULL
	}
	f.written = offset + int64(n)
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.ordinary.FxWrite)(tls, file, content, n, offset)
}

func onTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	c := findTLS(tls)
	f := c.counted[file]
	rc := function[func(*libc.TLS, uintptr, int64) int32](f.ordinary.FxTruncate)(tls, file, size)
	if rc == lib.SQLITE_OK && size < f.size {
		c.grow(f, size-f.size)
	}
	return rc
}

func onClose(tls *libc.TLS, file uintptr) int32 {
	c := findTLS(tls)
	f := c.counted[file]
	delete(c.counted, file)
	if !f.wal { // that stays
		c.grow(f, -f.size)
	}
	return function[func(*libc.TLS, uintptr) int32](f.ordinary.FxClose)(tls, file)
}
