package sqlite

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// The library is built so that all connections share one pool of pages: one that
// reads much takes those of another, which then has to allocate more. What a
// connection holds could not be told that way, and one account would empty the
// cache of another. So each cache gets a pool of its own, which is how SQLite works
// where it is built without SQLITE_ENABLE_MEMORY_MANAGEMENT.

// pageCaches are the library's own methods. They are set once, before the library
// is used.
var pageCaches lib.Tsqlite3_pcache_methods2

func separateCaches(tls *libc.TLS) error {
	if !configure(tls, lib.SQLITE_CONFIG_GETPCACHE2, &pageCaches) {
		return errors.New("sqlite: the page cache is not known")
	}
	methods := pageCaches
	methods.FxCreate = functionPointer(onCreateCache)
	methods.FxDestroy = functionPointer(onDestroyCache)
	if !configure(tls, lib.SQLITE_CONFIG_PCACHE2, &methods) {
		return errors.New("sqlite: the page cache was refused")
	}
	return nil
}

func cacheAt(p uintptr) *lib.TPCache1 { return (*lib.TPCache1)(at(p)) }
func poolAt(p uintptr) *lib.TPGroup   { return (*lib.TPGroup)(at(p)) }

// spare is how many more pages than it must have a pool keeps for those in use; the
// number is the library's.
const spare = 10

func onCreateCache(tls *libc.TLS, page, extra, purgeable int32) uintptr {
	cache := function[func(*libc.TLS, int32, int32, int32) uintptr](pageCaches.FxCreate)(tls, page, extra, purgeable)
	if cache == 0 {
		return 0
	}
	own := lib.Xsqlite3_malloc64(tls, uint64(unsafe.Sizeof(lib.TPGroup{})))
	if own == 0 {
		function[func(*libc.TLS, uintptr)](pageCaches.FxDestroy)(tls, cache)
		return 0
	}
	// There are no pages in it yet, so that nothing but the numbers has to move.
	least := cacheAt(cache).FnMin
	common := poolAt(cacheAt(cache).FpGroup)
	lib.Xsqlite3_mutex_enter(tls, common.Fmutex)
	common.FnMinPage -= least
	common.FmxPinned = common.FnMaxPage + spare - common.FnMinPage
	lib.Xsqlite3_mutex_leave(tls, common.Fmutex)

	pool := poolAt(own)
	*pool = lib.TPGroup{FnMinPage: least, FmxPinned: spare - least} // and no mutex
	pool.Flru.FisAnchor = 1
	pool.Flru.FpLruNext = own + unsafe.Offsetof(pool.Flru)
	pool.Flru.FpLruPrev = pool.Flru.FpLruNext
	cacheAt(cache).FpGroup = own
	if purgeable != 0 {
		cacheAt(cache).FpnPurgeable = own + unsafe.Offsetof(pool.FnPurgeable)
	}
	return cache
}

func onDestroyCache(tls *libc.TLS, cache uintptr) {
	pool := cacheAt(cache).FpGroup
	function[func(*libc.TLS, uintptr)](pageCaches.FxDestroy)(tls, cache)
	lib.Xsqlite3_free(tls, pool)
}
