// Package formpage is the page on which a person answers the question at which
// a job stands: plain HTML, without scripts. It turns what was filled in into
// the fields of a reply; whether they fit is decided by the operations of
// package api, and how a request comes and goes is httpapi's.
package formpage

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ql/internal/api"
	"ql/internal/api/httpapi"
	"ql/internal/fault"
	"ql/internal/form"
	"ql/internal/wire"
	"ql/lang/value"
)

// Routes returns the routes of the page.
func Routes(s *api.Service) []httpapi.Route {
	p := pages{s}
	return []httpapi.Route{
		{Method: http.MethodGet, Path: "/form/{token}", Access: httpapi.Asked, Serve: p.show, Refuse: refuse},
		{Method: http.MethodPost, Path: "/form/{token}", Access: httpapi.Asked, Longest: time.Minute, Serve: p.answer, Refuse: refuse},
	}
}

type pages struct{ service *api.Service }

//go:embed page.html
var page string

var templates = template.Must(template.New("page").Parse(page))

// view is what the page shows.
type view struct {
	Title   string
	Account string // who asks; "" on a page that asks nothing
	Message string
	Words   string // instead of a form
	Confirm bool
	Files   bool // some field takes a file
	Fields  []field
	Wrong   string
	Expires string
	Nonce   string
}

// field is a field as the page shows it.
type field struct {
	Name, Label, Help, Value string
	Input                    string // the kind of input, or "area", "choice", "choices", "yesno"
	Required                 bool
	Wrong                    string
	Choices                  []choice
}

type choice struct {
	Value, Label string
	Chosen       bool
}

func write(h http.Header, s wire.Setting, status int, v view) (httpapi.Reply, error) {
	v.Nonce = wire.NewNonce()
	var b bytes.Buffer
	if err := templates.Execute(&b, v); err != nil {
		return httpapi.Reply{}, err
	}
	wire.SetPage(h, s, v.Nonce)
	return httpapi.Reply{Status: status, Body: b.Bytes()}, nil
}

func (p pages) show(h http.Header, r *httpapi.Request) (httpapi.Reply, error) {
	q, err := p.service.Question(r.Context(), r.ID)
	if err != nil {
		return httpapi.Reply{}, err
	}
	v, err := asking(q)
	if err != nil {
		return httpapi.Reply{}, err
	}
	return write(h, r.Setting(""), http.StatusOK, v)
}

// asking is the page of a question.
func asking(q api.Question) (view, error) {
	v := view{Title: "A question from " + q.Account, Account: q.Account, Message: q.Prompt.Message, Confirm: q.Prompt.Schema == nil}
	if !q.Prompt.Expires.IsZero() {
		v.Expires = q.Prompt.Expires.UTC().Format("2 January 2006, 15:04 UTC")
	}
	if v.Confirm {
		return v, nil
	}
	schema, bad := value.ParseJSON(nil, string(q.Prompt.Schema))
	if bad != nil {
		return v, bad
	}
	v.Fields = fields(schema)
	for _, f := range v.Fields {
		v.Files = v.Files || f.Input == "file"
	}
	return v, nil
}

// fields reads the fields of a form from its schema, in their order.
func fields(schema value.Value) []field {
	var list []field
	required := map[string]bool{}
	if names := get(schema, "required"); names.IsList() {
		for i := range names.List().Len() {
			required[names.List().At(i).Str()] = true
		}
	}
	properties := get(schema, "properties")
	if !properties.IsMap() {
		return nil
	}
	for name, property := range properties.Map().All {
		list = append(list, readField(name.Str(), property, required[name.Str()]))
	}
	return list
}

func readField(name string, property value.Value, required bool) field {
	f := field{Name: name, Label: text(property, "title"), Help: text(property, "description"), Required: required, Input: "text"}
	if f.Label == "" {
		f.Label = name
	}
	if v := get(property, "default"); !v.IsNull() {
		f.Value = string(value.AppendText(nil, v))
	}
	format := map[string]string{"email": "email", "uri": "url", "date": "date", "time": "time", "password": "password", "binary": "file"}[text(property, "format")]
	switch kind := text(property, "type"); {
	case format != "":
		f.Input = format
	case kind == "boolean":
		f.Input = "yesno"
		f.Choices = chosen([]choice{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}, f.Value)
	case kind == "number", kind == "integer":
		f.Input = "number"
	case kind == "array":
		f.Input, f.Choices = "choices", choices(get(property, "items"))
	default:
		if list := choices(property); list != nil {
			f.Input, f.Choices = "choice", chosen(list, f.Value)
		}
	}
	return f
}

func chosen(list []choice, value string) []choice {
	for i := range list {
		list[i].Chosen = list[i].Value == value
	}
	return list
}

// choices reads what may be chosen: values alone, or with their labels.
func choices(property value.Value) []choice {
	var list []choice
	for _, key := range []string{"enum", "oneOf", "anyOf"} {
		all := get(property, key)
		if !all.IsList() {
			continue
		}
		for i := range all.List().Len() {
			c := all.List().At(i)
			one := choice{Value: string(value.AppendText(nil, c))}
			if c.IsMap() {
				one = choice{Value: text(c, "const"), Label: text(c, "title")}
			}
			if one.Label == "" {
				one.Label = one.Value
			}
			list = append(list, one)
		}
	}
	return list
}

func get(v value.Value, key string) value.Value {
	if !v.IsMap() {
		return value.Null
	}
	found, _ := v.Map().Get(key)
	return found
}

func text(v value.Value, key string) string {
	if t := get(v, key); t.IsText() {
		return t.Str()
	}
	return ""
}

func (p pages) answer(h http.Header, r *httpapi.Request) (httpapi.Reply, error) {
	sent, err := p.read(r)
	if err != nil {
		return httpapi.Reply{}, err
	}
	q, err := p.service.Question(r.Context(), r.ID)
	if err != nil {
		return httpapi.Reply{}, err
	}
	v, err := asking(q)
	if err != nil {
		return httpapi.Reply{}, err
	}
	reply, err := sent.reply(v)
	if err != nil {
		return httpapi.Reply{}, err
	}
	next, err := p.service.Answer(r.Context(), r.Caller, r.ID, reply)
	var wrong form.FieldErrors
	switch {
	case errors.As(err, &wrong):
		return write(h, r.Setting(""), http.StatusUnprocessableEntity, mark(v, sent, wrong))
	case err != nil:
		return httpapi.Reply{}, err
	case next != "":
		wire.SetPage(h, r.Setting(""), "")
		h.Set("Location", next)
		return httpapi.Reply{Status: http.StatusSeeOther}, nil
	}
	return write(h, r.Setting(""), http.StatusOK, view{Title: "Thank you", Words: "Your answer has arrived. You may close this page."})
}

// mark shows a form again with what was filled in and what is wrong with it.
func mark(v view, sent sent, wrong form.FieldErrors) view {
	v.Wrong = "Please look at the answers marked below."
	for i := range v.Fields {
		f := &v.Fields[i]
		if f.Input != "password" && f.Input != "file" {
			f.Value = sent.values.Get(f.Name)
		}
		f.Choices = chosen(f.Choices, f.Value)
		for _, w := range wrong {
			if w.Field == f.Name {
				f.Wrong = w.Message
			}
		}
	}
	return v
}

// sent is what a person filled in.
type sent struct {
	values url.Values
	files  map[string]upload
}

type upload struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Base64 string `json:"base64"`
}

// read reads a form that a browser sent.
func (p pages) read(r *httpapi.Request) (sent, error) {
	limits := p.service.LargestRequest()
	kind, parameters, err := mime.ParseMediaType(r.Sent("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		body, err := r.Body(wire.FormType, limits.Body)
		if err != nil {
			return sent{}, err
		}
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return sent{}, fault.Invalid("body", "is no form as browsers send it")
		}
		return sent{values: values}, nil
	}
	body, err := r.RawBody(limits.Body)
	if err != nil {
		return sent{}, err
	}
	return readParts(multipart.NewReader(bytes.NewReader(body), parameters["boundary"]))
}

// mostParts bounds the parts of a form.
const mostParts = 1000

func readParts(parts *multipart.Reader) (sent, error) {
	s := sent{values: url.Values{}, files: map[string]upload{}}
	for range mostParts {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(part)
		}
		if err != nil {
			break
		}
		switch {
		case part.FileName() != "":
			s.files[part.FormName()] = upload{part.FileName(), part.Header.Get("Content-Type"), base64.StdEncoding.EncodeToString(content)}
		case part.Header.Get("Content-Type") == "":
			s.values.Add(part.FormName(), string(content))
		}
	}
	return sent{}, fault.Invalid("body", "is no form as browsers send it")
}

// reply makes a reply to the question of a page. What was left empty was not
// answered.
func (s sent) reply(v view) (api.Reply, error) {
	r := api.Reply{Within: func(wire.Limits) error { return nil }}
	if v.Confirm {
		switch s.values.Get("approved") {
		case "true", "false":
			approved := s.values.Get("approved") == "true"
			r.Approved = &approved
			return r, nil
		}
		return r, fault.Invalid("approved", "is missing: true or false fits")
	}
	fields := map[string]any{}
	for _, f := range v.Fields {
		all := s.values[f.Name]
		switch file, isFile := s.files[f.Name]; {
		case isFile:
			fields[f.Name] = file
		case f.Input == "choices" && len(all) > 0:
			fields[f.Name] = all
		case len(all) > 0 && all[0] != "":
			fields[f.Name] = strings.ReplaceAll(all[0], "\r\n", "\n")
		}
	}
	text, err := json.Marshal(fields)
	r.Fields = text
	return r, err
}

// refuse tells a person what is wrong, in a page.
func refuse(h http.Header, s wire.Setting, r *api.Refusal) []byte {
	v := view{Title: "This did not work", Words: r.Message}
	if r.Status == http.StatusNotFound {
		v.Title = "Nothing to answer"
	}
	reply, err := write(h, s, r.Status, v)
	if err != nil {
		return []byte(r.Message)
	}
	return reply.Body
}
