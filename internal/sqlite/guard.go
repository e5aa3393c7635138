package sqlite

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite looks for its end where it jumps, which is once a row. One row may
// hold thousands of calls of functions that take milliseconds each with values
// of the largest size, and all of them would run after the context has ended.
// So each of SQLite's own scalar functions is entered through a guard that
// looks at the context first. The guard stands in the library's table of
// functions: what SQLite knows of a function beyond its code, such as that
// LIKE may use an index, stays as it is.

// guarded finds a function by its place in the library's table. It is filled
// once, before the first connection is opened, and only read then.
var guarded map[uintptr]guardedFunction

type guardedFunction struct {
	code   uintptr
	effort effort
}

// guardFunctions puts the guard before all scalar functions, once.
var guardFunctions = sync.OnceValue(func() error {
	c, err := open(":memory:", Config{Create: true})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it holds nothing
	found := map[uintptr]guardedFunction{}
	functions, err := c.scalarFunctions()
	if err != nil {
		return err
	}
	for _, f := range functions {
		for _, def := range c.definitions(f.name, f.args) {
			found[def] = guardedFunction{definitionAt(def).FxSFunc, efforts[f.name]}
		}
	}
	guarded = found
	for def := range found {
		definitionAt(def).FxSFunc = functionPointer(onGuarded)
	}
	return nil
})

func definitionAt(p uintptr) *lib.TFuncDef { return (*lib.TFuncDef)(at(p)) }

type scalarFunction struct {
	name string
	args int // that it can be called with
}

// scalarFunctions returns SQLite's own scalar functions.
func (c *Conn) scalarFunctions() ([]scalarFunction, error) {
	ctx := context.Background()
	s, _, err := c.Prepare(ctx, "SELECT name, narg FROM pragma_function_list WHERE type = 's' AND builtin")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []scalarFunction
	for {
		row, err := s.Step(ctx)
		if err != nil || !row {
			return all, err
		}
		f := scalarFunction{string(s.Text(0)), int(s.Int(1))}
		if f.args < 0 {
			f.args = 2 // any number from none, one or two on
		}
		all = append(all, f)
	}
}

// definitions returns where the library defines what a call of a function
// with this many arguments runs; nothing where there is no such function, or
// where the call becomes part of the statement.
func (c *Conn) definitions(name string, args int) []uintptr {
	places := strings.TrimSuffix(strings.Repeat("?,", args), ",")
	s, _, err := c.Prepare(context.Background(), fmt.Sprintf(`SELECT "%s"(%s)`, name, places))
	if err != nil {
		return nil
	}
	defer s.Close()
	var all []uintptr
	program := (*lib.TVdbe)(at(s.p))
	for _, op := range unsafe.Slice((*lib.TVdbeOp)(at(program.FaOp)), program.FnOp) {
		if op.Fp4type == lib.P4_FUNCCTX {
			call := *(*uintptr)(unsafe.Pointer(&op.Fp4))
			all = append(all, (*lib.Tsqlite3_context)(at(call)).FpFunc)
		}
	}
	return all
}

// onGuarded enters a function, unless the context has ended or its user says no.
func onGuarded(tls *libc.TLS, ctx uintptr, n int32, args uintptr) {
	f := guarded[(*lib.Tsqlite3_context)(at(ctx)).FpFunc]
	c := findTLS(tls)
	counts := c != nil && c.ctx != nil && c.config.Progress != nil
	if c != nil && c.ended() || counts && !c.countCall(f.effort, words(args, int(n))) {
		lib.Xsqlite3_result_error_code(tls, ctx, lib.SQLITE_INTERRUPT)
		return
	}
	function[func(*libc.TLS, uintptr, int32, uintptr)](f.code)(tls, ctx, n, args)
	if counts {
		c.countResult(f.effort, ctx)
	}
}
