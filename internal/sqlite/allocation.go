package sqlite

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite holds values, sorted rows, pages and programs in memory that no limit of
// its own bounds for one connection. So the memory that it takes is counted for
// the connection that asks for it, and refused past the bound that its user sets.
// What the driver of the same library takes has no owner and no bound.

// ErrMemoryFull is the error of a statement that would hold more memory than it
// may.
var ErrMemoryFull = errors.New("sqlite: the memory is full")

// allocation is what a connection holds of the library's memory. Any goroutine
// may free a block; the rest belongs to the connection's own.
type allocation struct {
	id    uint32
	held  atomic.Int64
	limit int64 // 0 without one
	full  bool  // something was refused since the call under way began
}

// reserve counts n more bytes, and reports false where there are no more.
func (a *allocation) reserve(n int64) bool {
	if a == nil {
		return true
	}
	if held := a.held.Add(n); n > 0 && a.limit > 0 && held > a.limit {
		a.held.Add(-n)
		a.full = true
		return false
	}
	return true
}

// release is the reverse of reserve.
func (a *allocation) release(n int64) {
	if a != nil {
		a.held.Add(-n)
	}
}

// owners finds who holds a block by the number in it.
type owners struct {
	all     atomic.Pointer[[]*allocation] // by id
	mu      sync.Mutex
	retired []*allocation // their connections are closed
}

// memoryOwners is one for the process, as the library's memory is.
var memoryOwners owners

// add returns the allocation of a new connection: that of a closed one, of which
// no block is left, or another.
func (o *owners) add() *allocation {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, a := range o.retired {
		if a.held.Load() == 0 {
			o.retired[i] = o.retired[len(o.retired)-1]
			o.retired = o.retired[:len(o.retired)-1]
			a.limit, a.full = 0, false
			return a
		}
	}
	all := []*allocation{nil} // what has no owner
	if p := o.all.Load(); p != nil {
		all = *p
	}
	a := &allocation{id: uint32(len(all))}
	all = append(all, a)
	o.all.Store(&all)
	return a
}

// retire takes the allocation of a connection that was closed. Others may still
// hold some of its blocks: what connections to the same file share.
func (o *owners) retire(a *allocation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retired = append(o.retired, a)
}

func (o *owners) of(b *block) *allocation {
	if b.owner == 0 {
		return nil
	}
	return (*o.all.Load())[b.owner]
}

// block is what stands before each block of memory. It has the size of what the
// library's own allocator puts there.
type block struct {
	size  int32
	owner uint32
}

const blockSize = unsafe.Sizeof(block{})

func blockAt(p uintptr) *block { return (*block)(at(p - blockSize)) }

// errMemory says why memory cannot be counted. The library takes an allocator
// only before its first use, by whomever.
var errMemory = countMemory()

func countMemory() error {
	tls := libc.NewTLS()
	defer tls.Close()
	var heap lib.Tsqlite3_mem_methods
	if !configure(tls, lib.SQLITE_CONFIG_GETMALLOC, &heap) {
		return errors.New("sqlite: the allocator is not known")
	}
	heap.FxMalloc = functionPointer(onMalloc)
	heap.FxFree = functionPointer(onFree)
	heap.FxRealloc = functionPointer(onRealloc)
	heap.FxSize = functionPointer(onSize)
	if !configure(tls, lib.SQLITE_CONFIG_MALLOC, &heap) {
		return errors.New("sqlite: the allocator was refused")
	}
	// What it counts of the whole process nobody asks for, and takes a lock at each block.
	const slot = 8 // the stride of libc's argument lists
	args := tls.Alloc(slot)
	defer tls.Free(slot)
	if lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MEMSTATUS, libc.VaList(args, int32(0))) != lib.SQLITE_OK {
		return errors.New("sqlite: the library's own count of memory stays on")
	}
	return separateCaches(tls)
}

// configure gets or sets one of the library's tables of methods.
func configure[T any](tls *libc.TLS, option int32, table *T) bool {
	const slot = 8 // the stride of libc's argument lists
	size := slot + int(unsafe.Sizeof(*table))
	args := tls.Alloc(size)
	defer tls.Free(size)
	inside := (*T)(at(args + slot))
	*inside = *table
	rc := lib.Xsqlite3_config(tls, option, libc.VaList(args, args+slot))
	*table = *inside
	return rc == lib.SQLITE_OK
}

func onMalloc(tls *libc.TLS, n int32) uintptr {
	a := allocationOf(tls)
	if !a.reserve(int64(n)) {
		return 0
	}
	p := libc.Xmalloc(tls, libc.Tsize_t(n)+libc.Tsize_t(blockSize))
	if p == 0 {
		a.release(int64(n))
		return 0
	}
	return own(p, n, a)
}

// onRealloc makes a block that of who asks, whoever held it before.
func onRealloc(tls *libc.TLS, old uintptr, n int32) uintptr {
	a := allocationOf(tls)
	before, size := memoryOwners.of(blockAt(old)), blockAt(old).size
	more := int64(n)
	if a == before {
		more -= int64(size)
	}
	if !a.reserve(more) {
		return 0
	}
	p := libc.Xrealloc(tls, old-blockSize, libc.Tsize_t(n)+libc.Tsize_t(blockSize))
	if p == 0 {
		a.release(more)
		return 0
	}
	if a != before {
		before.release(int64(size))
	}
	return own(p, n, a)
}

func own(p uintptr, n int32, a *allocation) uintptr {
	b := (*block)(at(p))
	b.size, b.owner = n, 0
	if a != nil {
		b.owner = a.id
	}
	return p + blockSize
}

func onFree(tls *libc.TLS, p uintptr) {
	b := blockAt(p)
	memoryOwners.of(b).release(int64(b.size))
	libc.Xfree(tls, p-blockSize)
}

func onSize(_ *libc.TLS, p uintptr) int32 {
	if p == 0 {
		return 0
	}
	return blockAt(p).size
}

func allocationOf(tls *libc.TLS) *allocation {
	if c := findTLS(tls); c != nil {
		return c.allocation
	}
	return nil
}

// LimitMemory bounds what the library may hold for the connection beyond what it
// holds now; 0 takes the bound away. A statement that would hold more fails with
// ErrMemoryFull.
func (c *Conn) LimitMemory(more int64) {
	c.allocation.limit, c.allocation.full = 0, false
	if more > 0 {
		c.allocation.limit = c.allocation.held.Load() + more
	}
}

// Memory returns how many bytes the library holds for the connection.
func (c *Conn) Memory() int64 { return c.allocation.held.Load() }

// noMemory returns the error of a call that got none.
func (c *Conn) noMemory() error {
	if c.allocation.full {
		return ErrMemoryFull
	}
	return errNoMemory
}
