package sqlite

import (
	"errors"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite sorts, groups and recurses in temporary files, which no limit of its
// own bounds. So connections are opened through a file system layer that is
// the ordinary one but for the writing of temporary files: what those of one
// connection hold together is counted, and too much is refused as if the disk
// were full.

// layerName is the layer's name inside the library.
const layerName = "ql-temporary"

// commonLayer makes the layer, once for all connections.
var commonLayer = sync.OnceValues(func() (*fileLayer, error) {
	tls := libc.NewTLS()
	defer tls.Close()
	lib.Xsqlite3_initialize(tls)
	ordinary := lib.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString(layerName)
	if err != nil {
		return nil, err
	}
	own := lib.Xsqlite3_malloc64(tls, uint64(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	if ordinary == 0 || own == 0 {
		return nil, errors.New("sqlite: there is no file system layer")
	}
	*vfsAt(own) = *vfsAt(ordinary)
	vfsAt(own).FpNext = 0
	vfsAt(own).FzName = name
	vfsAt(own).FxOpen = functionPointer(onOpen)
	if lib.Xsqlite3_vfs_register(tls, own, 0) != lib.SQLITE_OK {
		return nil, errors.New("sqlite: the file system layer was refused")
	}
	return &fileLayer{name: name, ordinary: ordinary, methods: map[uintptr]uintptr{}}, nil
})

// fileLayer is the layer, and the ordinary one below it.
type fileLayer struct {
	name, ordinary uintptr

	mu sync.Mutex
	// methods finds the counting methods of files by their ordinary ones.
	methods map[uintptr]uintptr
}

func vfsAt(p uintptr) *lib.Tsqlite3_vfs            { return (*lib.Tsqlite3_vfs)(at(p)) }
func methodsAt(p uintptr) *lib.Tsqlite3_io_methods { return (*lib.Tsqlite3_io_methods)(at(p)) }
func fileAt(p uintptr) *lib.Tsqlite3_file          { return (*lib.Tsqlite3_file)(at(p)) }

// counting returns methods that count writes and are otherwise those given.
func (l *fileLayer) counting(tls *libc.TLS, ordinary uintptr) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.methods[ordinary]; p != 0 {
		return p
	}
	p := lib.Xsqlite3_malloc64(tls, uint64(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	if p == 0 {
		return 0
	}
	*methodsAt(p) = *methodsAt(ordinary)
	methodsAt(p).FxWrite = functionPointer(onWrite)
	methodsAt(p).FxTruncate = functionPointer(onTruncate)
	methodsAt(p).FxClose = functionPointer(onClose)
	l.methods[ordinary] = p
	return p
}

// temporaryFile is an open temporary file of a connection.
type temporaryFile struct {
	ordinary *lib.Tsqlite3_io_methods
	size     int64
}

func onOpen(tls *libc.TLS, _, name, file uintptr, flags int32, outFlags uintptr) int32 {
	c := find(tls)
	if c == nil {
		return lib.SQLITE_CANTOPEN
	}
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](vfsAt(c.layer.ordinary).FxOpen)
	rc := open(tls, c.layer.ordinary, name, file, flags, outFlags)
	if rc != lib.SQLITE_OK || flags&lib.SQLITE_OPEN_DELETEONCLOSE == 0 {
		return rc
	}
	ordinary := fileAt(file).FpMethods
	if methods := c.layer.counting(tls, ordinary); methods != 0 {
		c.temporary[file] = &temporaryFile{ordinary: methodsAt(ordinary)}
		fileAt(file).FpMethods = methods
	}
	return rc
}

func onWrite(tls *libc.TLS, file, content uintptr, n int32, offset int64) int32 {
	c := find(tls)
	f := c.temporary[file]
	if grown := offset + int64(n) - f.size; grown > 0 {
		if c.temporarySize+grown > c.config.Temporary {
			c.temporaryFull = true
			return lib.SQLITE_FULL
		}
		c.temporarySize += grown
		f.size += grown
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.ordinary.FxWrite)(tls, file, content, n, offset)
}

func onTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	c := find(tls)
	f := c.temporary[file]
	rc := function[func(*libc.TLS, uintptr, int64) int32](f.ordinary.FxTruncate)(tls, file, size)
	if rc == lib.SQLITE_OK && size < f.size {
		c.temporarySize -= f.size - size
		f.size = size
	}
	return rc
}

func onClose(tls *libc.TLS, file uintptr) int32 {
	c := find(tls)
	f := c.temporary[file]
	delete(c.temporary, file)
	c.temporarySize -= f.size
	return function[func(*libc.TLS, uintptr) int32](f.ordinary.FxClose)(tls, file)
}
