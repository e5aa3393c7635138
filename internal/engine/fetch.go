package engine

import (
	"bytes"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ql/lang/value"
)

// The arguments of FETCH.
const (
	fetchURL = iota
	fetchMethod
	fetchHeaders
	fetchQuery
	fetchBody
	fetchTimeout
)

const (
	contentType    = "Content-Type"
	idempotencyKey = "Idempotency-Key"
	typeForm       = "application/x-www-form-urlencoded"
	typeJSON       = "application/json"
)

// fetch makes a call. All results before it are committed first: the call may be made
// again, and is then the same.
func fetch(c *call) (value.Value, error) {
	c.state.Fetches++
	if c.o.Network == nil {
		return value.Null, value.Errorf("not_available", "there is no network here")
	}
	r, err := c.request()
	if err != nil {
		return value.Null, err
	}
	Yield(c.ctx)
	if c.o.Journal != nil {
		key, err := c.o.Journal.BeforeCall(c.ctx, c.effect.Seq)
		if err != nil {
			return value.Null, err
		}
		if r.Header[idempotencyKey] == nil {
			r.Header[idempotencyKey] = []string{key}
		}
	}
	reply, err := c.o.Network.Fetch(c.ctx, r)
	if err != nil {
		return value.Null, err
	}
	return c.reply(reply)
}

// request makes a call of a statement's clauses.
func (c *call) request() (Request, error) {
	r := Request{Number: c.state.Fetches, Method: "GET", Header: map[string][]string{}, Most: c.meter.Text}
	var err error
	if r.URL, err = c.text(fetchURL, "the URL that FETCH takes"); err != nil {
		return r, err
	}
	if v := c.args[fetchQuery]; !v.IsNull() {
		query, err := c.pairs(v, "QUERY")
		if err != nil {
			return r, err
		}
		r.URL = withQuery(r.URL, query)
	}
	if v := c.args[fetchHeaders]; !v.IsNull() {
		headers, err := c.pairs(v, "HEADERS")
		if err != nil {
			return r, err
		}
		for _, h := range headers {
			name := headerName(h.name)
			r.Header[name] = append(r.Header[name], h.value)
		}
	}
	if v := c.args[fetchBody]; !v.IsNull() {
		r.Method = "POST"
		if err := c.body(&r, v); err != nil {
			return r, err
		}
	}
	if v := c.args[fetchMethod]; !v.IsNull() {
		if r.Method, err = c.text(fetchMethod, "METHOD"); err != nil {
			return r, err
		}
		r.Method = methodName(r.Method)
	}
	if v := c.args[fetchTimeout]; !v.IsNull() {
		if r.Timeout, err = duration(v, "TIMEOUT"); err != nil {
			return r, err
		}
		if r.Timeout < time.Millisecond {
			return r, value.Errorf(value.BadArgument, "TIMEOUT takes a time in which a server can answer, not 0")
		}
	}
	return r, nil
}

// pair is a name with a value of its: a name may occur again.
type pair struct{ name, value string }

// pairs reads a map of names and values. A list gives its name several values;
// null leaves it out.
func (c *call) pairs(v value.Value, clause string) ([]pair, error) {
	if !v.IsMap() {
		return nil, value.Errorf(value.WrongKind, "%s takes a map such as {name: \"text\"}, not %s", clause, value.Describe(v))
	}
	var all []pair
	add := func(name string, v value.Value) error {
		if v.IsNull() {
			return nil
		}
		if v.IsContainer() || v.Kind() == value.KindBytes {
			return value.Errorf(value.WrongKind, "%s takes texts, numbers and booleans, and %s is %s", clause, value.Quote(name), value.Describe(v))
		}
		all = append(all, pair{name, string(asText(c.meter, v))})
		return nil
	}
	for key, v := range v.Map().All {
		name := strings.Clone(key.Str())
		if !v.IsList() {
			if err := add(name, v); err != nil {
				return nil, err
			}
			continue
		}
		for i := range v.List().Len() {
			if err := add(name, v.List().At(i)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// withQuery adds to what a URL asks for already.
func withQuery(address string, query []pair) string {
	if len(query) == 0 {
		return address
	}
	before, fragment, found := strings.Cut(address, "#")
	mark := "?"
	if strings.Contains(before, "?") {
		mark = "&"
	}
	address = before + mark + encodePairs(query, url.QueryEscape)
	if found {
		address += "#" + fragment
	}
	return address
}

func encodePairs(pairs []pair, escape func(string) string) string {
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(escape(p.name) + "=" + escape(p.value))
	}
	return b.String()
}

// methods are those that can be written in small letters too.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// methodName returns a method by its name. What is none stays as the script has
// it, so that an error shows that, and a secret in it is found and masked.
func methodName(text string) string {
	for _, m := range methods {
		if strings.EqualFold(text, m) {
			return m
		}
	}
	return text
}

// headerName writes the name of a header so that equal ones are equal. What is
// no such name stays as the script has it, as with methods.
func headerName(name string) string {
	const marks = "!#$%&'*+-.^_`|~"
	fits := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(marks, r)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !fits(r) }) {
		return name
	}
	parts := strings.Split(strings.ToLower(name), "-")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "-")
}

// body writes what is sent, and says what it is where the script does not.
func (c *call) body(r *Request, v value.Value) error {
	kind := ""
	switch {
	case v.IsMap() && mediaType(r.Header) == typeForm:
		pairs, err := c.pairs(v, "BODY of a form")
		if err != nil {
			return err
		}
		r.Body = []byte(encodePairs(pairs, url.QueryEscape))
	case v.IsContainer():
		r.Body, kind = asJSON(c.meter, v), typeJSON
	case v.IsText():
		r.Body, kind = bytes.Clone(v.Raw()), "text/plain; charset=utf-8"
	case v.Kind() == value.KindBytes:
		r.Body, kind = bytes.Clone(v.Raw()), "application/octet-stream"
	default:
		return value.Errorf(value.WrongKind, "BODY takes a map, a list, a text or bytes, not %s", value.Describe(v))
	}
	c.meter.Alloc(len(r.Body))
	c.meter.WorkBytes(len(r.Body))
	if r.Header[contentType] == nil && kind != "" {
		r.Header[contentType] = []string{kind}
	}
	return nil
}

func mediaType(header map[string][]string) string {
	if len(header[contentType]) == 0 {
		return ""
	}
	kind, _, err := mime.ParseMediaType(header[contentType][0])
	if err != nil {
		return ""
	}
	return kind
}

// reply makes the value of what came back.
func (c *call) reply(r Reply) (value.Value, error) {
	m := c.meter
	m.Alloc(len(r.Body))
	m.WorkBytes(len(r.Body))
	headers := value.NewMap(m, len(r.Header))
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := strings.ToValidUTF8(strings.Join(r.Header[name], ", "), "\uFFFD")
		m.Work(1 + len(text)/32)
		m.Alloc(value.BlockSize(len(name)) + value.BlockSize(len(text)))
		headers.Set(m, value.Text(strings.ToLower(name)), value.Text(text))
	}
	body, err := decode(m, "the reply", formatAny, r.Body)
	if err != nil {
		return value.Null, err
	}
	all := value.NewMap(m, 4)
	all.SetText("status", value.Int(int64(r.Status)))
	all.SetText("headers", headers.Value())
	all.SetText("body", body)
	all.SetText("json", c.parsed(r))
	return all.Value(), nil
}

// parsed returns the JSON of a reply; null where it says that it is something
// else, or is not what it says: its status may matter more.
func (c *call) parsed(r Reply) value.Value {
	if said := r.Header[contentType]; len(said) == 0 || !strings.Contains(strings.ToLower(said[0]), "json") {
		return value.Null // most replies
	}
	kind := mediaType(r.Header)
	if kind != typeJSON && !strings.HasSuffix(kind, "+json") || !utf8.Valid(r.Body) {
		return value.Null
	}
	v, err := value.ParseJSON(c.meter, strings.TrimPrefix(string(r.Body), byteOrderMark))
	if err != nil {
		return value.Null
	}
	return v
}
