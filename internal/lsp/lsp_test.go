package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"ql/internal/editor"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/lang/ide"
)

const uri = "file:///home/ada/a.ql"

// people is an account with a table, a file and an include.
var people = editor.Source{
	Databases: func(context.Context) ([]string, error) { return []string{"main", "shop"}, nil },
	Tables: func(_ context.Context, database string) ([]ide.Table, error) {
		if database != "main" {
			return nil, nil
		}
		return []ide.Table{{Name: "people", Columns: []ide.Column{{Name: "name", Type: "TEXT"}, {Name: "born", Type: "INTEGER"}}}}, nil
	},
	Files: func(_ context.Context, folder, _ string) iter.Seq2[engine.FileInfo, error] {
		return func(yield func(engine.FileInfo, error) bool) {
			if folder == "/" {
				_ = yield(engine.FileInfo{Name: "lib", Folder: true}, nil) && yield(engine.FileInfo{Name: "list.csv"}, nil)
			}
		}
	},
	MaxIncluded: 1 << 20,
	Include: func(_ context.Context, path string, _ int) (string, error) {
		if path != "/lib/tax.ql" {
			return "", errors.New("there is no such file")
		}
		return "DEFINE tax(?n)\n  RETURN ?n * 2\nEND\n", nil
	},
}

// client is an editor that talks with a server.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	id   int
	end  chan error
	told map[string][]diagnostic // by the document and its version
}

// start starts a server, and ends it with the test.
func start(t *testing.T, source editor.Source) *client {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	g := guard.New(nil, nil)
	c := &client{t: t, in: in, out: bufio.NewReader(out), end: make(chan error, 1), told: map[string][]diagnostic{}}
	go func() {
		err := Serve(t.Context(), Options{In: toServer, Out: fromServer, Version: "test", Guard: g, Open: func(string) (Workspace, error) {
			return Workspace{source, "/home/ada"}, nil
		}})
		_ = toServer.Close() // who still writes is not to wait
		_ = fromServer.Close()
		c.end <- err
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		<-c.end
		if g.Panics() > 0 {
			t.Errorf("%d requests panicked", g.Panics())
		}
	})
	return c
}

func (c *client) send(m any) {
	c.t.Helper()
	if err := writeMessage(c.in, m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) notify(method, params string) {
	c.t.Helper()
	c.send(notification{"2.0", method, json.RawMessage(params)})
}

// reply is the answer to a request.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// read reads what the server says next.
func (c *client) read() (r reply) {
	c.t.Helper()
	length, err := readHeader(c.out)
	if err != nil {
		c.t.Fatal(err)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(c.out, body); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &r); err != nil {
		c.t.Fatalf("%v in %s", err, body)
	}
	if r.Method == "textDocument/publishDiagnostics" {
		var p publishDiagnosticsParams
		c.decode(r.Params, &p)
		if p.Version != nil {
			c.told[fmt.Sprint(p.URI, *p.Version)] = p.Diagnostics
		}
	}
	return r
}

func (c *client) decode(text json.RawMessage, into any) {
	c.t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
}

// ask sends a request and returns its answer.
func (c *client) ask(method, params string) reply {
	c.t.Helper()
	c.id++
	c.send(message{Version: "2.0", ID: fmt.Append(nil, c.id), Method: method, Params: json.RawMessage(params)})
	for {
		if r := c.read(); r.Method == "" {
			if string(r.ID) != fmt.Sprint(c.id) {
				c.t.Fatalf("the answer to %s is one to %s", fmt.Sprint(c.id), r.ID)
			}
			return r
		}
	}
}

// get asks for something that is there.
func (c *client) get(method, params string, into any) {
	c.t.Helper()
	r := c.ask(method, params)
	if r.Error != nil {
		c.t.Fatalf("%s: %s", method, r.Error.Message)
	}
	c.decode(r.Result, into)
}

// refused asks for something, and wants an error.
func (c *client) refused(method, params string, code int) {
	c.t.Helper()
	if r := c.ask(method, params); r.Error == nil || r.Error.Code != code {
		c.t.Errorf("%s: %s %+v, want the code %d", method, r.Result, r.Error, code)
	}
}

func (c *client) initialize(encodings ...string) initializeResult {
	c.t.Helper()
	var p initializeParams
	p.Capabilities.General.PositionEncodings = encodings
	text, err := json.Marshal(p)
	if err != nil {
		c.t.Fatal(err)
	}
	var result initializeResult
	c.get("initialize", string(text), &result)
	c.notify("initialized", "{}")
	return result
}

func (c *client) open(version int, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", fmt.Sprintf(`{"textDocument":{"uri":%q,"languageId":"ql","version":%d,"text":%s}}`, uri, version, quote(text)))
}

// change replaces all of the document.
func (c *client) change(version int, text string) {
	c.t.Helper()
	c.edit(version, `{"text":`+quote(text)+`}`)
}

func (c *client) edit(version int, changes ...string) {
	c.t.Helper()
	c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument":{"uri":%q,"version":%d},"contentChanges":[%s]}`, uri, version, strings.Join(changes, ",")))
}

// mistakes waits for what is wrong with a version.
func (c *client) mistakes(version int) []diagnostic {
	c.t.Helper()
	for {
		if found, ok := c.told[fmt.Sprint(uri, version)]; ok {
			return found
		}
		c.read()
	}
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) // of a text it never fails
	return string(quoted)
}

func at(line, character int) string {
	return fmt.Sprintf(`{"textDocument":{"uri":%q},"position":{"line":%d,"character":%d}}`, uri, line, character)
}

var whole = fmt.Sprintf(`{"textDocument":{"uri":%q}}`, uri)

func TestConversation(t *testing.T) {
	c := start(t, people)
	if said := c.initialize(); said.Capabilities.PositionEncoding != "utf-16" || said.ServerInfo != (serverInfo{"ql", "test"}) {
		t.Errorf("it says %+v", said)
	}
	c.open(1, "-- 😀\nSET ?who AS \"Ada\"\nEMIT ?woh\n")
	wrong := c.mistakes(1)
	if len(wrong) != 1 || wrong[0].Range != (textRange{position{2, 5}, position{2, 9}}) || wrong[0].Severity != severityError || wrong[0].Code == "" {
		t.Fatalf("wrong is %+v", wrong)
	}
	var actions []codeAction
	c.get("textDocument/codeAction", fmt.Sprintf(`{"textDocument":{"uri":%q},"range":{"start":{"line":2,"character":6},"end":{"line":2,"character":6}},"context":{"diagnostics":[]}}`, uri), &actions)
	if len(actions) != 1 || actions[0].Edit.Changes[uri][0].NewText != "?who" {
		t.Fatalf("the actions are %+v", actions)
	}
	c.edit(2, `{"range":{"start":{"line":2,"character":5},"end":{"line":2,"character":9}},"text":"?who"}`)
	if wrong := c.mistakes(2); len(wrong) != 0 {
		t.Errorf("wrong is %+v", wrong)
	}

	var places []location
	c.get("textDocument/references", fmt.Sprintf(`{"textDocument":{"uri":%q},"position":{"line":2,"character":6},"context":{"includeDeclaration":true}}`, uri), &places)
	if len(places) != 2 {
		t.Errorf("the references are %+v", places)
	}
	c.get("textDocument/references", fmt.Sprintf(`{"textDocument":{"uri":%q},"position":{"line":2,"character":6},"context":{}}`, uri), &places)
	if len(places) != 1 || places[0].Range.Start.Line != 2 {
		t.Errorf("the references but for the definition are %+v", places)
	}
	var marks []documentHighlight
	if c.get("textDocument/documentHighlight", at(2, 6), &marks); len(marks) != 2 {
		t.Errorf("the highlights are %+v", marks)
	}
	var defined location
	if c.get("textDocument/definition", at(2, 6), &defined); defined.URI != uri || defined.Range.Start != (position{1, 4}) {
		t.Errorf("it is defined at %+v", defined)
	}
	var renamable prepareRenameResult
	if c.get("textDocument/prepareRename", at(2, 6), &renamable); renamable.Placeholder != "?who" {
		t.Errorf("what is renamed is %+v", renamable)
	}
	var edit workspaceEdit
	c.get("textDocument/rename", strings.TrimSuffix(at(2, 6), "}")+`,"newName":"name"}`, &edit)
	if e := edit.Changes[uri]; len(e) != 2 || e[0].NewText != "?name" || e[1].Range != (textRange{position{2, 5}, position{2, 9}}) {
		t.Errorf("the changes are %+v", edit)
	}
	c.refused("textDocument/rename", strings.TrimSuffix(at(2, 6), "}")+`,"newName":"1"}`, requestFailed)

	c.change(3, "emit   upper( \"a\" )")
	var help signatureHelp
	if c.get("textDocument/signatureHelp", at(0, 13), &help); len(help.Signatures) != 1 || !strings.HasPrefix(help.Signatures[0].Label, "UPPER(") {
		t.Errorf("the signature is %+v", help)
	}
	var hovered hoverResult
	if c.get("textDocument/hover", at(0, 8), &hovered); !strings.Contains(hovered.Contents.Value, "UPPER") || hovered.Range != (textRange{position{0, 7}, position{0, 12}}) {
		t.Errorf("the hover is %+v", hovered)
	}
	var edits []textEdit
	if c.get("textDocument/formatting", whole, &edits); len(edits) != 1 || edits[0] != (textEdit{textRange{position{0, 0}, position{0, 19}}, "EMIT UPPER(\"a\")\n"}) {
		t.Errorf("the written form is %+v", edits)
	}
	c.change(4, "EMIT 1\n")
	if c.get("textDocument/formatting", whole, &edits); len(edits) != 0 {
		t.Errorf("what is formatted is changed: %+v", edits)
	}
	c.change(5, "EMIT (")
	c.refused("textDocument/formatting", whole, requestFailed)

	c.change(6, "DEFINE twice(?n)\n  RETURN ?n * 2\nEND\nSET ?a AS twice(1)\n")
	var ranges []foldingRange
	if c.get("textDocument/foldingRange", whole, &ranges); len(ranges) != 1 || ranges[0] != (foldingRange{StartLine: 0, EndLine: 2}) {
		t.Errorf("the folds are %+v", ranges)
	}
	var names []documentSymbol
	if c.get("textDocument/documentSymbol", whole, &names); len(names) != 2 || names[0].Name != "twice" || names[0].Kind != symbolKinds[ide.Function] {
		t.Errorf("the symbols are %+v", names)
	}

	c.notify("textDocument/didClose", whole)
	if r := c.read(); !strings.Contains(string(r.Params), `"diagnostics":[]`) {
		t.Errorf("what was wrong is not taken back: %s", r.Params)
	}
	c.refused("textDocument/hover", at(0, 0), invalidParams)
	if r := c.ask("shutdown", ""); r.Error != nil || string(r.Result) != "null" {
		t.Errorf("shutdown: %s %v", r.Result, r.Error)
	}
	c.refused("textDocument/hover", at(0, 0), invalidRequest)
	c.notify("exit", "null")
	err := <-c.end
	c.end <- err
	if err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestCompletionKnowsTheAccount(t *testing.T) {
	c := start(t, people)
	c.initialize()
	c.open(1, "")
	for i, test := range []struct{ text, want string }{
		{"SELECT | FROM people SET ?rows", "born"},
		{"SELECT p.| FROM people p SET ?rows", "born"},
		{"SELECT * FROM |", "people"},
		{"READ \"/l|\" SET ?x", "/list.csv"},
		{"INCLUDE \"/lib/tax.ql\"\nEMIT ta|", "tax"},
		{"|", "EMIT"},
	} {
		text, _, _ := strings.Cut(test.text, "|")
		line := strings.Count(text, "\n")
		c.change(i+2, strings.Replace(test.text, "|", "", 1))
		var list completionList
		c.get("textDocument/completion", at(line, len(text[strings.LastIndexByte(text, '\n')+1:])), &list)
		if !slices.ContainsFunc(list.Items, func(item completionItem) bool { return item.Label == test.want }) {
			t.Errorf("%q: no %s among %d", test.text, test.want, len(list.Items))
		}
	}
	c.change(100, "INCLUDE \"/lib/tax.ql\"\nEMIT tax(1)\n")
	var defined location
	if c.get("textDocument/definition", at(1, 6), &defined); defined.URI != "file:///home/ada/lib/tax.ql" || defined.Range.Start != (position{0, 7}) {
		t.Errorf("it is defined at %+v", defined)
	}
}

// TestManyCompletions has more fit than is shown: the list says so, and what is typed further is found.
func TestManyCompletions(t *testing.T) {
	c := start(t, people)
	c.initialize()
	var text strings.Builder
	for i := range 2 * ide.MostCompletions {
		fmt.Fprintf(&text, "SET ?v%d AS 1\n", i)
	}
	lines := strings.Count(text.String(), "\n")
	c.open(1, text.String()+"EMIT ?v\nEMIT ?v7")
	var list completionList
	if c.get("textDocument/completion", at(lines, len("EMIT ?v")), &list); !list.IsIncomplete || len(list.Items) != ide.MostCompletions {
		t.Errorf("incomplete is %t, of %d", list.IsIncomplete, len(list.Items))
	}
	if c.get("textDocument/completion", at(lines+1, len("EMIT ?v7")), &list); list.IsIncomplete || list.Items[0].Label != "?v799" {
		t.Errorf("incomplete is %t, the first is %+v", list.IsIncomplete, list.Items[0])
	}
}

// TestKinds has all that is offered and outlined be of a kind that the protocol knows: 0 is none.
func TestKinds(t *testing.T) {
	c := start(t, people)
	c.initialize()
	c.open(1, "INPUT FIELDS who TEXT\nDEFINE rate AS 2\nDEFINE f(?a)\n  RETURN ?a\nEND\nSET ?x AS 1\nEMIT ")
	var list completionList
	if c.get("textDocument/completion", at(6, len("EMIT ")), &list); !slices.ContainsFunc(list.Items, func(i completionItem) bool { return i.Label == "rate" }) {
		t.Error("no rate is offered")
	}
	for _, item := range list.Items {
		if item.Kind == 0 {
			t.Errorf("%s is of no kind", item.Label)
		}
	}
	var found []documentSymbol
	if c.get("textDocument/documentSymbol", whole, &found); len(found) < 3 {
		t.Errorf("the outline is %+v", found)
	}
	for _, s := range found {
		if s.Kind == 0 {
			t.Errorf("%s is of no kind", s.Name)
		}
	}
}

// TestEncodings edits behind a character that takes four bytes, and two units of UTF-16.
func TestEncodings(t *testing.T) {
	for encoding, character := range map[string]int{"utf-16": 9, "utf-8": 11} {
		c := start(t, people)
		if said := c.initialize(encoding, "utf-16"); said.Capabilities.PositionEncoding != encoding {
			t.Errorf("%s was offered, and %s chosen", encoding, said.Capabilities.PositionEncoding)
		}
		c.open(1, "EMIT \"😀\", ?x\r\n")
		wrong := c.mistakes(1)
		want := position{0, character + 2}
		if len(wrong) != 1 || wrong[0].Range.Start != want {
			t.Fatalf("%s: %+v, want it at %v", encoding, wrong, want)
		}
		// Two changes, of which the second is one of what the first made.
		c.edit(2,
			fmt.Sprintf(`{"range":{"start":{"line":0,"character":%d},"end":{"line":0,"character":%d}},"text":"1"}`, character+2, character+4),
			`{"range":{"start":{"line":1,"character":0},"end":{"line":9,"character":9}},"text":"EMIT ?y"}`)
		if wrong := c.mistakes(2); len(wrong) != 1 || wrong[0].Range.Start != (position{1, 5}) {
			t.Errorf("%s: %+v", encoding, wrong)
		}
	}
}

func TestTokens(t *testing.T) {
	c := start(t, people)
	c.initialize()
	const text = "-- 😀\nEMIT \"\"\"\n  a\n  b\n  \"\"\", 1\n"
	c.open(1, text)
	var tokens semanticTokens
	c.get("textDocument/semanticTokens/full", whole, &tokens)
	lines := strings.Split(text, "\n")
	var line, character int
	var kinds []string
	for i := 0; i+5 <= len(tokens.Data); i += 5 {
		t5 := tokens.Data[i : i+5]
		if t5[0] > 0 {
			line, character = line+t5[0], 0
		}
		if character += t5[1]; t5[0] < 0 || t5[1] < 0 || line >= len(lines) || character+t5[2] > len(lines[line]) || t5[2] <= 0 {
			t.Fatalf("the token %v is at %d:%d of %q", t5, line, character, lines)
		}
		kinds = append(kinds, tokenTypes[t5[3]])
	}
	if want := []string{"comment", "keyword", "string", "string", "string", "string", "number"}; len(tokens.Data)%5 != 0 || !slices.Equal(slices.DeleteFunc(kinds, func(k string) bool { return k == "operator" }), want) {
		t.Errorf("the tokens are %v, want %v", kinds, want)
	}
}

func TestLifecycle(t *testing.T) {
	c := start(t, people)
	c.refused("textDocument/hover", at(0, 0), notInitialized)
	c.notify("textDocument/didOpen", `{}`)
	c.refused("initialize", `[]`, invalidParams)
	c.initialize()
	c.refused("initialize", `{}`, invalidRequest)
	c.refused("textDocument/unheardOf", `{}`, methodNotFound)
	c.refused("textDocument/hover", `{"textDocument":1}`, invalidParams)
	c.refused("textDocument/hover", `{"textDocument":{"uri":"file:///other.ql"},"position":{}}`, invalidParams)
	c.notify("unheard/of", `{}`)
	c.send(map[string]any{"jsonrpc": "2.0", "id": 7, "result": nil}) // an answer to nothing
	for body, code := range map[string]int{
		`{"jsonrpc":`:                  parseError,
		`[]`:                           invalidRequest,
		`{"id":1,"method":"shutdown"}`: invalidRequest,
		`{"jsonrpc":"2.0","id":{},"method":"exit"}`: invalidRequest,
	} {
		if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\nContent-Type: x\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		if r := c.read(); r.Error == nil || r.Error.Code != code || string(r.ID) != "null" {
			t.Errorf("%s: %+v, want the code %d", body, r.Error, code)
		}
	}
	_ = c.in.Close()
	err := <-c.end
	c.end <- err
	if !errors.Is(err, ErrNoShutdown) {
		t.Errorf("a stream that ends at once gives %v", err)
	}
}

// TestCancel has a request cancelled while it waits.
func TestCancel(t *testing.T) {
	var in, out bytes.Buffer
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":"a","method":"shutdown"}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}`,
	} {
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	s := &server{Options: Options{In: &in, Out: &out, Open: func(string) (Workspace, error) { return Workspace{}, nil }}, waiting: map[string]bool{}}
	incoming := make(chan received, maxQueue)
	s.read(t.Context(), incoming)
	for r := range incoming {
		if err := s.handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(out.String(), fmt.Sprint(requestCancelled)) || s.state != isInitialized || len(s.waiting) != 0 {
		t.Errorf("the state is %d, %d wait, and it said %s", s.state, len(s.waiting), out.String())
	}
}

func TestFraming(t *testing.T) {
	good := `{"jsonrpc":"2.0","method":"a"}`
	frame := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(good), good)
	for _, test := range []struct {
		name, text string
		ends       bool
	}{
		{"a message", frame, false},
		{"a length in other letters", strings.Replace(frame, "Content-Length", "content-length", 1), false},
		{"line feeds alone", strings.ReplaceAll(frame, "\r", ""), false},
		{"no length", "Content-Type: x\r\n\r\n" + good, true},
		{"two lengths", "Content-Length: 1\r\n" + frame, true},
		{"a length below nothing", "Content-Length: -1\r\n\r\n", true},
		{"a length beyond all", "Content-Length: 99999999999999999999\r\n\r\n", true},
		{"no header", "hello\r\n\r\n", true},
		{"an endless header", "X: " + strings.Repeat("x", maxHeader+1), true},
		{"many headers", strings.Repeat("X: x\r\n", maxHeader), true},
		{"cut off", frame[:len(frame)-1], true},
	} {
		m, err := readMessage(bufio.NewReader(strings.NewReader(test.text)))
		if test.ends != errors.Is(err, errFraming) || test.ends == (m != nil) {
			t.Errorf("%s: %+v %v", test.name, m, err)
		}
	}
	// What is too long is passed over, and the stream goes on.
	long := io.MultiReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", maxMessage+1)), io.LimitReader(spaces{}, maxMessage+1), strings.NewReader(frame))
	r := bufio.NewReader(long)
	_, err := readMessage(r)
	var refused *rpcError
	if !errors.As(err, &refused) || refused.Code != invalidRequest {
		t.Errorf("what is too long gives %v", err)
	}
	if m, err := readMessage(r); err != nil || m.Method != "a" {
		t.Errorf("behind it: %+v %v", m, err)
	}
	if _, err := readMessage(r); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestBounds checks that what an editor holds open is bounded.
func TestBounds(t *testing.T) {
	s := &server{Options: Options{Out: io.Discard}, documents: map[string]*document{}, dirty: map[string]bool{}}
	for i := range maxDocuments + 10 {
		s.didOpen(fmt.Appendf(nil, `{"textDocument":{"uri":"file:///%d","text":"EMIT 1"}}`, i))
	}
	if len(s.documents) != maxDocuments {
		t.Errorf("%d documents are open", len(s.documents))
	}
	d := newDocument(uri, 1, strings.Repeat(" ", maxText+1), false)
	if found := diagnostics(d, nil); len(found) != 1 || !strings.Contains(found[0].Message, fmt.Sprint(maxText)) {
		t.Errorf("of a text that is too long it says %+v", found)
	}
	d.uri = "file:///0"
	d.text = strings.Repeat(" ", maxHeld)
	s.documents[d.uri] = d
	s.didChange(json.RawMessage(`{"textDocument":{"uri":"file:///0"},"contentChanges":[{"range":{"start":{},"end":{}},"text":"x"}]}`))
	if s.documents[d.uri] != nil || s.dirty[d.uri] {
		t.Error("a document grows without end")
	}
}

// FuzzStream sends any bytes, behind a conversation that has begun.
func FuzzStream(f *testing.F) {
	begin := func(methods ...string) string {
		var b strings.Builder
		for _, m := range methods {
			fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
		}
		return b.String()
	}
	opened := begin(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"text":"EMIT ?x\r\n😀"}}}`, uri))
	f.Add("Content-Length: 2\r\n\r\n{}")
	f.Add(begin(`{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":` + at(0, 6) + `}`))
	f.Add(begin(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":%q},"contentChanges":[{"range":{"start":{"line":1,"character":1},"end":{"line":0,"character":-5}},"text":"x"}]}}`, uri),
		`{"jsonrpc":"2.0","id":3,"method":"textDocument/semanticTokens/full","params":`+whole+`}`))
	for method := range requests {
		f.Add(begin(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":` + at(1, 1) + `}`))
	}
	f.Fuzz(func(t *testing.T, sent string) {
		g := guard.New(nil, nil)
		// Any end of the stream is one; what counts is that it ends, and nothing panics.
		_ = Serve(t.Context(), Options{In: strings.NewReader(opened + sent), Out: io.Discard, Guard: g, Open: func(string) (Workspace, error) {
			return Workspace{Source: people}, nil
		}})
		if g.Panics() > 0 {
			t.Fatalf("%d requests panicked", g.Panics())
		}
	})
}
