package service

import (
	"context"
	"strings"
	"unicode/utf8"

	"ql/internal/render"
	"ql/internal/site"
	"ql/internal/wire"
	"ql/lang/value"
)

// formTemplate is the file of a site that says what stands around the forms of its pages.
const formTemplate = "_form.html"

// What filling it may take: a form is shown to whoever comes.
const (
	formFuel   = 5_000_000
	formMemory = 4 << 20
)

// AroundForm returns what the site shows around the form of a question, which is to be put into it; nil
// where it has nothing of its own. A mistake in that is a *SiteFault.
func (v *Site) AroundForm(ctx context.Context, q *PromptPage) ([]byte, error) {
	text, err := v.Own(ctx, formTemplate)
	if err != nil || text == nil {
		return nil, err
	}
	if err := v.caller.Memory.Grow(ctx, formMemory); err != nil {
		return nil, err
	}
	ticket := v.service.o.Gate.Auxiliary(int64(v.account.ID))
	defer ticket.Release()
	if err := ticket.Turn(ctx); err != nil {
		return nil, err
	}
	message, rest, _ := strings.Cut(strings.TrimSpace(q.Prompt.Message), "\n")
	data := value.NewMap(nil, 2)
	data.SetText("title", value.Text(message))
	data.SetText("message", value.Text(strings.TrimSpace(rest)))
	filled, err := fillForm(v.limits.SyncMachine().Bounds, text, data.Value(), func() { _ = ticket.Turn(ctx) }) // it is bounded by its fuel
	if err != nil {
		return nil, v.service.recordSiteFault(ctx, v.account.ID, wire.Error{Code: render.BadTemplate, Message: err.Error(), File: site.Root + "/" + formTemplate})
	}
	return filled, nil
}

// fillForm fills a template within bounds.
func fillForm(b value.Bounds, text []byte, data value.Value, turn func()) (filled []byte, err error) {
	if !utf8.Valid(text) {
		return nil, value.Errorf(render.BadTemplate, "the template %s is not UTF-8 text", formTemplate)
	}
	m := &value.Meter{
		Bounds: b, Reserve: formFuel, TotalFuel: formFuel, Memory: formMemory, BytesLeft: formMemory, Measure: func() int64 { return 0 },
		Check: func() *value.LimitError { turn(); return nil },
	}
	m.Begin()
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *value.LimitError:
			filled, err = nil, e
		default:
			panic(e)
		}
	}()
	v, err := render.HTML(m, site.Root+"/"+formTemplate, string(text), data, nil)
	if err != nil {
		return nil, err
	}
	return v.Raw(), nil
}
