package service

import (
	"context"
	"io"
	"strings"

	"ql/internal/fault"
	"ql/internal/site"
	"ql/internal/wire"
	"ql/lang"
	"ql/lang/source"
)

// Explain writes why a page failed, with the lines of its scripts as ql check shows them. It is for
// developers: visitors are to know nothing of the scripts of a site.
func (v *Site) Explain(ctx context.Context, page string, e *wire.Error) string {
	name := strings.TrimPrefix(page, site.Root+"/")
	var b strings.Builder
	if e.Code == string(fault.SyntaxError) {
		text, err := v.scriptText(ctx, page)
		if err != nil {
			return ""
		}
		include := func(path string) (string, error) { return v.scriptText(ctx, path) }
		for _, wrong := range lang.Check(text, lang.Options{Include: include}) {
			b.WriteString(wrong.Caret(name))
		}
		return b.String()
	}
	if e.Line == 0 {
		return ""
	}
	at := page
	if e.File != "" {
		at = e.File
	}
	text, err := v.scriptText(ctx, at)
	if err != nil {
		return ""
	}
	shown := source.Error{
		File: e.File, Line: e.Line, Column: e.Column, Width: 1, Message: e.Code + ": " + e.Message,
		Source: source.NewFile(e.File, text).LineText(e.Line),
	}
	return shown.Caret(name)
}

// scriptText reads a script of the account.
func (v *Site) scriptText(ctx context.Context, path string) (string, error) {
	tree, err := v.opened(ctx)
	if err != nil {
		return "", err
	}
	content, err := tree.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }() // it was only read
	text := make([]byte, min(content.Size(), int64(v.limits.ScriptBytes)))
	_, err = io.ReadFull(content, text)
	return string(text), err
}
