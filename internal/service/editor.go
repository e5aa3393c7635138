package service

import (
	"context"
	"io"
	"iter"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/editor"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/ide"
)

// writeScripts is what lets ask about a script that somebody writes: who may run any script may see by it
// all that is told here.
var writeScripts = access{"scripts", passwordOrName, scope.Run}

// mostMistakes is how many mistakes of a script are told.
const mostMistakes = 100

// lookBytes is what looking at a script takes at the most for each byte of it; to format it takes nodeBytes
// for each node of its tree, and printedBytes for each byte that may be printed. TestLookMemory measures them.
const (
	lookBytes    = 260
	nodeBytes    = 1200
	printedBytes = 6
	// editBytes is what an edit of an answer takes beside its text, which is there twice while the answer grows.
	editBytes = 400
)

// formatMemory is what it takes to format a text. To find out takes no more than to look at it.
func formatMemory(text string) int64 {
	nodes, bytes := ide.FormatSize(text)
	return nodeBytes*int64(nodes) + printedBytes*int64(bytes)
}

// EditorAnswer is what is known of a script that somebody writes.
type EditorAnswer struct {
	Meta
	Body []byte
}

// looked is a script that somebody writes, and the account that it is for.
type looked struct {
	*wire.EditorQuery
	offsets *ide.Offsets
	account *editor.Account
}

// look answers a request about a script, which takes so much memory, within the turns of its account and counted in its month as a
// script's time is. Nothing is run.
func (s *Service) look(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery, memory int64, answer func(*looked) ([]byte, error)) (EditorAnswer, error) {
	owner, err := s.authenticateOwner(ctx, c, p, writeScripts)
	a := EditorAnswer{Meta: Meta{Origin: owner.origin}}
	if err != nil {
		return a, err
	}
	limits := owner.Account.Limits(s.o.Limits)
	verdict := s.countEdit(c, owner.Account)
	a.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return a, err
	}
	if err := q.Within(wireLimits(limits)); err != nil {
		return a, err
	}
	if err := reserveLook(ctx, c.Memory, memory); err != nil {
		return a, err
	}
	d, err := s.openDatabases(ctx, owner.Account, limits, limits.SyncTime)
	if err != nil {
		return a, err
	}
	defer d.close()
	defer d.spent()
	source, closeSource := s.editorSource(owner.Account, d, c)
	defer closeSource()
	l := &looked{EditorQuery: q, offsets: ide.NewOffsets(q.Text), account: editor.New(d.ctx, source)}
	body, err := answer(l)
	if err == nil {
		err = d.fault(l.account.Err(), limitSyncTime, limits.SyncTime)
	}
	a.Body = body
	return a, err
}

// reserveLook reserves what looking at a text takes.
func reserveLook(ctx context.Context, m *CallMemory, bytes int64) error {
	if bytes > UnreservedBytes {
		return m.Grow(ctx, bytes)
	}
	return nil
}

// lookMemory is what it takes to look at a text of so many bytes.
func lookMemory(bytes int64) int64 { return lookBytes * bytes }

// editorSource is where an account's databases, files and programs are looked up. Files are opened when
// they are asked for.
func (s *Service) editorSource(owner account.Account, d *ownerDatabases, c Caller) (_ editor.Source, closeAll func()) {
	tree, release := FileTree(nil), func() {}
	open := func(ctx context.Context) (err error) {
		if tree == nil {
			var opened func()
			if tree, opened, err = s.o.Files(ctx, owner, d.limits); err == nil {
				release = opened
			}
		}
		return err
	}
	source := editor.Source{
		Databases: func(ctx context.Context) (names []string, err error) {
			list, err := d.List(ctx, "", editor.MaxDatabases)
			for i := range list {
				names = append(names, list[i].Name)
			}
			return names, err
		},
		Tables: func(ctx context.Context, name string) (tables []ide.Table, err error) {
			list, _, err := d.Schema(ctx, name, "", editor.MaxTables)
			for i := range list {
				t := ide.Table{Name: list[i].Name}
				for _, column := range list[i].Columns {
					t.Columns = append(t.Columns, ide.Column{Name: column.Name, Type: column.Type})
				}
				tables = append(tables, t)
			}
			return tables, err
		},
		Files: func(ctx context.Context, folder, after string) iter.Seq2[engine.FileInfo, error] {
			if err := open(ctx); err != nil {
				return func(yield func(engine.FileInfo, error) bool) { yield(engine.FileInfo{}, err) }
			}
			return tree.List(ctx, folder, after)
		},
		Programs: func(ctx context.Context) (programs []ide.Program, err error) {
			list, err := s.o.Scripts.Scripts(ctx, owner.ID, "", editor.MaxPrograms)
			for i := range list {
				programs = append(programs, ide.Program{Name: list[i].Name})
			}
			return programs, err
		},
		MaxIncluded: d.limits.SourceBytes,
		Include: func(ctx context.Context, path string, most int) (string, error) {
			if err := open(ctx); err != nil {
				return "", err
			}
			return readInclude(ctx, tree, path, most, c.Memory)
		},
	}
	return source, func() { release() }
}

// readInclude returns the text of a file that a script includes, of at most so many bytes, and reserves
// what looking at it takes.
func readInclude(ctx context.Context, tree FileTree, path string, most int, m *CallMemory) (string, error) {
	content, err := tree.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }() // it was only read
	if size := content.Size(); size > int64(most) {
		return "", fault.New(fault.TooLarge, "it has %d bytes, and what a script includes may have %d more", size, most)
	}
	if err := reserveLook(ctx, m, lookMemory(content.Size())); err != nil {
		return "", err
	}
	text := make([]byte, content.Size())
	if _, err := io.ReadFull(content, text); err != nil {
		return "", err
	}
	return string(text), nil
}

// place is where a part of the text stands.
func (l *looked) place(start, end int) wire.Place {
	var p wire.Place
	p.Line, p.Column = l.offsets.Position(start)
	p.EndLine, p.EndColumn = l.offsets.Position(end)
	return p
}

// at is the offset of the place that the request names.
func (l *looked) at() int { return l.offsets.Offset(l.Line, l.Column) }

func (l *looked) edits(list []ide.Edit) []wire.Edit {
	edits := make([]wire.Edit, 0, len(list))
	for _, e := range list {
		edits = append(edits, wire.Edit{Place: l.place(e.Start, e.End), Text: e.Text})
	}
	return edits
}

func (l *looked) mistake(d *ide.Diagnostic) wire.Mistake {
	m := wire.Mistake{Place: l.place(d.Start, d.End), Severity: string(d.Severity), Code: d.Code, Message: d.Message}
	for _, f := range d.Fixes {
		m.Fixes = append(m.Fixes, wire.Fix{Title: f.Title, Edits: l.edits(f.Edits)})
	}
	return m
}

// Check finds the mistakes of a script, and what it could do.
func (s *Service) Check(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery) (EditorAnswer, error) {
	return s.look(ctx, c, p, q, lookMemory(int64(len(q.Text))), func(l *looked) ([]byte, error) {
		found := ide.Diagnostics(l.Text, l.account)
		list := make([]wire.Mistake, 0, min(len(found), mostMistakes))
		for i := range found[:cap(list)] {
			list = append(list, l.mistake(&found[i]))
		}
		reach := wire.Reach(ide.Effects(l.Text, l.account))
		return wire.AppendCheck(nil, list, len(found) > len(list), &reach), nil
	})
}

// Complete tells what may stand where somebody types.
func (s *Service) Complete(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery) (EditorAnswer, error) {
	return s.look(ctx, c, p, q, lookMemory(int64(len(q.Text))), func(l *looked) ([]byte, error) {
		found := ide.Complete(l.Text, l.at(), l.account)
		list := make([]wire.Completion, 0, min(len(found), ide.MostCompletions))
		for _, f := range found[:cap(list)] {
			list = append(list, wire.Completion{
				Place: l.place(f.Start, f.End), Label: f.Label, Kind: string(f.Kind), Detail: f.Detail, Doc: f.Doc, Insert: f.Insert,
			})
		}
		return wire.AppendCompletions(nil, list, len(found) > len(list)), nil
	})
}

// Hover tells what is known of what stands at a place.
func (s *Service) Hover(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery) (EditorAnswer, error) {
	return s.look(ctx, c, p, q, lookMemory(int64(len(q.Text))), func(l *looked) ([]byte, error) {
		h := ide.Hover(l.Text, l.at(), l.account)
		if h == nil {
			return wire.AppendHover(nil, nil), nil
		}
		return wire.AppendHover(nil, &wire.Hover{Place: l.place(h.Start, h.End), Markdown: h.Markdown}), nil
	})
}

// Definition tells where the name at a place gets its meaning: in the script, or in a file that it includes.
func (s *Service) Definition(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery) (EditorAnswer, error) {
	return s.look(ctx, c, p, q, lookMemory(int64(len(q.Text))), func(l *looked) ([]byte, error) {
		found, ok := ide.Definition(l.Text, l.at(), l.account)
		if !ok {
			return wire.AppendDefinition(nil, nil), nil
		}
		d := wire.Definition{File: found.File}
		if found.File == "" {
			d.Place = l.place(found.Start, found.End)
			return wire.AppendDefinition(nil, &d), nil
		}
		text, err := l.account.Include(found.File) // which was read to find it
		if err != nil {
			return nil, err
		}
		in := ide.NewOffsets(text)
		d.Line, d.Column = in.Position(found.Start)
		d.EndLine, d.EndColumn = in.Position(found.End)
		return wire.AppendDefinition(nil, &d), nil
	})
}

// Rename tells what gives the variable or the function at a place another name, wherever it stands in the
// script. A name that would mean something else is refused.
func (s *Service) Rename(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery) (EditorAnswer, error) {
	return s.look(ctx, c, p, q, lookMemory(int64(len(q.Text))), func(l *looked) ([]byte, error) {
		edits, err := ide.Rename(l.Text, l.at(), l.Name)
		if err != nil {
			return nil, fault.Invalid("name", "cannot be given here: %v", err)
		}
		if err := reserveLook(ctx, c.Memory, int64(len(edits))*int64(editBytes+2*len(l.Name))); err != nil {
			return nil, err
		}
		return wire.AppendRename(nil, l.edits(edits)), nil
	})
}

// Format writes a script in the one written form. One with mistakes is refused.
func (s *Service) Format(ctx context.Context, c Caller, p *Credentials, q *wire.EditorQuery) (EditorAnswer, error) {
	memory := lookMemory(int64(len(q.Text)))
	return s.look(ctx, c, p, q, memory, func(l *looked) ([]byte, error) {
		if err := reserveLook(ctx, c.Memory, formatMemory(l.Text)-memory); err != nil {
			return nil, err
		}
		text, wrong := ide.Format(l.Text)
		if len(wrong) == 0 {
			return wire.AppendFormatted(nil, text), nil
		}
		e := &wire.Error{Code: string(fault.SyntaxError), Message: wrong[0].Message}
		e.Line, e.Column = l.offsets.Position(wrong[0].Start)
		for i := range wrong[:min(len(wrong), mostMistakes)] {
			d := wire.Detail{Code: e.Code, Message: wrong[i].Message}
			d.Line, d.Column = l.offsets.Position(wrong[i].Start)
			e.Details = append(e.Details, d)
		}
		return nil, &scriptFailure{e}
	})
}
