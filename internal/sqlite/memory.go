package sqlite

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// wordSize is the size of a pointer in the library's memory.
const wordSize = int(unsafe.Sizeof(uintptr(0)))

// at returns the place p of the library's memory, which is none of Go's heap.
func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// view returns n bytes of the library's memory without copying them.
func view(p uintptr, n int) []byte {
	if p == 0 || n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(at(p)), n)
}

// words returns n words of the library's memory.
func words(p uintptr, n int) []uintptr { return unsafe.Slice((*uintptr)(at(p)), n) }

// bytesOf returns the bytes of s, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// functionPointer makes a C function pointer of a declared function. Closures
// have none.
func functionPointer[F any](f F) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f}))
}

// function is the reverse of functionPointer.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// freePointer is the library's own way to free what duplicate returned.
func freePointer() uintptr { return functionPointer(lib.Xsqlite3_free) }

// duplicate copies b into the library's memory; never 0 but where there is no
// memory left.
func (c *Conn) duplicate(b []byte) uintptr {
	p := lib.Xsqlite3_malloc64(c.tls, uint64(max(len(b), 1)))
	if p != 0 {
		copy(view(p, len(b)), b)
	}
	return p
}

// withPointer calls f with room for one pointer and stores it in out.
func (c *Conn) withPointer(f func(p uintptr) int32, out *uintptr) int32 {
	p := c.tls.Alloc(wordSize)
	defer c.tls.Free(wordSize)
	words(p, 1)[0] = 0
	rc := f(p)
	*out = words(p, 1)[0]
	return rc
}
