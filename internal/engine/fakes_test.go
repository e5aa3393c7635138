package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// memoryFiles is a Files in memory.
type memoryFiles map[string]string

func (f memoryFiles) Read(ctx context.Context, path string, limit int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, ok := f[path]
	if !ok {
		return nil, value.Errorf("file_not_found", "there is no file %s", path)
	}
	if len(s) > limit {
		return nil, value.Errorf("limit_exceeded", "%s is too large", path)
	}
	return []byte(s), nil
}

func (f memoryFiles) Write(_ context.Context, path string, content []byte) error {
	f[path] = string(content)
	return nil
}

func (f memoryFiles) WriteStream(_ context.Context, path string, write func(io.Writer) error, commit func() context.Context) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := commit().Err(); err != nil {
		return err
	}
	f[path] = b.String()
	return nil
}

func (f memoryFiles) Append(_ context.Context, path string, content []byte) error {
	f[path] += string(content)
	return nil
}

func (f memoryFiles) List(_ context.Context, path, after string) iter.Seq2[FileInfo, error] {
	return func(yield func(FileInfo, error) bool) {
		for _, p := range slices.Sorted(maps.Keys(f)) {
			name, ok := strings.CutPrefix(p, strings.TrimSuffix(path, "/")+"/")
			if !ok || strings.Contains(name, "/") || name <= after {
				continue
			}
			if !yield(FileInfo{Path: p, Name: name, Size: int64(len(f[p])), Modified: start}, nil) {
				return
			}
		}
	}
}

// endlessFiles has a folder that never ends, as far as it is read.
type endlessFiles struct {
	memoryFiles
	read *int
}

func (f endlessFiles) List(context.Context, string, string) iter.Seq2[FileInfo, error] {
	return func(yield func(FileInfo, error) bool) {
		for yield(FileInfo{Path: "/a", Name: "a", Modified: start}, nil) {
			*f.read++
		}
	}
}

func (f memoryFiles) Copy(_ context.Context, from, to string) error {
	f[to] = f[from]
	return nil
}

func (f memoryFiles) Move(_ context.Context, from, to string) error {
	f[to] = f[from]
	delete(f, from)
	return nil
}

func (f memoryFiles) Remove(_ context.Context, path string) error {
	delete(f, path)
	return nil
}

// logDatabases writes down what it is asked for. A statement that holds FAIL
// fails, one that holds HANG lasts until the context ends.
type logDatabases struct{ log []string }

func (d *logDatabases) Query(ctx context.Context, database string, q Query) (value.Value, error) {
	text := strings.Join(q.Statement.Texts, "?")
	params := string(value.AppendJSON(nil, value.ListOf(q.Params...)))
	if q.Savepoint {
		params += " savepoint"
	}
	d.log = append(d.log, database+": "+strings.TrimSpace(text)+" "+params)
	switch {
	case strings.Contains(text, "FAIL"):
		return value.Null, value.Errorf("sql_error", "no such thing")
	case strings.Contains(text, "BREAK"):
		return value.Null, errors.New("disk on fire")
	case strings.Contains(text, "HANG"):
		<-ctx.Done()
		return value.Null, ctx.Err()
	}
	if q.Rows != nil {
		err := q.Rows.Columns([]string{"a"})
		if err == nil {
			err = q.Rows.Row([]value.Value{value.Int(1)})
		}
		return value.Null, err
	}
	return value.ListOf(), nil
}

func (d *logDatabases) Import(_ context.Context, database string, im Import) (value.Value, error) {
	columns, err := im.Rows.Columns()
	if err != nil {
		return value.Null, err
	}
	line := fmt.Sprintf("%s: import %s %v", database, im.Table, columns)
	rows := int64(0)
	for {
		names, cells, err := im.Rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return value.Null, err
		}
		rows++
		line += fmt.Sprintf(" %v=%s", names, value.AppendJSON(nil, value.ListOf(cells...)))
	}
	if im.Savepoint {
		line += " savepoint"
	}
	d.log = append(d.log, line)
	return im.Rows.Result(rows), nil
}

func (d *logDatabases) Begin(_ context.Context, database string) (Tx, error) {
	d.log = append(d.log, "begin "+database)
	return &logTx{d, database}, nil
}

func (d *logDatabases) Receipts(context.Context, string, [16]byte, int64) ([]StoredReceipt, error) {
	return nil, nil
}

func (d *logDatabases) DeleteReceipts(context.Context, string, [16]byte, int64) error { return nil }

type logTx struct {
	d        *logDatabases
	database string
}

func (t *logTx) Query(ctx context.Context, q Query) (value.Value, error) {
	return t.d.Query(ctx, "tx "+t.database, q)
}

func (t *logTx) Import(ctx context.Context, im Import) (value.Value, error) {
	return t.d.Import(ctx, "tx "+t.database, im)
}

func (t *logTx) Commit(context.Context, *Receipt) error {
	t.d.log = append(t.d.log, "commit")
	return nil
}

func (t *logTx) Rollback() error {
	t.d.log = append(t.d.log, "rollback")
	return nil
}

// memorySessions is one session, and a log of who held it.
type memorySessions struct {
	data *value.Map
	log  []string
}

func (s *memorySessions) Start(context.Context) (Session, error) {
	s.log = append(s.log, "start")
	if s.data == nil {
		s.data = value.NewMap(nil, 0)
	}
	return s, nil
}

func (s *memorySessions) ID() string                             { return "id" }
func (s *memorySessions) Ensure(context.Context) (string, error) { return "id", nil }

func (s *memorySessions) Get(_ context.Context, key string) (value.Value, error) {
	v, _ := s.data.Get(key)
	return v.Share(), nil
}

func (s *memorySessions) All(context.Context) (value.Value, error) {
	return s.data.Clone(nil).Value(), nil
}

func (s *memorySessions) Set(_ context.Context, key string, v value.Value) error {
	s.data.SetText(strings.Clone(key), v.Share())
	return nil
}

func (s *memorySessions) Unset(_ context.Context, key string) error {
	s.data.Remove(nil, key)
	return nil
}

func (s *memorySessions) End(context.Context) error {
	s.log, s.data = append(s.log, "end"), nil
	return nil
}

func (s *memorySessions) Release() error {
	s.log = append(s.log, "release")
	return nil
}

type mapSecrets map[string]string

func (s mapSecrets) Secret(_ context.Context, name string) (string, bool, error) {
	v, ok := s[name]
	return v, ok, nil
}

// start is when the tests' clock starts.
var start = time.Date(2026, 11, 15, 8, 30, 0, 123456789, time.UTC)

// world is what a test's script runs in.
type world struct {
	testing.TB
	now      time.Time
	files    memoryFiles
	database *logDatabases
	sessions *memorySessions
	o        Options
	limits   vm.Limits
	ctx      context.Context
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, now: start, files: memoryFiles{}, database: &logDatabases{}, sessions: &memorySessions{}, limits: langtest.Limits(), ctx: context.Background()}
	w.o = Options{
		Resources: Resources{Files: w.files, Databases: w.database, Sessions: w.sessions, Secrets: mapSecrets{"key": "s3cr3t-key", "pin": "42"}},
		Account: func(context.Context) (value.Value, error) {
			m := value.NewMap(nil, 2)
			m.SetText("username", value.Text("ada"))
			m.SetText("plan", value.Text("standard"))
			return m.Value(), nil
		},
		Clock: func() time.Time { return w.now },
		Rand:  bytes.NewReader(bytes.Repeat([]byte{0x2a}, 1<<16)),
	}
	return w
}

// start compiles a script and returns a run of it.
func (w *world) start(script string) *Run {
	w.Helper()
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		w.Fatalf("%s\n%v", script, err)
	}
	return New(vm.New(p, w.limits, vm.Input{}), w.o, State{})
}

// result continues a run and says how it went: its output, and behind a bar
// why it stopped.
func (w *world) result(r *Run) string {
	w.Helper()
	return w.said(r.Machine())(r.Continue(w.ctx))
}

// said says how a run of a machine went.
func (w *world) said(m *vm.Machine) func(Outcome, error) string {
	return func(out Outcome, err error) string { return said(m, out, err) }
}

func said(m *vm.Machine, out Outcome, err error) string {
	text := string(m.Output())
	switch out.Status {
	case Done:
	case Failed:
		text += "|" + out.Err.Code + ": " + out.Err.Message
		if out.Err.Limit != nil {
			text += " [" + out.Err.Limit.Name + "]"
		}
	case Paused:
		text += "|paused: " + out.Prompt.Kind + " " + out.Prompt.Message
	case Waiting:
		text += "|waiting: " + out.Until.Format(time.RFC3339)
	default:
		text += "|" + out.Status.String()
	}
	if err != nil {
		text += "|log: " + err.Error()
	}
	return text
}

// memoryContent is the content of one of memoryFiles, which its reference is.
type memoryContent struct {
	*bytes.Reader
	ref []byte
}

func (c memoryContent) Ref() []byte { return c.ref }
func (memoryContent) Close() error  { return nil }

func (f memoryFiles) Hold(ctx context.Context, path string) (FileContent, error) {
	content, err := f.Read(ctx, path, 1<<30)
	if err != nil {
		return nil, err
	}
	return memoryContent{bytes.NewReader(content), content}, nil
}

func (f memoryFiles) Held(_ context.Context, ref []byte) (FileContent, error) {
	return memoryContent{bytes.NewReader(ref), ref}, nil
}
