package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// fakeNetwork writes down what it is asked for, and answers always the same.
type fakeNetwork struct {
	serving sync.Mutex // held while a call is taken and made, so that they are in order
	calls   []Request
	reply   Reply
	err     error
}

func (n *fakeNetwork) Fetch(_ context.Context, r Request) (Reply, error) {
	n.calls = append(n.calls, r)
	return n.reply, n.err
}

func (n *fakeNetwork) Serve(ctx context.Context, calls <-chan Request, done func(Request, Reply, error)) {
	go func() {
		for n.serve(ctx, calls, done) {
		}
	}()
}

func (n *fakeNetwork) serve(ctx context.Context, calls <-chan Request, done func(Request, Reply, error)) bool {
	n.serving.Lock()
	defer n.serving.Unlock()
	r, ok := <-calls
	if ok {
		reply, err := n.Fetch(ctx, r)
		done(r, reply, err)
	}
	return ok
}

// spelled writes a call on one line.
func spelled(r Request) string {
	text := r.Method + " " + r.URL
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		text += fmt.Sprintf(" %s=%s", name, strings.Join(r.Header[name], "|"))
	}
	if r.Timeout > 0 {
		text += " in " + r.Timeout.String()
	}
	if r.Body != nil {
		text += " " + string(r.Body)
	}
	return text
}

func TestFetchSends(t *testing.T) {
	for _, test := range []struct{ clauses, want string }{
		{`"https://a.example/x"`, `GET https://a.example/x`},
		{`"https://a.example" METHOD "delete"`, `DELETE https://a.example`},
		{`"https://a.example" METHOD "Nonsense"`, `Nonsense https://a.example`}, // for the network to refuse, as it was written
		{`"https://a.example" HEADERS {"X A": 1}`, `GET https://a.example X A=1`},
		{`"https://a.example" TIMEOUT 1.5 SECONDS`, `GET https://a.example in 1.5s`},
		{`"https://a.example" QUERY {q: "a b&c", n: 10, ok: TRUE, tag: ["x", NULL, "y"], none: NULL}`, `GET https://a.example?q=a+b%26c&n=10&ok=true&tag=x&tag=y`},
		{`"https://a.example?z=1#part" QUERY {q: "é"}`, `GET https://a.example?z=1&q=%C3%A9#part`},
		{`"https://a.example" QUERY {}`, `GET https://a.example`},
		{`"https://a.example" HEADERS {"x-KEY": "a", "X-Key": 2, accept: ["a/b", "c/d"], gone: NULL}`, `GET https://a.example Accept=a/b|c/d X-Key=a|2`},
		{`"https://a.example" BODY {a: [1, NULL]}`, `POST https://a.example Content-Type=application/json {"a":[1,null]}`},
		{`"https://a.example" BODY [1]`, `POST https://a.example Content-Type=application/json [1]`},
		{`"https://a.example" METHOD "PUT" BODY "hello"`, `PUT https://a.example Content-Type=text/plain; charset=utf-8 hello`},
		{`"https://a.example" BODY FROM_HEX("6869")`, `POST https://a.example Content-Type=application/octet-stream hi`},
		{`"https://a.example" HEADERS {"content-type": "text/csv"} BODY "a,b"`, `POST https://a.example Content-Type=text/csv a,b`},
		{`"https://a.example" HEADERS {"Content-Type": "application/x-www-form-urlencoded"} BODY {a: "x y", b: [1, 2]}`, `POST https://a.example Content-Type=application/x-www-form-urlencoded a=x+y&b=1&b=2`},
		{`"https://a.example" HEADERS {"Content-Type": "application/vnd.api+json"} BODY {a: 1}`, `POST https://a.example Content-Type=application/vnd.api+json {"a":1}`},
	} {
		w := newWorld(t)
		n := &fakeNetwork{}
		w.o.Network = n
		if got := w.result(w.start("FETCH " + test.clauses + " SET ?r EMIT ?r.status")); got != "0" {
			t.Errorf("%s: got %s", test.clauses, got)
			continue
		}
		if got := spelled(n.calls[0]); got != test.want {
			t.Errorf("%s\nsends %s\nnot   %s", test.clauses, got, test.want)
		}
	}
}

func TestFetchRefuses(t *testing.T) {
	for _, test := range []struct{ clauses, want string }{
		{`5`, `wrong_kind: the URL that FETCH takes is a text, not the number 5`},
		{`"x" METHOD 5`, `wrong_kind: METHOD is a text, not the number 5`},
		{`"x" QUERY [1]`, `wrong_kind: QUERY takes a map such as {name: "text"}, not a list of 1`},
		{`"x" QUERY {a: {b: 1}}`, `wrong_kind: QUERY takes texts, numbers and booleans, and "a" is a map of 1`},
		{`"x" HEADERS {a: FROM_HEX("00")}`, `wrong_kind: HEADERS takes texts, numbers and booleans, and "a" is bytes`},
		{`"x" BODY 5`, `wrong_kind: BODY takes a map, a list, a text or bytes, not the number 5`},
		{`"x" TIMEOUT 0 SECONDS`, `bad_argument: TIMEOUT takes a time in which a server can answer, not 0`},
	} {
		w := newWorld(t)
		n := &fakeNetwork{}
		w.o.Network = n
		if got := w.result(w.start("FETCH " + test.clauses)); got != "|"+test.want || len(n.calls) > 0 {
			t.Errorf("%s: got %s, after %d calls", test.clauses, got, len(n.calls))
		}
	}
	w := newWorld(t)
	if got := w.result(w.start(`FETCH "https://a.example"`)); got != "|not_available: there is no network here" {
		t.Errorf("without a network: %s", got)
	}
}

func TestFetchGives(t *testing.T) {
	header := func(kind string) map[string][]string {
		return map[string][]string{"Content-Type": {kind}, "X-Many": {"a", "b"}, "X-Odd": {"\xff"}}
	}
	for _, test := range []struct {
		reply Reply
		emit  string
		want  string
	}{
		{Reply{Status: 201, Header: header("text/plain"), Body: []byte("hi")}, `?r`, `{"status":201,"headers":{"content-type":"text/plain","x-many":"a, b","x-odd":"` + "\uFFFD" + `"},"body":"hi","json":null}`},
		{Reply{Header: header("application/json; charset=utf-8"), Body: []byte("\uFEFF{\"a\":[1]}")}, `?r.json.a[0]`, `1`},
		{Reply{Header: header("application/problem+json"), Body: []byte(`[2]`)}, `?r.json`, `[2]`},
		{Reply{Status: 502, Header: header("application/json"), Body: []byte(`<p>`)}, `?r.status, ?r.json, ?r.body`, `502<p>`},
		{Reply{Header: header("application/json"), Body: []byte{0xff}}, `TYPE(?r.body), ?r.json`, `bytes`},
		{Reply{Header: header("text/html"), Body: []byte(`{}`)}, `?r.json IS NULL`, `true`},
		{Reply{}, `?r.headers, LENGTH(?r.body)`, `{}0`},
		{Reply{Header: header("application/json"), Body: []byte(strings.Repeat("[", 500) + strings.Repeat("]", 500))}, `1`, `|limit_exceeded: lists and maps stand more than 200 deep inside each other, the limit [nesting]`},
	} {
		w := newWorld(t)
		w.o.Network = &fakeNetwork{reply: test.reply}
		if got := w.result(w.start(`FETCH "https://a.example" SET ?r EMIT ` + test.emit)); got != test.want {
			t.Errorf("%s of %q: got %s, want %s", test.emit, test.reply.Body, got, test.want)
		}
	}
	w := newWorld(t)
	w.limits.Memory = 1 << 20
	w.o.Network = &fakeNetwork{reply: Reply{Body: make([]byte, 2<<20)}}
	if got := w.result(w.start(`FETCH "https://a.example" SET ?r`)); !strings.Contains(got, "[memory]") {
		t.Errorf("more than the memory holds: %s", got)
	}
	w = newWorld(t)
	n := &fakeNetwork{}
	w.o.Network = n
	w.result(w.start(`FETCH "https://a.example"`))
	if n.calls[0].Most != w.limits.Text {
		t.Errorf("at most %d bytes are asked for", n.calls[0].Most)
	}
}

// TestFetchSecrets: whatever the network says, secrets do not come out.
func TestFetchSecrets(t *testing.T) {
	const secret = "https://hooks.example/a b+c/" + "0123456789-0123456789-0123456789-0123456789-0123456789"
	for _, message := range []string{
		"%s is no URL", "%q is no URL", "%.40s… is no URL", `"%.40s..." is no URL`,
		"calls to https://x.example/?key=https%%3A%%2F%%2Fhooks.example%%2Fa+b%%2Bc%%2F0123456789-0123456789-0123456789-0123456789-0123456789 failed %[1]q",
	} {
		w := newWorld(t)
		w.o.Secrets = mapSecrets{"hook": secret}
		w.o.Network = &fakeNetwork{err: value.Errorf("invalid_url", message, secret)}
		p, err := lang.Compile(`SET ?u AS !SECRET('hook') CONFIRM "Go?" FETCH ?u HEADERS {Authorization: ?u} SET ?r`, lang.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := New(vm.New(p, w.limits, vm.Input{}), w.o, State{})
		w.result(r)
		snapshot, err := r.Machine().Snapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := vm.Restore(context.Background(), nil, p, snapshot, nil)
		if err != nil {
			t.Fatal(err)
		}
		r = New(m, w.o, r.State()) // the secret was read before the pause
		if _, err := r.Approve(true); err != nil {
			t.Fatal(err)
		}
		if got := w.result(r); !strings.Contains(got, "•••") || strings.Contains(got, "hooks.example") || strings.Contains(got, "23456") {
			t.Errorf("%s: it tells %s", message, got)
		}
	}
}

// TestFetchCountIsOfTheRun: no TRY goes on past it.
func TestFetchCountIsOfTheRun(t *testing.T) {
	w := newWorld(t)
	w.o.Network = &fakeNetwork{err: &value.LimitError{Name: "fetches", Max: 20}}
	r := w.start(`TRY FETCH "https://a.example" CATCH ?e EMIT "caught" END`)
	w.result(r)
	if e := r.Machine().Err(); e == nil || e.Code != "limit_exceeded" || e.Limit == nil || e.Limit.Name != "fetches" || e.Limit.Max != 20 || len(r.Machine().Output()) > 0 {
		t.Errorf("it ends with %+v", e)
	}
}

// TestStatementLimits: an error that names its limit may be caught, and names it
// to the caller where it is not.
func TestStatementLimits(t *testing.T) {
	w := newWorld(t)
	w.o.MaxPause, w.o.MaxWait = 7*24*time.Hour, time.Hour
	w.o.Network = &fakeNetwork{err: value.Exceeded("fetch_bytes", 100, "the answer has more than 100 bytes")}
	for script, want := range map[string]value.LimitError{
		`CONFIRM "Go?" WITHIN 400 DAYS`: {Name: "pause", Max: 7 * 24 * 3_600_000},
		`WAIT 2 HOURS`:                  {Name: "wait", Max: 3_600_000},
		`FETCH "https://a.example"`:     {Name: "fetch_bytes", Max: 100},
	} {
		r := w.start(script)
		w.result(r)
		if e := r.Machine().Err(); e == nil || e.Code != "limit_exceeded" || e.Limit == nil || *e.Limit != want {
			t.Errorf("%s: it ends with %+v", script, e)
		}
		if got := w.result(w.start("TRY " + script + " CATCH ?e EMIT ?e.code END")); got != "limit_exceeded" {
			t.Errorf("%s: caught, it gives %s", script, got)
		}
	}
}

// TestFetchesAreCounted: over pauses, and over a repetition from a journal.
func TestFetchesAreCounted(t *testing.T) {
	const script = `FETCH "https://a.example/1" TRY FETCH "https://a.example/2" CATCH ?e END CONFIRM "Go?" FETCH "https://a.example/3"`
	w := newWorld(t)
	n := &fakeNetwork{}
	w.o.Network = n
	r := w.start(script)
	w.result(r)
	if _, err := r.Approve(true); err != nil {
		t.Fatal(err)
	}
	w.result(r)
	for i, c := range n.calls {
		if c.Number != i+1 {
			t.Errorf("call %d says that it is number %d", i+1, c.Number)
		}
	}
	if len(n.calls) != 3 {
		t.Errorf("there were %d calls", len(n.calls))
	}

	n.calls = nil
	w.o.Journal = &fakeJournal{results: map[int64]Result{
		1: {Seq: 1, Kind: bytecode.EffectFetch, Value: value.Null},
		2: {Seq: 2, Kind: bytecode.EffectFetch, Err: value.Errorf("fetch_failed", "no")},
	}}
	r = w.start(script)
	if got := w.result(r); got != "|paused: confirm Go?" || r.State().Fetches != 2 || len(n.calls) > 0 {
		t.Errorf("repeated: %s, %d counted, %d made", got, r.State().Fetches, len(n.calls))
	}
}

// fakeJournal knows some results, and can fail to keep more.
type fakeJournal struct {
	results map[int64]Result
	calls   []int64
	begun   map[int64]bool
	parts   map[[2]int64]Result
	err     error
}

func (j *fakeJournal) BeforeEffect(context.Context, *Run) error { return nil }
func (j *fakeJournal) BeforeEffectInTx(context.Context) error   { return nil }
func (j *fakeJournal) Recorded(seq int64) (Result, bool)        { t, ok := j.results[seq]; return t, ok }
func (j *fakeJournal) Append(Result)                            {}
func (j *fakeJournal) RecordedPart(seq int64, i int) (Result, bool) {
	t, ok := j.parts[[2]int64{seq, int64(i)}]
	return t, ok
}
func (j *fakeJournal) AppendPart(_ context.Context, i int, r Result, _ bool) {
	if j.parts == nil {
		j.parts = map[[2]int64]Result{}
	}
	j.parts[[2]int64{r.Seq, int64(i)}] = r
}
func (j *fakeJournal) EndParts(context.Context) error { return j.err }
func (j *fakeJournal) Checkpoint(ctx context.Context, _ Result) context.Context {
	return ctx
}
func (j *fakeJournal) Receipt(context.Context, string, Result, func() int64) *Receipt { return nil }
func (j *fakeJournal) BeforeCall(_ context.Context, seq int64) (string, error) {
	j.calls = append(j.calls, seq)
	return fmt.Sprintf("key-%d", seq), j.err
}

func (j *fakeJournal) MailKey(seq int64) string { return fmt.Sprint("mail-", seq) }

func (j *fakeJournal) BeforeCommand(ctx context.Context, seq int64) (string, bool, error) {
	key, err := j.BeforeCall(ctx, seq)
	return key, j.begun[seq], err
}

// TestFetchUnderJournal: nothing leaves before what led to it is kept, and the
// call says which it is.
func TestFetchUnderJournal(t *testing.T) {
	w := newWorld(t)
	n, j := &fakeNetwork{}, &fakeJournal{}
	w.o.Network, w.o.Journal = n, j
	got := w.result(w.start(`SET ?x AS UUID() FETCH "https://a.example" FETCH "https://a.example" HEADERS {"idempotency-key": "mine"}`))
	if got != "" || !slices.Equal(j.calls, []int64{2, 3}) || n.calls[0].Header[idempotencyKey][0] != "key-2" || n.calls[1].Header[idempotencyKey][0] != "mine" {
		t.Errorf("got %q, journal flushed at %v, called %v", got, j.calls, n.calls)
	}
	n.calls, j.err = nil, errors.New("the disk is full")
	if got := w.result(w.start(`FETCH "https://a.example"`)); got != "|interrupted|log: the disk is full" || len(n.calls) > 0 {
		t.Errorf("what cannot be kept: %s, after %d calls", got, len(n.calls))
	}
	j.err, n.err = nil, errors.New("no word came back")
	if got := w.result(w.start(`TRY FETCH "https://a.example" CATCH ?e EMIT "caught" END`)); got != "|interrupted|log: no word came back" {
		t.Errorf("what nobody knows the end of: %s", got)
	}
}

// TestFetchRests: a run holds no slot while it waits for another server.
func TestFetchRests(t *testing.T) {
	w := newWorld(t)
	p := &slot{}
	w.o.Pace = p
	var resting bool
	w.o.Network = networkFunc(func(context.Context, Request) (Reply, error) { resting = !p.held; return Reply{}, nil })
	if got := w.result(w.start(`FETCH "https://a.example" TIMEOUT 1 SECOND SET ?r EMIT ?r.status`)); got != "0" || !resting {
		t.Errorf("got %s, resting: %v", got, resting)
	}
}

type networkFunc func(context.Context, Request) (Reply, error)

func (f networkFunc) Fetch(ctx context.Context, r Request) (Reply, error) { return f(ctx, r) }
func (f networkFunc) Serve(ctx context.Context, calls <-chan Request, done func(Request, Reply, error)) {
	go func() {
		for r := range calls {
			reply, err := f(ctx, r)
			done(r, reply, err)
		}
	}()
}
