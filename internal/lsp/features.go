package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"ql/internal/editor"
	"ql/lang/ide"
)

// requests are what the editor asks for.
var requests = map[string]func(context.Context, *server, json.RawMessage) (any, error){
	"textDocument/completion":          onText(complete),
	"textDocument/hover":               onText(hover),
	"textDocument/signatureHelp":       onText(signature),
	"textDocument/definition":          onText(definition),
	"textDocument/references":          onText(references),
	"textDocument/documentHighlight":   onText(highlight),
	"textDocument/prepareRename":       onText(prepareRename),
	"textDocument/rename":              onText(rename),
	"textDocument/foldingRange":        onText(folds),
	"textDocument/documentSymbol":      onText(symbols),
	"textDocument/semanticTokens/full": onText(tokens),
	"textDocument/codeAction":          onText(actions),
	"textDocument/formatting":          onText(formatted),
}

// onText makes a request of what it asks about a document: it reads the params, and finds the document.
func onText[P interface{ uri() string }, R any](do func(context.Context, *server, *document, P) (R, error)) func(context.Context, *server, json.RawMessage) (any, error) {
	return func(ctx context.Context, s *server, params json.RawMessage) (any, error) {
		var p P
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		d := s.documents[p.uri()]
		switch {
		case d == nil:
			return nil, errorf(invalidParams, "the document %.200q is not open", p.uri())
		case len(d.text) > maxText:
			return nil, errorf(requestFailed, "the document has %d bytes, and a script may have %d", len(d.text), maxText)
		}
		return do(ctx, s, d, p)
	}
}

// account is the one of the workspace, for one request.
func (s *server) account(ctx context.Context) *editor.Account { return editor.New(ctx, s.source) }

// publish tells the mistakes of the documents that have changed.
func (s *server) publish(ctx context.Context) error {
	for uri := range s.dirty {
		delete(s.dirty, uri)
		d := s.documents[uri]
		p := publishDiagnosticsParams{URI: uri, Version: &d.version, Diagnostics: []diagnostic{}}
		// Where looking for them fails, which is reported, there are none to tell.
		_ = s.Guard.Do("lsp_diagnostics", func() { p.Diagnostics = diagnostics(d, s.account(ctx)) })
		if err := s.notify("textDocument/publishDiagnostics", p); err != nil {
			return err
		}
	}
	return nil
}

// diagnostics are the mistakes of a document.
func diagnostics(d *document, a ide.Account) []diagnostic {
	if len(d.text) > maxText {
		return []diagnostic{{
			Severity: severityWarning, Source: "ql",
			Message: fmt.Sprintf("the script has %d bytes, and may have %d: nothing is said of it", len(d.text), maxText),
		}}
	}
	found := ide.Diagnostics(d.text, a)
	list := make([]diagnostic, len(found))
	for i := range found {
		list[i] = diagnosticOf(d, &found[i])
	}
	return list
}

func diagnosticOf(d *document, found *ide.Diagnostic) diagnostic {
	severity := severityError
	if found.Severity == ide.Warning {
		severity = severityWarning
	}
	return diagnostic{Range: d.span(found.Start, found.End), Severity: severity, Code: found.Code, Source: "ql", Message: found.Message}
}

// completionKinds are the protocol's numbers for what a completion is.
var completionKinds = map[ide.Kind]int{
	ide.Keyword: 14, ide.Function: 3, ide.Variable: 6, ide.Global: 21, ide.Field: 5, ide.TableOf: 22, ide.ColumnOf: 5,
	ide.Database: 9, ide.File: 17, ide.Script: 2, ide.Number: 12, ide.Text: 12, ide.Operator: 24, ide.Constant: 21,
}

func complete(ctx context.Context, s *server, d *document, p atPosition) (completionList, error) {
	found := ide.Complete(d.text, d.offset(p.Position), s.account(ctx))
	list := completionList{Items: []completionItem{}}
	if len(found) > ide.MostCompletions { // the editor asks again when more is typed
		list.IsIncomplete, found = true, found[:ide.MostCompletions]
	}
	for i := range found {
		c := &found[i]
		item := completionItem{
			Label: c.Label, Kind: completionKinds[c.Kind], Detail: c.Detail, SortText: fmt.Sprintf("%04d", i),
			TextEdit: textEdit{d.span(c.Start, c.End), c.Insert},
		}
		if c.Doc != "" {
			doc := markdown(c.Doc)
			item.Documentation = &doc
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

func hover(ctx context.Context, s *server, d *document, p atPosition) (*hoverResult, error) {
	h := ide.Hover(d.text, d.offset(p.Position), s.account(ctx))
	if h == nil {
		return nil, nil
	}
	return &hoverResult{markdown(h.Markdown), d.span(h.Start, h.End)}, nil
}

func signature(ctx context.Context, s *server, d *document, p atPosition) (*signatureHelp, error) {
	found := ide.Signature(d.text, d.offset(p.Position), s.account(ctx))
	if found == nil {
		return nil, nil
	}
	info := signatureInformation{Label: found.Label}
	if found.Doc != "" {
		doc := markdown(found.Doc)
		info.Documentation = &doc
	}
	for _, name := range found.Parameters {
		info.Parameters = append(info.Parameters, parameterInformation{name})
	}
	return &signatureHelp{Signatures: []signatureInformation{info}, ActiveParameter: found.Active}, nil
}

// definition shows places in the document itself, and in files of the workspace's account that it
// includes where those have a path that an editor can open.
func definition(ctx context.Context, s *server, d *document, p atPosition) (*location, error) {
	a := s.account(ctx)
	found, ok := ide.Definition(d.text, d.offset(p.Position), a)
	if !ok {
		return nil, nil
	}
	if found.File == "" {
		return &location{d.uri, d.span(found.Start, found.End)}, nil
	}
	if s.folder == "" {
		return nil, nil
	}
	text, err := a.Include(found.File)
	if err != nil {
		return nil, nil //nolint:nilerr // a file that cannot be read has no places
	}
	uri := uriOf(s.folder, found.File)
	included := newDocument(uri, 0, text, s.utf8)
	return &location{uri, included.span(found.Start, found.End)}, nil
}

func references(_ context.Context, _ *server, d *document, p referenceParams) ([]location, error) {
	list := []location{}
	at := d.offset(p.Position)
	defined, ok := ide.Definition(d.text, at, nil)
	for _, r := range ide.References(d.text, at) {
		if p.Context.IncludeDeclaration || !ok || r != defined {
			list = append(list, location{d.uri, d.span(r.Start, r.End)})
		}
	}
	return list, nil
}

func highlight(_ context.Context, _ *server, d *document, p atPosition) ([]documentHighlight, error) {
	list := []documentHighlight{}
	for _, r := range ide.References(d.text, d.offset(p.Position)) {
		list = append(list, documentHighlight{d.span(r.Start, r.End)})
	}
	return list, nil
}

func prepareRename(_ context.Context, _ *server, d *document, p atPosition) (*prepareRenameResult, error) {
	r, ok := ide.Renamable(d.text, d.offset(p.Position))
	if !ok {
		return nil, nil
	}
	return &prepareRenameResult{d.span(r.Start, r.End), d.text[r.Start:r.End]}, nil
}

func rename(_ context.Context, _ *server, d *document, p renameParams) (*workspaceEdit, error) {
	edits, err := ide.Rename(d.text, d.offset(p.Position), p.NewName)
	if err != nil {
		return nil, errorf(requestFailed, "%s", err)
	}
	return changes(d, edits), nil
}

// changes are edits of a document in the words of the protocol.
func changes(d *document, edits []ide.Edit) *workspaceEdit {
	list := make([]textEdit, len(edits))
	for i, e := range edits {
		list[i] = textEdit{d.span(e.Start, e.End), e.Text}
	}
	return &workspaceEdit{map[string][]textEdit{d.uri: list}}
}

func folds(_ context.Context, _ *server, d *document, _ onDocument) ([]foldingRange, error) {
	list := []foldingRange{}
	for _, f := range ide.Folds(d.text) {
		r := foldingRange{StartLine: d.position(f.Start).Line, EndLine: d.position(f.End).Line}
		if f.Kind == ide.Comment {
			r.Kind = "comment"
		}
		list = append(list, r)
	}
	return list, nil
}

// symbolKinds are the protocol's numbers for what a symbol is.
var symbolKinds = map[ide.Kind]int{ide.Function: 12, ide.Constant: 14, ide.Variable: 13, ide.Field: 8}

func symbols(_ context.Context, _ *server, d *document, _ onDocument) ([]documentSymbol, error) {
	list := []documentSymbol{}
	for _, s := range ide.Symbols(d.text) {
		list = append(list, documentSymbol{
			Name: s.Name, Detail: s.Detail, Kind: symbolKinds[s.Kind],
			Range: d.span(s.Start, s.End), SelectionRange: d.span(s.NameStart, s.NameEnd),
		})
	}
	return list, nil
}

// tokenTypes are what tokens are called by the protocol, and tokenKinds which of them each kind is.
var (
	tokenTypes = []string{"keyword", "function", "variable", "property", "class", "string", "number", "comment", "operator"}
	tokenKinds = map[ide.Kind]int{
		ide.Keyword: 0, ide.Function: 1, ide.Variable: 2, ide.Global: 2, ide.Field: 3, ide.ColumnOf: 3, ide.TableOf: 4,
		ide.Database: 4, ide.Text: 5, ide.File: 5, ide.Script: 5, ide.Number: 6, ide.Comment: 7, ide.Operator: 8,
	}
)

// tokens are written as the protocol has it: each by where it stands behind the one before. One that goes
// over lines is one on each, as editors want it.
func tokens(_ context.Context, _ *server, d *document, _ onDocument) (semanticTokens, error) {
	data := []int{}
	var before position
	for _, t := range ide.Tokens(d.text) {
		kind, ok := tokenKinds[t.Kind]
		if !ok {
			continue
		}
		start, end := d.position(t.Start), d.position(t.End)
		for line := start.Line; line <= end.Line; line++ {
			from, to := position{Line: line}, end
			if line == start.Line {
				from = start
			}
			if line < end.Line {
				to = d.position(d.offset(position{line, len(d.text)}))
			}
			if to.Character <= from.Character {
				continue
			}
			character := from.Character
			if line == before.Line {
				character -= before.Character
			}
			data = append(data, line-before.Line, character, to.Character-from.Character, kind, 0)
			before = from
		}
	}
	return semanticTokens{data}, nil
}

// quickFix is the kind of action that mends a mistake.
const quickFix = "quickfix"

func actions(ctx context.Context, s *server, d *document, p codeActionParams) ([]codeAction, error) {
	list := []codeAction{}
	if len(p.Context.Only) > 0 && !slices.Contains(p.Context.Only, quickFix) {
		return list, nil
	}
	start := d.offset(p.Range.Start)
	for _, a := range ide.Actions(d.text, start, max(start, d.offset(p.Range.End)), s.account(ctx)) {
		mended := diagnosticOf(d, &a.Diagnostic)
		list = append(list, codeAction{Title: a.Title, Kind: quickFix, Diagnostics: []diagnostic{mended}, Edit: changes(d, a.Edits)})
	}
	return list, nil
}

// formatted replaces the whole text, or nothing where that is in the written form. What cannot be read is
// not changed: its mistakes are told anyway.
func formatted(_ context.Context, _ *server, d *document, _ onDocument) ([]textEdit, error) {
	after, wrong := ide.Format(d.text)
	if len(wrong) > 0 {
		return nil, errorf(requestFailed, "a script with mistakes is not formatted: %s", wrong[0].Message)
	}
	if after == d.text {
		return []textEdit{}, nil
	}
	return []textEdit{{d.span(0, len(d.text)), after}}, nil
}
