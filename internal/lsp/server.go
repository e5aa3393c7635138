// Package lsp serves the language to editors by the Language Server Protocol: it reads and writes
// messages, follows documents while they are edited, and says in the words of the protocol what package
// ide knows of their texts. It runs nothing, and reaches an account only by what it is given.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"ql/internal/editor"
	"ql/internal/guard"
)

// Options are what a server works with.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Open returns what scripts in a folder reach: that of the editor's workspace, "" where it has none.
	Open func(folder string) (Workspace, error)
	// Version is that of the program, for the editor's log.
	Version string
	// Guard recovers what goes wrong in a request, so that the others are answered.
	Guard *guard.Guard
}

// Workspace is the account that an editor writes scripts for.
type Workspace struct {
	editor.Source
	// Folder is where its files are, for editors to open them; "" where they cannot.
	Folder string
}

// ErrNoShutdown is the error of a stream that ended, or of an exit that came, without the request for it.
var ErrNoShutdown = errors.New("the editor went away without asking for a shutdown")

// maxQueue is how many messages wait for the one that is worked on.
const maxQueue = 16

// server is one conversation with an editor.
type server struct {
	Options
	source    editor.Source
	folder    string
	documents map[string]*document
	dirty     map[string]bool // documents whose mistakes are to be told
	utf8      bool            // characters count bytes, not UTF-16
	state     state

	mu      sync.Mutex
	waiting map[string]bool // requests that are not answered yet, by id; true for those that nobody wants any more
}

// state is how far a conversation has come.
type state uint8

const (
	isNew state = iota
	isInitialized
	isShutDown
)

// received is what the reader hands on: a message, or an error to answer.
type received struct {
	message *message
	err     error
}

// Serve talks with an editor until that says exit, the stream ends, or ctx does. One request is worked on
// at a time: each takes some milliseconds.
func Serve(ctx context.Context, o Options) error {
	s := &server{Options: o, documents: map[string]*document{}, dirty: map[string]bool{}, waiting: map[string]bool{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	incoming := make(chan received, maxQueue)
	o.Guard.Go("lsp_reader", func() { s.read(ctx, incoming) })
	for {
		r, ok := s.next(ctx, incoming)
		switch {
		case !ok && ctx.Err() != nil:
			return ctx.Err()
		case !ok:
			return s.ended()
		case r.message != nil && r.message.Method == "exit":
			return s.ended()
		}
		if err := s.handle(ctx, r); err != nil {
			return err
		}
	}
}

func (s *server) ended() error {
	if s.state == isShutDown {
		return nil
	}
	return ErrNoShutdown
}

// read reads messages until the stream or ctx ends. A cancellation takes effect at once: what it is about
// is in the queue.
func (s *server) read(ctx context.Context, to chan<- received) {
	defer close(to)
	in := bufio.NewReader(s.In)
	for {
		m, err := readMessage(in)
		var refused *rpcError
		switch {
		case err != nil && !errors.As(err, &refused):
			return
		case m != nil && m.Method == "$/cancelRequest":
			s.cancel(m)
			continue
		case m != nil && m.isRequest():
			s.mu.Lock()
			s.waiting[string(m.ID)] = false
			s.mu.Unlock()
		}
		select {
		case to <- received{m, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) cancel(m *message) {
	var p cancelParams
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waiting[string(p.ID)]; ok {
		s.waiting[string(p.ID)] = true
	}
}

// begin takes a request out of those that wait, and tells whether it is still wanted.
func (s *server) begin(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancelled := s.waiting[string(id)]
	delete(s.waiting, string(id))
	return !cancelled
}

// next returns the next message. Mistakes of documents are told when none waits, so that who types fast
// has each letter read, and the text looked at once.
func (s *server) next(ctx context.Context, from <-chan received) (received, bool) {
	for len(s.dirty) > 0 {
		select {
		case r, ok := <-from:
			return r, ok
		case <-ctx.Done():
			return received{}, false
		default:
			if s.publish(ctx) != nil {
				return received{}, false
			}
		}
	}
	select {
	case r, ok := <-from:
		return r, ok
	case <-ctx.Done():
		return received{}, false
	}
}

// handle does what a message says. The error is one of the stream.
func (s *server) handle(ctx context.Context, r received) error {
	if r.err != nil {
		return s.answer(json.RawMessage("null"), nil, r.err)
	}
	m := r.message
	switch {
	case m.Method == "" && m.isRequest(): // the answer to a request, and we made none
		s.begin(m.ID)
		return nil
	case !m.isRequest():
		if do := notifications[m.Method]; do != nil && s.state == isInitialized {
			_ = s.Guard.Do("lsp_notification", func() { do(s, m.Params) }) // nobody waits for an answer
		}
		return nil
	case !s.begin(m.ID):
		return s.answer(m.ID, nil, errorf(requestCancelled, "the request was cancelled"))
	}
	var result any
	err := s.Guard.DoErr("lsp_request", func() (err error) {
		result, err = s.request(ctx, m)
		return err
	})
	return s.answer(m.ID, result, err)
}

// request answers a request.
func (s *server) request(ctx context.Context, m *message) (any, error) {
	switch {
	case m.Method == "initialize" && s.state == isNew:
		return s.initialize(m.Params)
	case m.Method == "initialize":
		return nil, errorf(invalidRequest, "the server is initialized already")
	case s.state == isNew:
		return nil, errorf(notInitialized, "the server is not initialized: initialize comes first")
	case s.state == isShutDown:
		return nil, errorf(invalidRequest, "the server is shut down: exit is all that fits")
	case m.Method == "shutdown":
		s.state = isShutDown
		clear(s.dirty)
		return nil, nil
	}
	do := requests[m.Method]
	if do == nil {
		return nil, errorf(methodNotFound, "there is no method %.80q", m.Method)
	}
	return do(ctx, s, m.Params)
}

// answer writes what became of a request. What is no error of the protocol tells nothing of the inside.
func (s *server) answer(id json.RawMessage, result any, err error) error {
	r := response{Version: "2.0", ID: id}
	var known *rpcError
	switch {
	case errors.As(err, &known):
		r.Error = known
	case err != nil:
		r.Error = errorf(internalError, "the server could not answer this, which is a fault of its own")
	default:
		text, err := json.Marshal(result)
		if err != nil {
			return err
		}
		r.Result = text
	}
	return writeMessage(s.Out, r)
}

// notify tells the editor something.
func (s *server) notify(method string, params any) error {
	return writeMessage(s.Out, notification{"2.0", method, params})
}

// initialize begins a conversation: it opens the account of the folder that the editor works in, and says
// what the server does.
func (s *server) initialize(params json.RawMessage) (any, error) {
	var p initializeParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	root := p.RootURI
	if len(p.WorkspaceFolders) > 0 {
		root = p.WorkspaceFolders[0].URI
	}
	folder, _ := pathOf(root)
	opened, err := s.Open(folder)
	if err != nil {
		return nil, errorf(requestFailed, "%s", err)
	}
	s.source, s.folder, s.state = opened.Source, opened.Folder, isInitialized
	s.utf8 = slices.Contains(p.Capabilities.General.PositionEncodings, "utf-8")
	return initializeResult{ServerInfo: serverInfo{"ql", s.Version}, Capabilities: capabilities(s.utf8)}, nil
}

func capabilities(inBytes bool) serverCapabilities {
	encoding := "utf-16"
	if inBytes {
		encoding = "utf-8"
	}
	return serverCapabilities{
		PositionEncoding:           encoding,
		TextDocumentSync:           textDocumentSync{OpenClose: true, Change: syncIncremental},
		CompletionProvider:         completionOptions{TriggerCharacters: []string{"?", "!", ".", "\"", "/"}},
		HoverProvider:              true,
		SignatureHelpProvider:      signatureOptions{TriggerCharacters: []string{"("}, RetriggerCharacters: []string{","}},
		DefinitionProvider:         true,
		ReferencesProvider:         true,
		DocumentHighlightProvider:  true,
		RenameProvider:             renameOptions{PrepareProvider: true},
		FoldingRangeProvider:       true,
		DocumentSymbolProvider:     true,
		SemanticTokensProvider:     semanticTokensOptions{Legend: semanticLegend{TokenTypes: tokenTypes, TokenModifiers: []string{}}, Full: true},
		CodeActionProvider:         codeActionOptions{CodeActionKinds: []string{quickFix}},
		DocumentFormattingProvider: true,
	}
}

// pathOf returns the path of a file that an address names.
func pathOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path), true
}

// uriOf returns the address of a file of an account's folder.
func uriOf(folder, path string) string {
	at := filepath.ToSlash(filepath.Join(folder, filepath.FromSlash(path)))
	if !strings.HasPrefix(at, "/") {
		at = "/" + at
	}
	return (&url.URL{Scheme: "file", Path: at}).String()
}

// decode reads the params of a message. The error is an *rpcError.
func decode(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return errorf(invalidParams, "the params are missing")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return errorf(invalidParams, "the params are not those of the method: %s", err)
	}
	return nil
}
