package sqlite

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// Work is what a statement did since it was last asked: the library's own counts,
// which are the same wherever the same statement runs on the same data.
type Work struct {
	// Steps are instructions of SQLite's machine.
	Steps int64
	// Pages are pages of the database that were looked at, or came to be written.
	Pages int64
	// Moved is, for each of those instructions, the size of the largest value that
	// it may have moved or compared.
	Moved int64
	// Calls are calls of functions, and Looked the bytes that they looked at: for
	// those that look at a byte again and again, as often.
	Calls, Looked int64
}

// reportAfter is how many bytes a function may look at before its user is asked. It
// keeps small calls cheap.
const reportAfter = 4 << 10

// pages returns how many pages the connection has looked at so far, and how many
// it has written.
func (c *Conn) pages() int64 {
	databases := (*lib.Tsqlite3)(at(c.db)).FaDb
	tree := (*lib.TDb)(at(databases)).FpBt
	if tree == 0 {
		return 0
	}
	shared := (*lib.TBtShared)(at((*lib.TBtree)(at(tree)).FpBt))
	stat := &(*lib.TPager)(at(shared.FpPager)).FaStat
	// They are numbers of 32 bits, which begin anew.
	return int64(stat[lib.PAGER_STAT_HIT]) + int64(stat[lib.PAGER_STAT_MISS]) + int64(stat[lib.PAGER_STAT_WRITE])
}

// newPages returns how many pages were looked at since the last time.
func (c *Conn) newPages() int64 {
	now := c.pages()
	n := now - c.pagesBefore
	c.pagesBefore = now
	return max(n, 0)
}

// steps returns how many instructions the statement has run, up to the last row.
func (s *Stmt) steps() int64 {
	return int64(s.program().FaCounter[lib.SQLITE_STMTSTATUS_VM_STEP])
}

func (s *Stmt) program() *lib.TVdbe { return (*lib.TVdbe)(at(s.p)) }

// Length returns how many instructions the statement was compiled to.
func (s *Stmt) Length() int { return int(s.program().FnOp) }

// largest returns the size of the largest value in the statement's registers.
func (s *Stmt) largest() int64 {
	p := s.program()
	most := int32(0)
	if p.FaMem == 0 {
		return 0
	}
	registers := unsafe.Slice((*lib.TMem)(at(p.FaMem)), p.FnMem)
	for i := range registers {
		if m := &registers[i]; m.Fflags&(lib.MEM_Str|lib.MEM_Blob) != 0 {
			most = max(most, m.Fn)
		}
	}
	return int64(most)
}

// countSteps records that the running statement has run n more instructions.
func (c *Conn) countSteps(n int64) {
	s := c.running
	s.counted += n
	c.work.Steps += n + int64(s.program().FnMem)/registersPerStep
	pages := c.newPages()
	c.work.Pages += pages
	c.work.Looked += pages * searchedBytes * c.searched
	c.work.Moved += n * s.largest()
}

// searchedBytes is what is looked at of a page for each term of a full-text query.
const searchedBytes = 4 << 10

// registersPerStep is how many registers are looked through in the time of an
// instruction.
const registersPerStep = 16

// takeWork returns what was done since the last time.
func (c *Conn) takeWork() Work {
	w := c.work
	c.work = Work{}
	return w
}

// report tells the connection's user what was done, and keeps what it says.
func (c *Conn) report() bool {
	if c.config.Progress == nil {
		c.work = Work{}
		return true
	}
	if err := c.config.Progress(c.ctx, c.takeWork()); err != nil {
		c.stopped = err
		return false
	}
	return true
}

// start marks the beginning of a statement's run.
func (s *Stmt) start() {
	s.fresh = false
	s.conn.work, s.conn.searched = Work{}, 0
	// SQLite calls for progress at each so many instructions that the statement has run in all: without this,
	// what is counted of a run would hang on where the one before ended.
	s.program().FaCounter[lib.SQLITE_STMTSTATUS_VM_STEP] = 0
	s.counted = 0
	s.conn.pagesBefore = s.conn.pages()
	if s.conn.countFirst && s.goesOn() {
		s.conn.pagesBefore--
	}
}

// CountFirstPage has statements of a transaction that is kept open between them count the look at the first page
// with which each would begin one of its own: so they count the same.
func (c *Conn) CountFirstPage(on bool) { c.countFirst = on }

// goesOn reports whether a statement that would begin a transaction finds one.
func (s *Stmt) goesOn() bool {
	const main = 1 // the bit of the database, beside those of temporary tables
	if s.program().FbtreeMask&main == 0 || lib.Xsqlite3_stmt_isexplain(s.conn.tls, s.p) != 0 {
		return false
	}
	tree := (*lib.TDb)(at((*lib.Tsqlite3)(at(s.conn.db)).FaDb)).FpBt
	return tree != 0 && (*lib.TBtree)(at(tree)).FinTrans != lib.TRANS_NONE
}

// DrainWork returns what the statement did since Progress was last called.
func (s *Stmt) DrainWork() Work {
	if s.fresh {
		return Work{}
	}
	c := s.conn
	c.running = s
	c.countSteps(max(0, s.steps()-s.counted))
	c.running = nil
	return c.takeWork()
}

// effort says how often a function looks at the bytes of its arguments.
type effort uint8

const (
	once    effort = iota
	hard           // each byte costs as much as several elsewhere
	product        // one argument for each byte of another
)

// efforts are the functions that do more than to look at each byte once.
var efforts = map[string]effort{
	"like": product, "glob": product,
	"replace": hard, "trim": hard, "ltrim": hard, "rtrim": hard, "printf": hard, "format": hard,
	"date": hard, "time": hard, "datetime": hard, "julianday": hard, "strftime": hard, "unixepoch": hard, "timediff": hard,
	"->": hard, "->>": hard, "json": hard, "json_array": hard, "json_array_insert": hard, "json_array_length": hard, "json_error_position": hard,
	"json_extract": hard, "json_insert": hard, "json_object": hard, "json_quote": hard, "json_remove": hard, "json_replace": hard,
	"json_set": hard, "json_type": hard, "json_valid": hard, "jsonb": hard, "jsonb_array": hard, "jsonb_array_insert": hard,
	"jsonb_extract": hard, "jsonb_insert": hard, "jsonb_object": hard, "jsonb_remove": hard, "jsonb_replace": hard, "jsonb_set": hard,
	"json_group_array": hard, "json_group_object": hard,
}

// hardness is what a byte counts for where a function does much with it.
const hardness = 8

// countCall records a call of a function, before it is made. It reports false where the
// statement has to end.
func (c *Conn) countCall(e effort, args []uintptr) bool {
	looked := int64(0)
	if e == product {
		looked = 1
	}
	for _, p := range args {
		n := sizeOf(p)
		switch e {
		case once:
			looked += n
		case hard:
			looked += hardness * n
		case product:
			looked *= n + 1
		}
	}
	c.work.Calls++
	c.work.Looked += looked
	return c.work.Looked < reportAfter || c.report()
}

// countResult records the size of a function's result.
func (c *Conn) countResult(e effort, ctx uintptr) {
	n := sizeOf((*lib.Tsqlite3_context)(at(ctx)).FpOut)
	if e == hard {
		n *= hardness
	}
	c.work.Looked += n
}

// sizeOf returns how many bytes a value has; 0 for numbers and null.
func sizeOf(p uintptr) int64 {
	m := (*lib.TMem)(at(p))
	if m.Fflags&(lib.MEM_Str|lib.MEM_Blob) == 0 {
		return 0
	}
	return int64(m.Fn)
}
