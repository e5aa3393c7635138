package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/store/relational"

	"github.com/jackc/pgx/v5/pgconn"
)

// The numbers of the types that the store's columns and expressions have.
const (
	boolOID    = 16
	byteaOID   = 17
	int8OID    = 20
	int2OID    = 21
	int4OID    = 23
	textOID    = 25
	numericOID = 1700
)

// conn is a connection with its prepared statements. All statements are texts of package
// relational, so their number is bounded.
type conn struct {
	line       *line // to the server
	pg         *pgconn.PgConn
	session    relational.Session
	statements map[string]*statement
	// pooled says that another transaction may find another connection of the server's: nothing stays that was
	// prepared or set.
	pooled bool
	writes bool
	copies bool // rows are copied where they are several: one that is there already fails the transaction
	defers bool // what counts is sent with the end of the change

	queue    []queued         // to be sent with the next statement
	pipeline *pgconn.Pipeline // of the statement under way, where others were sent with it
	wrapped  map[string]string

	changes    changed // by statements since it was last emptied
	knowsFiles bool    // it was told whose files are changed
	// accounts is whose account it was told is changed: the last one; none where it is not known.
	accounts []account.ID
	written  int64 // rows, since it was last emptied
}

// statement is a prepared statement.
type statement struct {
	*pgconn.StatementDescription
	kinds
}

func connect(ctx context.Context, config *pgconn.Config) (*conn, error) {
	c := &conn{statements: map[string]*statement{}, pooled: isPooled(config)}
	c.session.Conn = c
	config = config.Copy()
	dial := config.DialFunc
	var cancels atomic.Bool
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		isFirst := ctx.Value(connecting{}) != nil // what is dialled later is to cancel a statement
		if !isFirst && !cancels.Load() {
			return nil, errNoCancel
		}
		raw, err := dial(ctx, network, address)
		if err != nil || !isFirst {
			return raw, err
		}
		c.line = &line{Conn: raw, patience: statementPatience}
		return c.line, nil
	}
	pg, err := pgconn.ConnectConfig(context.WithValue(ctx, connecting{}, true), config)
	switch {
	case err != nil && codeOf(err) == "" && ctx.Err() == nil: // the time was over that there is to connect
		return nil, unavailable.WithCause(err)
	case err != nil:
		return nil, explain(err)
	}
	cancels.Store(!c.pooled && pg.CustomData()[byPooler] == nil)
	c.pg = pg
	return c, nil
}

// byPooler is set of a connection that leads to a pooler.
const byPooler = "pooler"

// connecting is the key of what the context of a connection that is being made has.
type connecting struct{}

// errNoCancel is why a statement is not cancelled, at a pooler and while it is not known yet who answers: its connection is
// closed instead. PgBouncer before 1.19 ends itself at some requests to cancel, and with it everybody's connections.
var errNoCancel = errors.New("a pooler is not asked to cancel")

// isByPooler tells of a new connection whether a pooler answers, which numbers its connections itself.
func isByPooler(c *pgconn.PgConn, answers []*pgconn.Result) bool {
	for _, one := range answers {
		if len(one.Rows) == 1 && len(one.Rows[0]) == 1 {
			return string(one.Rows[0][0]) != strconv.FormatUint(uint64(c.PID()), 10)
		}
	}
	return false
}

// close says goodbye to the server, for a short while.
func (c *conn) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return c.pg.Close(ctx)
}

// run runs statements that have no parameters, and give nothing.
func (c *conn) run(ctx context.Context, sql string) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	_, err := c.pg.Exec(ctx, sql).ReadAll()
	return err
}

// begin begins a transaction, with the statement that follows where that is one of the same connection for certain.
func (c *conn) begin(ctx context.Context, how string) error {
	sql := "BEGIN " + how
	if !c.pooled {
		return c.enqueue(ctx, sql)
	}
	sql += localTimeouts
	if c.writes {
		sql += "; SET LOCAL " + idleWriteSetting
	}
	return c.run(ctx, sql)
}

// commit ends a transaction, with what is queued.
func (c *conn) commit(ctx context.Context) error {
	if c.pooled {
		return c.run(ctx, "COMMIT")
	}
	if err := c.enqueue(ctx, "COMMIT"); err != nil {
		return err
	}
	return c.flush(ctx)
}

// hasBegun tells whether a transaction is under way, or is to begin with the next statement.
func (c *conn) hasBegun() bool {
	status := c.pg.TxStatus()
	return status == 'T' || status == 'I' && len(c.queue) > 0
}

var idleWriteSetting = "idle_in_transaction_session_timeout = " + milliseconds(idleWriteTimeout)

// willWrite has the server end the connection where a transaction on it stands still.
func (c *conn) willWrite(ctx context.Context) error {
	if c.writes = true; c.pooled { // then it is set for each transaction
		return nil
	}
	return c.run(ctx, "SET "+idleWriteSetting)
}

// prepare returns the prepared form of a statement whose parameters are of the types of
// args, as far as these say; the server says the others.
func (c *conn) prepare(ctx context.Context, sql string, types func(i int) uint32, n int) (*statement, error) {
	if s, found := c.statements[sql]; found {
		c.note(s.kinds)
		return s, nil
	}
	oids := make([]uint32, n)
	for i := range oids {
		oids[i] = types(i)
	}
	verb, _, _ := strings.Cut(sql, " ")
	name := "q" + strconv.Itoa(len(c.statements)) + "_" + verb // which shows in traces of the line
	if c.pooled {
		name = ""
	}
	d, err := c.pg.Prepare(ctx, name, translate(sql), oids)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	if len(d.ParamOIDs) != n {
		return nil, fmt.Errorf("prepare %q: %d parameters for %d", sql, n, len(d.ParamOIDs))
	}
	s := &statement{d, kindsOf(sql)}
	c.statements[sql] = s
	c.note(s.kinds)
	return s, nil
}

// translated are the statements in the words of PostgreSQL.
var translated sync.Map

// translate gives parameters the numbers that SQLite gives them, and leaves out its hints.
func translate(sql string) string {
	if found, ok := translated.Load(sql); ok {
		return found.(string)
	}
	var out strings.Builder
	last, quoted := 0, false
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'':
			quoted = !quoted
			out.WriteByte(c)
		case c == '?' && !quoted:
			end := i + 1
			for end < len(sql) && sql[end] >= '0' && sql[end] <= '9' {
				end++
			}
			n := last + 1
			if end > i+1 {
				n, _ = strconv.Atoi(sql[i+1 : end])
			}
			last = max(last, n)
			out.WriteString("$" + strconv.Itoa(n))
			i = end - 1
		case !quoted && strings.HasPrefix(sql[i:], hint):
			name := sql[i+len(hint):]
			if end := strings.IndexByte(name, ' '); end >= 0 {
				name = name[:end]
			}
			i += len(hint) + len(name) - 1
		case !quoted && strings.HasPrefix(sql[i:], relational.LockBegin):
			lock, _, _ := strings.Cut(sql[i+len("/* "):], relational.LockEnd)
			out.WriteString(lock)
			i += len("/* ") + len(lock) + len(relational.LockEnd) - 1
		case !quoted && strings.HasPrefix(sql[i:], "instr("):
			out.WriteString("strpos(")
			i += len("instr(") - 1
		case !quoted && strings.HasPrefix(sql[i:], relational.Now):
			out.WriteString("CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)")
			i += len(relational.Now) - 1
		default:
			out.WriteByte(c)
		}
	}
	text := out.String()
	translated.Store(sql, text)
	return text
}

const hint = " INDEXED BY "

// params are the parameters of a statement on their way.
type params struct {
	values  [][]byte
	formats []int16
	numbers []byte // of integers, eight bytes each
}

func newParams(n int) *params {
	return &params{values: make([][]byte, n), formats: make([]int16, n), numbers: make([]byte, 0, 8*n)}
}

func (p *params) int(i int, oid uint32, n int64) error {
	at := len(p.numbers)
	switch oid {
	case int8OID:
		p.numbers = binary.BigEndian.AppendUint64(p.numbers, uint64(n))
	case int4OID:
		if int64(int32(n)) != n {
			return fmt.Errorf("parameter %d: %d is too large", i+1, n)
		}
		p.numbers = binary.BigEndian.AppendUint32(p.numbers, uint32(n))
	default:
		return fmt.Errorf("parameter %d: a number for type %d", i+1, oid)
	}
	p.values[i], p.formats[i] = p.numbers[at:len(p.numbers):len(p.numbers)], 1
	return nil
}

func (p *params) text(i int, oid uint32, s string) { p.blob(i, []byte(storable(oid, s))) }

// storable is a text without what one cannot have that is stored as one.
func storable(oid uint32, s string) string {
	if oid != byteaOID && (!utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0) {
		return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	return s
}

func (p *params) blob(i int, b []byte) {
	if b == nil {
		b = []byte{}
	}
	p.values[i], p.formats[i] = b, 1
}

// set sets a parameter. Nil bytes and the zero time are null.
func (p *params) set(i int, oid uint32, arg any) error {
	switch v := arg.(type) {
	case nil:
	case int64:
		return p.int(i, oid, v)
	case int:
		return p.int(i, oid, int64(v))
	case bool:
		if v {
			return p.int(i, oid, 1)
		}
		return p.int(i, oid, 0)
	case string:
		p.text(i, oid, v)
	case []byte:
		if v != nil {
			p.blob(i, v)
		}
	case time.Time:
		if !v.IsZero() {
			return p.int(i, oid, v.UnixMicro())
		}
	default:
		return fmt.Errorf("parameter %d of type %T", i+1, arg)
	}
	return nil
}

// typeOf is the type of an argument that the server is told; 0 leaves it to the server.
func typeOf(arg any) uint32 {
	switch arg.(type) {
	case int64, int, bool, time.Time:
		return int8OID
	case []byte:
		return byteaOID
	}
	return 0
}

func (c *conn) start(ctx context.Context, sql string, args []any) (*pgconn.ResultReader, error) {
	q, err := c.bind(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return c.execute(ctx, q)
}

var binaryResults = []int16{1}

// finish ends a statement and returns how many rows it changed.
func (c *conn) finish(r *pgconn.ResultReader) (int64, error) {
	tag, err := c.closeResult(r)
	if err != nil {
		return 0, expected(err)
	}
	if tag.Select() {
		return 0, nil
	}
	c.written += tag.RowsAffected()
	return tag.RowsAffected(), nil
}

// Exec implements relational.Conn.
func (c *conn) Exec(ctx context.Context, sql string, args []any) (int64, error) {
	r, err := c.start(ctx, sql, args)
	if err != nil {
		return 0, expected(err)
	}
	return c.finish(r)
}

// Insert implements relational.Conn.
func (c *conn) Insert(ctx context.Context, sql, key string, args []any) (number int64, err error) {
	err = c.Query(ctx, sql+" RETURNING "+key, args, func(r relational.Row) bool {
		number = r.Int(0)
		return false
	})
	return number, err
}

// Query implements relational.Conn.
func (c *conn) Query(ctx context.Context, sql string, args []any, f func(relational.Row) bool) (err error) {
	r, err := c.start(ctx, sql, args)
	if err != nil {
		return expected(err)
	}
	return c.readRows(r, f)
}

// readRows calls f with the rows that a statement gives, until it returns false, and ends the statement.
func (c *conn) readRows(r *pgconn.ResultReader, f func(relational.Row) bool) (err error) {
	defer func() {
		if _, end := c.finish(r); err == nil {
			err = end
		}
	}()
	one := &row{fields: r.FieldDescriptions()}
	for r.NextRow() {
		one.values = r.Values()
		if !f(one) {
			break
		}
	}
	return nil
}

// Snapshot implements relational.Conn. Within a change all is of one moment anyway.
func (c *conn) Snapshot(ctx context.Context, f func() error) (err error) {
	if c.pg.TxStatus() != 'I' || c.hasBegun() {
		return f()
	}
	if err := c.begin(ctx, "ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return err
	}
	// Also after the end of the context: the connection is used again.
	defer func() {
		if len(c.queue) > 0 { // nothing was read
			c.queue = nil
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		if end := c.run(ctx, "ROLLBACK"); end != nil && err == nil {
			err = end
		}
	}()
	return f()
}

// ChangesFiles implements relational.Conn.
func (c *conn) ChangesFiles(a account.ID, site bool) (takeBack func()) {
	if site {
		if c.changes.of == nil {
			c.changes.of = map[account.ID]bool{}
		}
		c.changes.of[a] = true
	}
	c.knowsFiles = true
	return func() { c.knowsFiles = false }
}

// row is the current row of a query.
type row struct {
	fields []pgconn.FieldDescription
	values [][]byte
}

// Int implements relational.Row.
func (r *row) Int(i int) int64 {
	b := r.values[i]
	switch oid := r.fields[i].DataTypeOID; {
	case b == nil:
		return 0
	case oid == int8OID && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b))
	case oid == int4OID && len(b) == 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case oid == int2OID && len(b) == 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case oid == boolOID && len(b) == 1:
		return int64(b[0])
	case oid == numericOID:
		return integer(b)
	}
	panic(fmt.Sprintf("column %s of type %d is no number", r.fields[i].Name, r.fields[i].DataTypeOID))
}

// integer reads a number of any size, such as a sum, that has no fraction: its digits are to the
// base of 10,000.
func integer(b []byte) (n int64) {
	digits, weight, sign := int(binary.BigEndian.Uint16(b)), int(int16(binary.BigEndian.Uint16(b[2:]))), binary.BigEndian.Uint16(b[4:])
	for i := 0; i <= weight; i++ {
		n *= 10_000
		if i < digits {
			n += int64(binary.BigEndian.Uint16(b[8+2*i:]))
		}
	}
	if sign == 0x4000 {
		n = -n
	}
	return n
}

// Text implements relational.Row.
func (r *row) Text(i int) []byte { return r.values[i] }

// Blob implements relational.Row.
func (r *row) Blob(i int) []byte { return r.values[i] }

// Null implements relational.Row.
func (r *row) Null(i int) bool { return r.values[i] == nil }
