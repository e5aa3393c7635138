package wire

// Reply is a request of POST /v1/confirm/{id}: exactly one of Approved and
// Fields is there.
type Reply struct {
	Approved *bool
	Fields   string // the object as it was sent, checked; "" where it was left out
	PromptID string // "" where it was left out
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

var replyFields = []string{"approved", "fields", "prompt_id"}

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
	case p.Approved == nil && p.Fields == "":
		return invalid("approved", `is missing: true or false fits, or "fields" with an object where a form is asked for`)
	}
	return nil
}

// boolean takes true and false only: a decision is never guessed.
func boolean(field string, n node) (*bool, *Refusal) {
	if n[0] != 't' && n[0] != 'f' {
		return nil, invalid(field, "is "+n.kind()+": true or false fits")
	}
	v := n[0] == 't'
	return &v, nil
}
