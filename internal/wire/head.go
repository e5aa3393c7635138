package wire

import (
	"slices"
	"strings"
)

// Head are headers that were made once for many answers. The values are shared: nobody changes them in place.
type Head struct {
	described, rest []headerField
	lines           []string
}

type headerField struct {
	name   string
	values []string
}

// NewHead returns headers to be set again.
func NewHead(h Header) *Head {
	made := &Head{}
	for name, values := range h {
		f := headerField{name, slices.Clip(values)}
		if name == "Content-Type" || name == "Content-Length" {
			made.described = append(made.described, f)
			continue
		}
		made.rest = append(made.rest, f)
	}
	slices.SortFunc(made.rest, func(a, b headerField) int { return strings.Compare(a.name, b.name) })
	for _, f := range made.rest {
		for _, value := range f.values {
			if strings.ContainsAny(f.name+value, "\r\n") {
				made.lines = nil
				return made
			}
			made.lines = append(made.lines, f.name+": "+strings.Trim(value, " \t")+"\r\n")
		}
	}
	return made
}

// Describe sets the type and the length of a body, which net/http has to know.
func (h *Head) Describe(to Header) {
	for _, f := range h.described {
		to[f.name] = f.values
	}
}

// Lines are all others as HTTP/1 has them, in the order of their names; none where they are not to be sent so.
func (h *Head) Lines() []string { return h.lines }

// Set sets all others, but for those that are there already. It may be nil.
func (h *Head) Set(to Header) {
	if h == nil {
		return
	}
	for _, f := range h.rest {
		if _, ok := to[f.name]; !ok {
			to[f.name] = f.values
		}
	}
}

// heads are those of a kind of answer, which all such have by http, and by https.
type heads struct {
	set              func(Header, HeaderOptions)
	plain, encrypted *Head
}

func newHeads(set func(Header, HeaderOptions)) *heads {
	made := func(s HeaderOptions) *Head {
		h := Header{}
		set(h, s)
		return NewHead(h)
	}
	return &heads{set, made(HeaderOptions{}), made(HeaderOptions{HTTPS: true})}
}

// begin sets what a kind of answer has. It returns what is not set yet, nil for nothing.
func (k *heads) begin(to Header, s HeaderOptions) *Head {
	if s.Origin != "" {
		k.set(to, s)
		return nil
	}
	head := k.plain
	if s.HTTPS {
		head = k.encrypted
	}
	head.Describe(to)
	return head
}

var (
	jsonHeads = newHeads(SetJSON)
	textHeads = newHeads(func(h Header, s HeaderOptions) { setText(h, s, false) })
	pageHeads = newHeads(func(h Header, s HeaderOptions) { SetSitePage(h, s, false) })
)
