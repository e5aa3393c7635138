package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"ql/lang/bytecode"
	"ql/lang/rows"
	"ql/lang/value"
	"ql/lang/vm"
)

// A loop through a file asks for its rows in pieces. What the loop needs to go on stands in
// the machine: which content the file had when it began, what the beginning of that said,
// and the place behind the last piece. So a run that was stored, or that is replayed, reads
// on where it was, and no row is kept with its results.

const (
	// pieceRows and pieceBytes bound one piece.
	pieceRows  = 256
	pieceBytes = 64 << 10
	// maxBad is how many rows that were wrong are listed; more are counted.
	maxBad = 1_000
	// maxReaders is how many loops of a run have their file open at once: those around an
	// inner one are opened again, at their place, when they come to their next piece.
	maxReaders = 4
)

// rowReader is a loop's file while it is open.
type rowReader struct {
	*rows.Reader
	content FileContent
	file    rowFile
	at      string // the place that it has come to
}

// rowFile is what the machine keeps of a loop's file.
type rowFile struct {
	path    string
	ref     []byte
	options rows.Options
	head    rows.Head
	skips   bool // rows that are wrong
}

func (f *rowFile) value(m *value.Meter) value.Value {
	m.Alloc(value.BlockSize(len(f.path)) + value.BlockSize(len(f.ref)) + 600)
	columns := value.NewList(m, len(f.head.Columns))
	for _, c := range f.head.Columns {
		m.Alloc(value.BlockSize(len(c)))
		columns.Append(m, value.Text(c))
	}
	t := value.NewMap(m, 6)
	t.SetText("path", value.Text(f.path))
	t.SetText("ref", value.Bytes(f.ref))
	t.SetText("format", value.Text(string(f.options.Format)))
	t.SetText("encoding", value.Text(f.head.Encoding))
	t.SetText("columns", columns.Value())
	t.SetText("skips", value.Bool(f.skips))
	return t.Value()
}

var errBadRowFile = errors.New("engine: the file of a loop is not what a loop keeps")

// rowFileOf reads what the machine kept.
func rowFileOf(m *value.Meter, v value.Value) (f rowFile, err error) {
	if !v.IsMap() {
		return f, errBadRowFile
	}
	get := func(key string) value.Value { v, _ := v.Map().Get(key); return v }
	columns := get("columns")
	if !get("path").IsText() || get("ref").Kind() != value.KindBytes || !get("format").IsText() || !get("encoding").IsText() || !columns.IsList() {
		return f, errBadRowFile
	}
	f = rowFile{path: get("path").Str(), ref: get("ref").Raw(), skips: get("skips").Truthy()}
	f.options.Format = rows.Format(get("format").Str())
	f.head.Encoding = get("encoding").Str()
	n := columns.List().Len()
	m.Work(n)
	for i := range n {
		c := columns.List().At(i)
		if !c.IsText() {
			return f, errBadRowFile
		}
		f.head.Columns = append(f.head.Columns, c.Str())
	}
	return f, nil
}

// atPlace writes a place for the machine; skipped is how many rows were wrong before it.
func atPlace(p rows.Place, skipped int64) string {
	return fmt.Sprintf("%d %d %d", p.Offset, p.Line, skipped)
}

// rowFormats are the formats of files whose loop names none. Others are lines.
var rowFormats = map[string]rows.Format{".csv": rows.CSV, ".jsonl": rows.JSONLines, ".ndjson": rows.JSONLines}

func rowFormatOf(name string, given value.Value) (rows.Format, error) {
	if given.IsText() {
		return rows.Format(given.Str()), nil
	}
	if f, ok := rowFormats[strings.ToLower(path.Ext(name))]; ok {
		return f, nil
	}
	switch formatOf(name) {
	case formatJSON:
		return "", value.Errorf(value.BadArgument, "%s is one value of JSON by its ending: READ it, or write AS JSON LINES where each line is one", value.Quote(name))
	case formatBytes:
		return "", value.Errorf(value.BadArgument, "%s has no rows by its ending: write AS CSV, AS LINES or AS JSON LINES where it has", value.Quote(name))
	}
	return rows.Lines, nil
}

// fileOpen begins a loop through a file.
func fileOpen(c *call) (value.Value, error) {
	name, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	f := rowFile{path: name, skips: c.args[3].Truthy()}
	if f.options.Format, err = rowFormatOf(name, c.args[1]); err != nil {
		return value.Null, err
	}
	if !c.args[2].IsNull() {
		if f.options.Encoding, err = c.text(2, "the name that ENCODING takes"); err != nil {
			return value.Null, err
		}
	}
	if err := c.mayHold(); err != nil {
		return value.Null, err
	}
	Yield(c.ctx)
	content, err := c.o.Files.Hold(c.ctx, name)
	if err != nil {
		return value.Null, err
	}
	f.options.MaxRow, f.ref = c.meter.Text, content.Ref()
	r := &rowReader{content: content}
	c.keepReader(r) // whatever becomes of it, it is closed
	if r.Reader, err = rows.New(c.meter, content, f.options); err != nil {
		c.dropReader(r)
		return value.Null, inFile(name, err)
	}
	f.head = r.Head()
	r.file, r.at = f, atPlace(r.Place(), 0)
	c.meter.Work(len(f.ref) / 64)
	c.noteHeld(f.ref)
	t := value.NewMap(c.meter, 2)
	t.SetText("file", f.value(c.meter))
	t.SetText("at", value.Text(r.at))
	return t.Value(), nil
}

// inFile says in which file something is wrong.
func inFile(name string, err error) error {
	var known *value.Error
	if !errors.As(err, &known) || known.Code == value.BadArgument || known.Code == fileChanged {
		return err
	}
	return &value.Error{Code: known.Code, Message: name + ": " + known.Message, Data: known.Data, Limit: known.Limit}
}

// fileRows gives a loop its next piece.
func fileRows(c *call) (value.Value, error) {
	f, err := rowFileOf(c.meter, c.args[0])
	if err != nil {
		return value.Null, err
	}
	at, err := c.text(1, "the place")
	if err != nil {
		return value.Null, err
	}
	f.options.MaxRow = c.meter.Text
	var place rows.Place
	var skipped int64
	if _, err := fmt.Sscanf(at, "%d %d %d", &place.Offset, &place.Line, &skipped); err != nil {
		return value.Null, errBadRowFile
	}
	Yield(c.ctx)
	r, err := c.readerAt(f, at, place)
	if err != nil {
		return value.Null, inFile(f.path, err)
	}
	p := piece{call: c, reader: r, rows: value.NewList(c.meter, 0), lines: value.NewList(c.meter, 0), skipped: skipped}
	next, err := p.read()
	if err != nil || next == "" {
		c.dropReader(r)
	}
	if err != nil {
		return value.Null, inFile(f.path, err)
	}
	r.at = next
	return p.value(next), nil
}

// piece is a piece of a file on its way to a loop.
type piece struct {
	*call
	reader      *rowReader
	rows, lines *value.List
	skipped     int64
	bad         *value.List // the list of BAD, where it has grown
}

// read reads the rows of the piece and returns the place behind it; "" behind the last row.
// Rows before one that is wrong are handed out first.
func (p *piece) read() (next string, err error) {
	r := p.reader
	start := r.Taken()
	for p.rows.Len() < pieceRows && r.Taken()-start < pieceBytes {
		bad, err := r.Next(p.meter)
		switch {
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil && p.rows.Len() > 0 && isKnown(err):
			return p.again(r.Place()), nil
		case err != nil:
			return "", err
		}
		var v value.Value
		if bad == nil {
			v, bad = r.Value(p.meter)
		}
		switch {
		case bad == nil:
			p.rows.Append(p.meter, v)
			p.lines.Append(p.meter, value.Int(r.Line()))
		case r.file.skips:
			p.skip(bad)
		case p.rows.Len() > 0:
			return p.again(r.Before()), nil
		default:
			return "", bad
		}
	}
	return atPlace(r.Place(), p.skipped), nil
}

func isKnown(err error) bool {
	var known *value.Error
	return errors.As(err, &known)
}

// again ends a piece before a row that is wrong: the next one begins with it.
func (p *piece) again(at rows.Place) string {
	p.dropReader(p.reader)
	return atPlace(at, p.skipped)
}

// skip notes a row that is wrong.
func (p *piece) skip(bad *value.Error) {
	p.skipped++
	if p.bad == nil {
		p.bad = value.NewList(p.meter, 0)
		if given := p.args[2]; given.IsList() {
			old := given.List()
			p.meter.Work(old.Len())
			for i := range min(old.Len(), maxBad) {
				p.bad.Append(p.meter, old.At(i).Share())
			}
		}
	}
	if p.skipped > maxBad {
		return
	}
	p.bad.Append(p.meter, badRow(p.meter, p.reader.Line(), bad))
}

// badRow is what BAD lists of a row that is wrong.
func badRow(m *value.Meter, line int64, bad *value.Error) value.Value {
	m.Alloc(value.BlockSize(len(bad.Message)) + 100)
	t := value.NewMap(m, 2)
	t.SetText("line", value.Int(line))
	t.SetText("message", value.Text(bad.Message))
	return t.Value()
}

// endBad adds how many rows were wrong beyond those that are listed.
func endBad(m *value.Meter, list *value.List, skipped int64) {
	more := skipped - maxBad
	if more <= 0 {
		return
	}
	counted := value.NewMap(m, 3)
	counted.SetText("line", value.Null)
	counted.SetText("message", value.Text(fmt.Sprintf("and %d more", more)))
	counted.SetText("count", value.Int(more))
	list.Append(m, counted.Value())
}

// value returns the piece as the machine takes it.
func (p *piece) value(next string) value.Value {
	m := p.meter
	t := value.NewMap(m, 4)
	t.SetText("rows", p.rows.Value())
	t.SetText("at", value.Null)
	if next != "" {
		m.Alloc(value.BlockSize(len(next)))
		t.SetText("at", value.Text(next))
	}
	t.SetText("lines", p.lines.Value())
	t.SetText("bad", value.Null)
	if p.bad != nil {
		endBad(m, p.bad, p.skipped)
		t.SetText("bad", p.bad.Value())
	}
	return t.Value()
}

// readerAt returns a reader of a file at a place: one that is open, or a new one.
func (c *call) readerAt(f rowFile, at string, place rows.Place) (*rowReader, error) {
	for i, r := range c.readers {
		if r.Reader != nil && r.at == at && r.file.path == f.path && r.file.options == f.withEncoding(r) && r.file.skips == f.skips && bytes.Equal(r.file.ref, f.ref) {
			c.readers = append(append(c.readers[:i:i], c.readers[i+1:]...), r)
			return r, nil
		}
	}
	if c.o.Files == nil {
		return nil, missing("files")
	}
	content, err := c.o.Files.Held(c.ctx, f.ref)
	if err != nil {
		return nil, err
	}
	r := &rowReader{content: content, file: f, at: at}
	c.keepReader(r)
	if _, err = content.Seek(place.Offset, io.SeekStart); err == nil {
		r.Reader, err = rows.Resume(c.meter, content, f.options, f.head, place)
	}
	if err != nil {
		c.dropReader(r)
	}
	return r, err
}

// withEncoding returns the options of a file with the encoding that a reader was given: the
// machine keeps the one that it was found to have.
func (f *rowFile) withEncoding(r *rowReader) rows.Options {
	o := f.options
	o.Encoding = r.file.options.Encoding
	return o
}

// keepReader keeps a reader for the next piece, and closes the one that was used longest ago
// where there are many.
func (r *Run) keepReader(one *rowReader) {
	if len(r.readers) == maxReaders {
		r.dropReader(r.readers[0])
	}
	r.readers = append(r.readers, one)
}

// dropReader closes a reader, unless it is closed.
func (r *Run) dropReader(one *rowReader) {
	for i := range r.readers {
		if r.readers[i] == one {
			r.readers = append(r.readers[:i:i], r.readers[i+1:]...)
			_ = one.content.Close() // it is only read
			return
		}
	}
}

// dropReaders closes all of them.
func (r *Run) dropReaders() {
	for len(r.readers) > 0 {
		r.dropReader(r.readers[0])
	}
}

// fileChanged is the code of a loop whose file is no longer what it was when the loop began.
const fileChanged = "file_changed"

// forJournal returns a result as a journal keeps it. Of the rows of a file it keeps but the
// place behind them: they are read again, from what the file was. Of calls that were made side by
// side it keeps how many they are: the replies are parts of the effect.
func (t Result) forJournal() Result {
	if t.Kind == bytecode.EffectFileRows && t.Err == nil && t.Value.IsMap() {
		t.Value, _ = t.Value.Map().Get("at")
	}
	if t.Kind == bytecode.EffectFetchAll && t.Err == nil {
		t.Value = value.Int(int64(t.Value.List().Len()))
	}
	return t
}

// readAgain reads the rows of a piece that was recorded by the place behind it. Where that
// cannot be, the run ends here, whatever handlers the script has: what it did after it was
// done by rows that are gone.
func (r *Run) readAgain(ctx context.Context, e *vm.Effect, t *Result) (out *Outcome, ended bool) {
	v, err := r.perform(ctx, e)
	var known *value.Error
	switch {
	case errors.As(err, &known):
		failed := &vm.Error{Code: known.Code, Message: known.Message, Step: e.Step, Line: e.Line}
		r.clearEffect()
		r.machine.ResumeError(ErrDiverged) // which no script can catch
		return &Outcome{Status: Failed, Err: failed}, true
	case err != nil && isLimit(r.explain(ctx, err)):
		r.machine.ResumeError(r.explain(ctx, err))
		return nil, true
	case err != nil:
		return r.interrupted(err), true
	}
	at, _ := v.Map().Get("at")
	if !value.Equal(nil, at, t.Value) {
		return r.interrupted(fmt.Errorf("%w: the rows of effect %d end elsewhere than they did", ErrDiverged, e.Seq)), true
	}
	t.Value = v
	return nil, false
}
