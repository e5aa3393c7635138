package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ql/internal/redacted"
)

// FormQuery is a request of POST /api.
type FormQuery struct {
	Identity string
	Password redacted.Text // the API key
	Script   string
	Request  Request
	Shape    Shape // of the largest of get, post and cookie; Bytes are the body's
}

// Within checks a query against limits narrower than those it was decoded
// under.
func (q *FormQuery) Within(l Limits) error {
	l = l.withDefaults()
	if r := q.Shape.within(bodyField, &l); r != nil {
		return r
	}
	if r := scriptWithin("q", q.Script, &l); r != nil {
		return r
	}
	if r := q.Request.within("", &l); r != nil {
		return r
	}
	return nil
}

// isFieldName tells whether a name is fit to be shown: not what a body of another kind is taken for.
func isFieldName(name string) bool {
	const longest = 32
	return len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
}

// mostFormFields is how many fields a form may send, unknown ones counted too.
const (
	mostFormFields  = 100
	formFieldsLimit = "form_fields"
)

var formFields = []string{"identity", "password", "q", "get", "post", "cookie", "path", "method"}

// DecodeForm reads the body of POST /api; fields in the address do not count.
// The error is a *Refusal.
func DecodeForm(body []byte, l Limits) (*FormQuery, error) {
	l = l.withDefaults()
	q := &FormQuery{Shape: Shape{Bytes: len(body)}}
	if r := q.decode(string(body), &l); r != nil {
		return nil, r.withoutPlanLimit()
	}
	return q, nil
}

func (q *FormQuery) decode(body string, l *Limits) *Refusal {
	if len(body) > l.Body {
		return tooLarge(bodyField, "body_bytes", l.Body)
	}
	var sent [8]bool // in the order of formFields
	ignored := ""    // the first field that is none of these
	fields := form{rest: body, most: mostFormFields, limit: formFieldsLimit}
	for {
		name, value, ok, r := fields.next()
		if r != nil {
			return r
		}
		if !ok {
			break
		}
		if name == ipEntry {
			return invalid(name, ipMessage)
		}
		known := slices.Index(formFields, name)
		if known < 0 {
			if isFieldName(name) {
				ignored = cmp.Or(ignored, name)
			}
			continue
		}
		if sent[known] {
			return invalid(name, "occurs twice: once fits")
		}
		sent[known] = true
		if r := q.set(name, value, l); r != nil {
			return r
		}
	}
	for i, hint := range []string{"the account's username or e-mail address", "the account's API key", "the script to run"} {
		if !sent[i] {
			message := "is missing: " + hint + " fits, in a field of the form-encoded body"
			switch {
			case formFields[i] == "q" && ignored == "script":
				message += `; a published script is called by its name at /v1/query, or at its own address below /run`
			case ignored != "":
				message += "; " + quote(ignored) + " is no field of this convention, which has " + strings.Join(formFields, ", ")
			}
			return invalid(formFields[i], message)
		}
	}
	if r := scriptWithin("q", q.Script, l); r != nil {
		return r
	}
	return q.Request.within("", l)
}

func (q *FormQuery) set(name, value string, l *Limits) *Refusal {
	switch name {
	case "identity":
		q.Identity = value
	case "password":
		q.Password = redacted.Text(value)
	case "q":
		q.Script = value
	case "get", "post", "cookie":
		n, r := q.object(name, value, l)
		if r != nil {
			return r
		}
		return q.setObject(name, n)
	default:
		q.Request.Entries = append(q.Request.Entries, Pair{name, value})
	}
	return nil
}

// setObject reads an object of texts: those of this convention hold nothing else.
func (q *FormQuery) setObject(name string, n node) (r *Refusal) {
	switch name {
	case "get":
		q.Request.Get, r = fields(name, n, true)
	case "post":
		q.Request.Post, r = fields(name, n, true)
	default:
		q.Request.Cookie, r = pairs(name, n)
		q.Request.Cookie = withoutOwn(q.Request.Cookie)
	}
	return r
}

// object checks a field that holds a JSON document.
func (q *FormQuery) object(name, value string, l *Limits) (node, *Refusal) {
	if value == "" {
		return "", invalid(name, `is empty: a JSON object such as {"page":"2"} fits, or leave the field out`)
	}
	shape, r := check(name, value, l)
	if r != nil {
		return "", r
	}
	q.Shape.Depth = max(q.Shape.Depth, shape.Depth)
	q.Shape.Nodes = max(q.Shape.Nodes, shape.Nodes)
	q.Shape.Keys = max(q.Shape.Keys, shape.Keys)
	return root(value), nil
}

// form walks the fields of a form-encoded body.
type form struct {
	rest  string
	count int
	most  int    // fields
	limit string // its name
}

func (f *form) next() (name, value string, ok bool, r *Refusal) {
	for f.rest != "" {
		var field string
		field, f.rest, _ = strings.Cut(f.rest, "&")
		if field == "" {
			continue
		}
		if f.count++; f.count > f.most {
			return "", "", false, tooMany(bodyField, "fields", f.limit, f.most)
		}
		name, value, _ = strings.Cut(field, "=")
		name, fault := percent(name)
		if fault != "" {
			return "", "", false, invalid(bodyField, fmt.Sprintf("the name of field %d %s", f.count, fault))
		}
		value, fault = percent(value)
		if fault != "" {
			return "", "", false, invalid(named(name), fault)
		}
		return name, value, true, nil
	}
	return "", "", false, nil
}

// percent resolves the encoding of a name or value, or says what is wrong with
// it.
func percent(s string) (text, fault string) {
	if !strings.ContainsAny(s, "%+") {
		return s, notUTF8(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '+':
			b.WriteByte(' ')
		case '%':
			high, low := hexAt(s, i+1), hexAt(s, i+2)
			if high < 0 || low < 0 {
				return "", "holds " + quote(s[i:min(i+3, len(s))]) + `: two hexadecimal digits fit after a percent sign, and "%25" for the sign itself`
			}
			b.WriteByte(byte(high<<4 | low))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	text = b.String()
	return text, notUTF8(text)
}

func hexAt(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	return hexValue(s[i])
}
