package wire

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reply is a request of POST /v1/confirm/{id}: exactly one of Approved and
// Fields is there.
type Reply struct {
	Approved *bool
	Fields   string // the object as it was sent, checked; "" where it was left out
	PromptID string // "" where it was left out
	Note     string // beside Approved; "" where it was left out
	Shape    Shape
}

// Within checks a reply against limits narrower than those it was decoded
// under.
func (p *Reply) Within(l Limits) error {
	l = l.withDefaults()
	if r := p.Shape.within(bodyField, &l); r != nil {
		return r
	}
	return nil
}

var replyFields = []string{"approved", "fields", "prompt_id", "note"}

// DecodeReply reads the body of POST /v1/confirm/{id}. The error is a *Refusal.
func DecodeReply(body []byte, l Limits) (*Reply, error) {
	l = l.withDefaults()
	p := new(Reply)
	top, r := document(body, &l, &p.Shape)
	if r == nil {
		r = p.decode(top)
	}
	if r != nil {
		return nil, r.withoutPlanLimit()
	}
	return p, nil
}

func (p *Reply) decode(top node) *Refusal {
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "approved":
			p.Approved, r = boolean("approved", value)
		case "fields":
			r = want("fields", value, '{')
			p.Fields = string(value)
		case "prompt_id":
			p.PromptID, r = optionalText("prompt_id", value)
			if r == nil && p.PromptID == "" {
				r = invalid("prompt_id", "is empty: the id of the prompt fits, or leave the field out")
			}
		case "note":
			p.Note, r = optionalText("note", value)
			if r == nil && !IsNote(p.Note) {
				r = noteRefused(p.Note)
			}
		default:
			r = unknown(bodyField, name, replyFields)
		}
		if r != nil {
			return r
		}
	}
	switch {
	case p.Approved != nil && p.Fields != "":
		return invalid("fields", "stands beside approved: one of the two fits, as the prompt asks")
	case p.Fields != "" && p.Note != "":
		return invalid("note", "stands beside fields: it goes with approved, and what a form is to take is its fields")
	case p.Approved == nil && p.Fields == "":
		return invalid("approved", `is missing: true or false fits, or "fields" with an object where a form is asked for`)
	}
	return nil
}

// MaxNote is how many characters a note beside a decision may have.
const MaxNote = 1000

// IsNote tells whether a text fits as a note: it is short enough, and nothing in it makes those who
// read it see another text than was sent.
func IsNote(text string) bool {
	return len(text) <= utf8.UTFMax*MaxNote && utf8.RuneCountInString(text) <= MaxNote && !strings.ContainsFunc(text, misleads)
}

// misleads tells whether a character of a note controls how the text around it is shown. The marks of
// direction that people type with scripts from right to left do not: they turn nothing around.
func misleads(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
		return true
	}
	return unicode.IsControl(r)
}

// noteRefused is the refusal of a text that is no note.
func noteRefused(text string) *Refusal {
	if strings.ContainsFunc(text, misleads) {
		return invalid("note", "has a control character: none fits but newlines and tabs")
	}
	return invalid("note", fmt.Sprintf("has more than %d characters: so many fit", MaxNote))
}

// boolean takes true and false only: a decision is never guessed.
func boolean(field string, n node) (*bool, *Refusal) {
	if n[0] != 't' && n[0] != 'f' {
		return nil, invalid(field, "is "+n.kind()+": true or false fits")
	}
	v := n[0] == 't'
	return &v, nil
}
