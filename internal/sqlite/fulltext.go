package sqlite

import (
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Full-text search is a module of the library, FTS5, whose tables are used like others. Much of what
// it does for a statement happens within one of the library's instructions, so the module and its
// auxiliary functions are entered through guards, as scalar functions are: they look at the context
// and at the sizes that decide how long a call may take, and count what it looks at.

// FullText bounds full-text search on a connection.
type FullText struct {
	MaxQuery int // bytes of what MATCH looks for
	MaxRow   int // bytes of a row of a full-text table
}

// The messages with which a statement fails that passes a bound of full-text search.
const (
	FullTextQueryTooLong = "full-text query too long"
	FullTextRowTooLarge  = "full-text row too large"
	FullTextTooMany      = "full-text function looks at too much"
)

const fullTextModule = "fts5"

const (
	// maxPhraseWork bounds the tokens of a row times the square of the phrases that a query has:
	// so long it may take to find where each of them stands.
	maxPhraseWork = 100_000_000
	// maxSnippetPlaces bounds the places in a row among which snippet chooses: it compares each with
	// all others.
	maxSnippetPlaces = 5_000
	// maxCopied bounds the bytes that highlight and snippet copy: for each place they mark, they copy
	// all that they have written so far.
	maxCopied = 1_000_000_000
	// snippetTokens is how many tokens a snippet has at most.
	snippetTokens = 64
	// copiedBytes is how many bytes are copied in the time in which one is looked at.
	copiedBytes = 16
)

// unguardedFullText is the module's own code. It is filled once, before the first connection is
// opened, and only read then.
var unguardedFullText struct {
	filter, update uintptr
	auxiliary      []auxiliary
}

type auxiliary struct {
	name string
	code uintptr
}

// guardFullText puts the guards before the module's methods, once.
var guardFullText = sync.OnceValue(func() error {
	c, err := open(":memory:", Config{Create: true})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it holds nothing
	m := c.module(fullTextModule)
	if m == nil {
		return nil
	}
	methods := (*lib.Tsqlite3_module)(at(m.FpModule))
	unguardedFullText.filter, unguardedFullText.update = methods.FxFilter, methods.FxUpdate
	for p := (*lib.TFts5Global)(at(m.FpAux)).FpAux; p != 0; p = (*lib.TFts5Auxiliary)(at(p)).FpNext {
		a := (*lib.TFts5Auxiliary)(at(p))
		unguardedFullText.auxiliary = append(unguardedFullText.auxiliary, auxiliary{libc.GoString(a.FzFunc), a.FxFunc})
	}
	methods.FxFilter, methods.FxUpdate = functionPointer(onFullTextFilter), functionPointer(onFullTextUpdate)
	return nil
})

// module finds one of the connection's modules.
func (c *Conn) module(name string) *lib.TModule {
	for p := (*lib.Tsqlite3)(at(c.db)).FaModule.Ffirst; p != 0; p = (*lib.THashElem)(at(p)).Fnext {
		m := (*lib.TModule)(at((*lib.THashElem)(at(p)).Fdata))
		if libc.GoString(m.FzName) == name {
			return m
		}
	}
	return nil
}

// guardAuxiliary puts the guard before the connection's auxiliary functions. Their user data, which
// they have no use for, says which one is called.
func (c *Conn) guardAuxiliary() {
	m := c.module(fullTextModule)
	if m == nil {
		return
	}
	for p := (*lib.TFts5Global)(at(m.FpAux)).FpAux; p != 0; p = (*lib.TFts5Auxiliary)(at(p)).FpNext {
		a := (*lib.TFts5Auxiliary)(at(p))
		for i, known := range unguardedFullText.auxiliary {
			if known.name == libc.GoString(a.FzFunc) {
				a.FpUserData, a.FxFunc = uintptr(i), functionPointer(onAuxiliary)
			}
		}
	}
}

// onFullTextFilter begins a search.
func onFullTextFilter(tls *libc.TLS, cursor uintptr, plan int32, text uintptr, n int32, args uintptr) int32 {
	if c := findTLS(tls); c != nil && c.config.FullText != nil {
		if c.ended() {
			return lib.SQLITE_INTERRUPT
		}
		if n > 0 {
			for _, p := range words(args, int(n)) {
				size := sizeOf(p)
				if size > int64(c.config.FullText.MaxQuery) {
					return c.failTable((*lib.Tsqlite3_vtab_cursor)(at(cursor)).FpVtab, FullTextQueryTooLong)
				}
				c.searched = max(c.searched, 1+size/bytesOfTerm)
			}
		}
	}
	return function[func(*libc.TLS, uintptr, int32, uintptr, int32, uintptr) int32](unguardedFullText.filter)(tls, cursor, plan, text, n, args)
}

// bytesOfTerm is about how long a term of a query is.
const bytesOfTerm = 4

// onFullTextUpdate changes a row.
func onFullTextUpdate(tls *libc.TLS, table uintptr, n int32, args, rowid uintptr) int32 {
	if c := findTLS(tls); c != nil && c.config.FullText != nil {
		total := int64(0)
		for _, p := range words(args, int(n)) {
			total += sizeOf(p)
		}
		if total > int64(c.config.FullText.MaxRow) {
			return c.failTable(table, FullTextRowTooLarge)
		}
		c.searched = max(c.searched, 1)
		c.work.Calls++
		c.work.Looked += hardness * total
		if c.ended() || c.ctx != nil && c.work.Looked >= reportAfter && !c.report() {
			return lib.SQLITE_INTERRUPT
		}
	}
	return function[func(*libc.TLS, uintptr, int32, uintptr, uintptr) int32](unguardedFullText.update)(tls, table, n, args, rowid)
}

// failTable ends a call of a virtual table with a message.
func (c *Conn) failTable(table uintptr, message string) int32 {
	t := (*lib.Tsqlite3_vtab)(at(table))
	lib.Xsqlite3_free(c.tls, t.FzErrMsg)
	t.FzErrMsg = c.duplicate([]byte(message + "\x00"))
	return lib.SQLITE_ERROR
}

// onAuxiliary enters an auxiliary function, such as bm25, unless the row and the query are such that it
// would take too long.
func onAuxiliary(tls *libc.TLS, api, row, ctx uintptr, n int32, args uintptr) {
	methods := (*lib.TFts5ExtensionApi)(at(api))
	which := function[func(*libc.TLS, uintptr) uintptr](methods.FxUserData)(tls, row)
	called := unguardedFullText.auxiliary[which]
	if c := findTLS(tls); c != nil && c.config.FullText != nil {
		if fault := c.admitAuxiliary(methods, row, called.name, words(args, int(n))); fault != "" {
			(&Call{conn: c, ctx: ctx}).Fail(fault)
			return
		}
		if c.ended() || c.ctx != nil && c.work.Looked >= reportAfter && !c.report() {
			lib.Xsqlite3_result_error_code(tls, ctx, lib.SQLITE_INTERRUPT)
			return
		}
	}
	function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr)](called.code)(tls, api, row, ctx, n, args)
}

// admitAuxiliary counts what a call will look at, and returns a message where that is too much.
func (c *Conn) admitAuxiliary(methods *lib.TFts5ExtensionApi, row uintptr, name string, args []uintptr) string {
	const slot = 8
	out := c.tls.Alloc(2 * slot)
	defer c.tls.Free(2 * slot)
	number := (*int32)(at(out))
	ask := func(get func()) int64 {
		*number = 0
		get() // what is wrong comes again when the function asks
		return int64(*number)
	}
	phrases := int64(function[func(*libc.TLS, uintptr) int32](methods.FxPhraseCount)(c.tls, row))
	const allColumns = -1
	tokens := ask(func() {
		function[func(*libc.TLS, uintptr, int32, uintptr) int32](methods.FxColumnSize)(c.tls, row, allColumns, out)
	})
	work := tokens * phrases * phrases
	if work > maxPhraseWork {
		return FullTextTooMany
	}
	if name == "highlight" || name == "snippet" {
		marks := int64(0)
		for _, p := range args {
			marks += sizeOf(p)
		}
		places := ask(func() {
			function[func(*libc.TLS, uintptr, uintptr) int32](methods.FxInstCount)(c.tls, row, out)
		})
		written := snippetTokens * (marks + bytesOfTerm)
		copies := min(places, snippetTokens)
		if name == "highlight" {
			size := int64(0)
			if len(args) > 0 {
				column := lib.Xsqlite3_value_int(c.tls, args[0])
				size = ask(func() {
					function[func(*libc.TLS, uintptr, int32, uintptr, uintptr) int32](methods.FxColumnText)(c.tls, row, column, out+slot, out)
				})
			}
			written, copies = size+places*marks, places
		} else {
			if places > maxSnippetPlaces {
				return FullTextTooMany
			}
			work += 2 * places * places
		}
		if copies*written > maxCopied || written > int64(c.config.FullText.MaxRow)*snippetTokens {
			return FullTextTooMany
		}
		work += copies * written / copiedBytes
	}
	c.work.Calls++
	c.work.Looked += work + hardness*int64(len(name))
	return ""
}
