package sqlite

import (
	"fmt"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Function is a function that SQL may call. It depends on nothing but its
// arguments and changes nothing, so that views, triggers, indexes and checks
// may use it. Exactly one of Scalar and Aggregate is set.
type Function struct {
	Name      string
	Args      int
	Scalar    func(*Call)
	Aggregate func() Aggregate
	// Volatile says that it does depend on more than its arguments, so that each call is made.
	Volatile bool
}

// Aggregate is one evaluation of an aggregate function. Inverse takes back the
// oldest Step, for windows; Value gives the result of the rows there are.
type Aggregate interface {
	Step(*Call)
	Inverse(*Call)
	Value(*Call)
}

func (c *Conn) addFunction(i int) error {
	f := c.config.Functions[i]
	name, err := libc.CString(f.Name)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	flags := int32(lib.SQLITE_UTF8 | lib.SQLITE_INNOCUOUS | lib.SQLITE_SUBTYPE | lib.SQLITE_RESULT_SUBTYPE)
	if !f.Volatile {
		flags |= lib.SQLITE_DETERMINISTIC
	}
	var rc int32
	if f.Aggregate != nil {
		rc = lib.Xsqlite3_create_window_function(c.tls, c.db, name, int32(f.Args), flags, uintptr(i),
			functionPointer(onStep), functionPointer(onFinal), functionPointer(onValue), functionPointer(onInverse), 0)
	} else {
		rc = lib.Xsqlite3_create_function_v2(c.tls, c.db, name, int32(f.Args), flags, uintptr(i),
			functionPointer(onScalar), 0, 0, 0)
	}
	if rc != lib.SQLITE_OK {
		return fmt.Errorf("sqlite: function %s: %w", f.Name, c.failure(rc))
	}
	return nil
}

// Call is one call of a function: its arguments, and where its result goes.
type Call struct {
	conn *Conn
	ctx  uintptr
	args []uintptr
}

func newCall(tls *libc.TLS, ctx uintptr, n int32, args uintptr) *Call {
	call := &Call{conn: findHandle(lib.Xsqlite3_context_db_handle(tls, ctx)), ctx: ctx}
	if n > 0 {
		call.args = words(args, int(n))
	}
	return call
}

// function returns what is called.
func (c *Call) function() *Function {
	return &c.conn.config.Functions[lib.Xsqlite3_user_data(c.conn.tls, c.ctx)]
}

// recovered makes an error of a panic, which must not go through the library.
func (c *Call) recovered() {
	if r := recover(); r != nil {
		c.Fail("a function of the database failed")
	}
}

func onScalar(tls *libc.TLS, ctx uintptr, n int32, args uintptr) {
	call := newCall(tls, ctx, n, args)
	defer call.recovered()
	f := call.function()
	if call.conn.ended() || !call.paid(f) {
		lib.Xsqlite3_result_error_code(tls, ctx, lib.SQLITE_INTERRUPT)
		return
	}
	f.Scalar(call)
	call.conn.countResult(efforts[f.Name], ctx)
}

// paid reports whether the call may be made, by what it looks at.
func (c *Call) paid(f *Function) bool {
	return c.conn.ctx == nil || c.conn.countCall(efforts[f.Name], c.args)
}

// aggregate returns the evaluation that the call belongs to. The library keeps
// its number: it can keep no pointer of ours.
func (c *Call) aggregate() Aggregate {
	slot := lib.Xsqlite3_aggregate_context(c.conn.tls, c.ctx, int32(wordSize))
	if slot == 0 {
		return c.function().Aggregate()
	}
	id := &words(slot, 1)[0]
	if *id == 0 {
		c.conn.lastID++
		*id = c.conn.lastID
		c.conn.aggregates[*id] = c.function().Aggregate()
	}
	return c.conn.aggregates[*id]
}

func onStep(tls *libc.TLS, ctx uintptr, n int32, args uintptr) {
	call := newCall(tls, ctx, n, args)
	defer call.recovered()
	if !call.paid(call.function()) {
		lib.Xsqlite3_result_error_code(tls, ctx, lib.SQLITE_INTERRUPT)
		return
	}
	call.aggregate().Step(call)
}

func onInverse(tls *libc.TLS, ctx uintptr, n int32, args uintptr) {
	call := newCall(tls, ctx, n, args)
	defer call.recovered()
	if !call.paid(call.function()) {
		lib.Xsqlite3_result_error_code(tls, ctx, lib.SQLITE_INTERRUPT)
		return
	}
	call.aggregate().Inverse(call)
}

func onValue(tls *libc.TLS, ctx uintptr) {
	call := newCall(tls, ctx, 0, 0)
	defer call.recovered()
	call.aggregate().Value(call)
}

func onFinal(tls *libc.TLS, ctx uintptr) {
	call := newCall(tls, ctx, 0, 0)
	defer call.recovered()
	a := call.aggregate()
	if slot := lib.Xsqlite3_aggregate_context(tls, ctx, 0); slot != 0 {
		delete(call.conn.aggregates, words(slot, 1)[0])
	}
	a.Value(call)
}

// Kind returns what argument i is: one of the library's type numbers.
func (c *Call) Kind(i int) int { return int(lib.Xsqlite3_value_type(c.conn.tls, c.args[i])) }

// Null reports whether any of these arguments is null.
func (c *Call) Null(args ...int) bool {
	for _, i := range args {
		if c.Kind(i) == lib.SQLITE_NULL {
			return true
		}
	}
	return false
}

// Text returns argument i as text, valid during the call. It need not be
// UTF-8.
func (c *Call) Text(i int) []byte {
	p := lib.Xsqlite3_value_text(c.conn.tls, c.args[i])
	return view(p, int(lib.Xsqlite3_value_bytes(c.conn.tls, c.args[i])))
}

// Blob returns the bytes of argument i, valid during the call.
func (c *Call) Blob(i int) []byte {
	p := lib.Xsqlite3_value_blob(c.conn.tls, c.args[i])
	return view(p, int(lib.Xsqlite3_value_bytes(c.conn.tls, c.args[i])))
}

// jsonSubtype is how SQLite's JSON functions mark their results.
const jsonSubtype = 'J'

// JSON reports whether argument i is the result of a JSON function.
func (c *Call) JSON(i int) bool {
	return lib.Xsqlite3_value_subtype(c.conn.tls, c.args[i]) == jsonSubtype
}

// MaxBytes returns how many bytes a value may have.
func (c *Call) MaxBytes() int { return c.conn.Limit(lib.SQLITE_LIMIT_LENGTH) }

// LastInsertID is that of the connection.
func (c *Call) LastInsertID() int64 { return c.conn.LastInsertID() }

// ReturnNull makes the result null.
func (c *Call) ReturnNull() { lib.Xsqlite3_result_null(c.conn.tls, c.ctx) }

// ReturnInt makes the result an integer.
func (c *Call) ReturnInt(v int64) { lib.Xsqlite3_result_int64(c.conn.tls, c.ctx, v) }

// ReturnText makes the result a copy of a text.
func (c *Call) ReturnText(v []byte) {
	p := c.conn.duplicate(v)
	if p == 0 {
		lib.Xsqlite3_result_error_nomem(c.conn.tls, c.ctx)
		return
	}
	lib.Xsqlite3_result_text64(c.conn.tls, c.ctx, p, uint64(len(v)), freePointer(), lib.SQLITE_UTF8)
}

// ReturnJSON is ReturnText for what other JSON functions may take as JSON.
func (c *Call) ReturnJSON(v []byte) {
	c.ReturnText(v)
	lib.Xsqlite3_result_subtype(c.conn.tls, c.ctx, jsonSubtype)
}

// ReturnBlob makes the result a copy of some bytes.
func (c *Call) ReturnBlob(v []byte) {
	p := c.conn.duplicate(v)
	if p == 0 {
		lib.Xsqlite3_result_error_nomem(c.conn.tls, c.ctx)
		return
	}
	lib.Xsqlite3_result_blob64(c.conn.tls, c.ctx, p, uint64(len(v)), freePointer())
}

// FailTooBig ends the statement: the result would be larger than a value may
// be.
func (c *Call) FailTooBig() { lib.Xsqlite3_result_error_toobig(c.conn.tls, c.ctx) }

// Fail ends the statement with a message.
func (c *Call) Fail(message string) {
	p := c.conn.duplicate([]byte(message))
	if p == 0 {
		lib.Xsqlite3_result_error_nomem(c.conn.tls, c.ctx)
		return
	}
	defer lib.Xsqlite3_free(c.conn.tls, p)
	lib.Xsqlite3_result_error(c.conn.tls, c.ctx, p, int32(len(message)))
}
