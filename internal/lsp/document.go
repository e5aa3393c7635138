package lsp

import (
	"encoding/json"

	"ql/lang/ide"
)

const (
	// maxDocuments is how many documents may be open at once.
	maxDocuments = 1000
	// maxText is the longest text that is looked at; a longer one is followed, and nothing is said of it.
	maxText = 1 << 20
	// maxHeld bounds the text of a document that is followed.
	maxHeld = 2 * maxMessage
)

// document is one that the editor has open.
type document struct {
	uri     string
	version int
	text    string
	offsets *ide.Offsets
	inBytes bool // characters count bytes, not units of UTF-16
}

func newDocument(uri string, version int, text string, inBytes bool) *document {
	return &document{uri: uri, version: version, text: text, offsets: ide.NewOffsets(text), inBytes: inBytes}
}

// change gives a part of the document, or all of it, another text.
func (d *document) change(c contentChange) {
	if c.Range == nil {
		d.text = c.Text
	} else {
		start := d.offset(c.Range.Start)
		end := max(start, d.offset(c.Range.End))
		d.text = d.text[:start] + c.Text + d.text[end:]
	}
	d.offsets = ide.NewOffsets(d.text)
}

// offset is the byte at which a position stands; one beyond a line is at its end.
func (d *document) offset(p position) int {
	if d.inBytes {
		return d.offsets.FromUTF8(p.Line, p.Character)
	}
	return d.offsets.FromUTF16(p.Line, p.Character)
}

// position is where a byte stands.
func (d *document) position(offset int) (p position) {
	if d.inBytes {
		p.Line, p.Character = d.offsets.UTF8(offset)
	} else {
		p.Line, p.Character = d.offsets.UTF16(offset)
	}
	return p
}

// span is the range of a part of the text.
func (d *document) span(start, end int) textRange {
	return textRange{d.position(start), d.position(end)}
}

// notifications are what the editor says without waiting for an answer.
var notifications = map[string]func(*server, json.RawMessage){
	"textDocument/didOpen":   (*server).didOpen,
	"textDocument/didChange": (*server).didChange,
	"textDocument/didClose":  (*server).didClose,
}

func (s *server) didOpen(params json.RawMessage) {
	var p didOpenParams
	if decode(params, &p) != nil || len(s.documents) >= maxDocuments {
		return
	}
	t := p.TextDocument
	s.documents[t.URI] = newDocument(t.URI, t.Version, t.Text, s.utf8)
	s.dirty[t.URI] = true
}

func (s *server) didChange(params json.RawMessage) {
	var p didChangeParams
	if decode(params, &p) != nil {
		return
	}
	d := s.documents[p.uri()]
	if d == nil {
		return
	}
	for _, c := range p.ContentChanges {
		if len(d.text)+len(c.Text) > maxHeld {
			s.close(d.uri) // it cannot be followed further
			return
		}
		d.change(c)
	}
	d.version = p.TextDocument.Version
	s.dirty[d.uri] = true
}

func (s *server) didClose(params json.RawMessage) {
	var p onDocument
	if decode(params, &p) != nil || s.documents[p.uri()] == nil {
		return
	}
	s.close(p.uri())
}

// close forgets a document, and takes back what was said of it.
func (s *server) close(uri string) {
	delete(s.documents, uri)
	delete(s.dirty, uri)
	_ = s.notify("textDocument/publishDiagnostics", publishDiagnosticsParams{URI: uri, Diagnostics: []diagnostic{}})
}
