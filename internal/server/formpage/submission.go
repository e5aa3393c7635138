package formpage

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// submission is what a person filled in.
type submission struct {
	Once   string // of the page it was filled in on, "" where that is not known
	Values url.Values
	Files  map[string][]upload
}

type upload struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Base64 string `json:"base64"`
}

// fieldBytes is what a field takes at most besides its name and text.
const fieldBytes = 160

// read reads a form that a browser sent, of at most so many bytes.
func (p pages) read(r *server.Request, most int) (submission, error) {
	sent, err := readForm(r, most)
	sent.Once = r.URL.Query().Get("once")
	return sent, err
}

func readForm(r *server.Request, most int) (submission, error) {
	kind, parameters, err := mime.ParseMediaType(r.HeaderValue("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		body, err := r.Body(wire.FormType, most)
		if err != nil {
			return submission{}, err
		}
		if err := r.Reserve(fieldBytes * int64(bytes.Count(body, []byte("&")))); err != nil {
			return submission{}, err
		}
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return submission{}, fault.Invalid("body", "is no form as browsers send it")
		}
		return submission{Values: values}, nil
	}
	body, err := r.Parts(most)
	if err != nil {
		return submission{}, err
	}
	return readParts(r, multipart.NewReader(body, parameters["boundary"]), most)
}

// mostParts bounds the parts of a form.
const mostParts = 1000

func readParts(r *server.Request, parts *multipart.Reader, most int) (submission, error) {
	s := submission{Values: url.Values{}, Files: map[string][]upload{}}
	for range mostParts {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return submission{}, noForm(server.BodyError(err, most))
		}
		content, err := r.ReadPart(part, most)
		if err != nil {
			return submission{}, noForm(err)
		}
		name := part.FormName()
		_, parameters, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		switch _, isFile := parameters["filename"]; {
		case !isFile:
			if err := r.Reserve(int64(len(content))); err != nil {
				return submission{}, err
			}
			s.Values.Add(name, string(content))
		case part.FileName() != "": // else no file was chosen
			if err := r.Reserve(int64(base64.StdEncoding.EncodedLen(len(content)))); err != nil {
				return submission{}, err
			}
			s.Files[name] = append(s.Files[name], upload{part.FileName(), part.Header.Get("Content-Type"), base64.StdEncoding.EncodeToString(content)})
		}
	}
	return submission{}, noForm(nil)
}

// noForm is the error of a body that cannot be read as a form, or at all.
func noForm(err error) error {
	if err != nil && !fault.Is(err, fault.InvalidRequest) {
		return err
	}
	return fault.Invalid("body", "is no form as browsers send it")
}

// sum is the same for the same answers from the same page: two people who answer the same have not sent
// it twice.
func (s submission) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	text := func(t string) {
		_, _ = fmt.Fprintf(h, "%d:", len(t))
		_, _ = io.WriteString(h, t)
	}
	text(s.Once)
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		text(name)
		for _, v := range s.Values[name] {
			text(v)
		}
		text("")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		text(name)
		for _, f := range s.Files[name] {
			text(f.Name)
			text(f.Type)
			text(f.Base64)
		}
		text("")
	}
	h.Sum(sum[:0])
	return sum
}

// reply makes a reply to the prompt of a page. A field that came back empty
// was cleared: only one that was not sent at all takes its default.
func (s submission) reply(q *server.Request, v view) (service.Reply, error) {
	r := service.Reply{Within: func(wire.Limits) error { return nil }}
	if v.Confirm {
		var approved bool
		switch all := s.Values["approved"]; {
		case len(all) > 1:
			return r, twice("approved")
		case len(all) == 0 || all[0] != "true" && all[0] != "false":
			return r, fault.Invalid("approved", "is missing: true or false fits")
		default:
			approved = all[0] == "true"
		}
		r.Approved = &approved
		switch all := s.Values["note"]; {
		case len(all) > 1:
			return r, twice("note")
		case len(all) == 1:
			r.Note = strings.TrimSpace(lines(all[0]))
		}
		if !wire.IsNote(r.Note) {
			return r, wire.NoteRefused(r.Note)
		}
		return r, nil
	}
	fields := map[string]any{}
	for _, f := range v.Fields {
		values, files := s.of(f)
		switch {
		case len(files) > 1, len(files) > 0 && len(values) > 0, len(values) > 1 && f.Input != "choices":
			return r, twice(f.Name)
		case len(files) > 0:
			fields[f.Name] = files[0]
		case f.Input == "choices":
			fields[f.Name] = values
		case len(values) > 0:
			fields[f.Name] = values[0]
		case f.Input == "tick": // browsers send a box that is ticked, and nothing of others
			fields[f.Name] = false
		}
	}
	if err := q.Reserve(s.bytes()); err != nil {
		return r, err
	}
	text, err := json.Marshal(fields)
	r.Fields, r.Nodes = string(text), nodes(fields)
	return r, err
}

// bytes is how much memory it takes at most to write the answers as JSON.
func (s submission) bytes() (n int64) {
	for _, all := range s.Values {
		for _, v := range all {
			n += 6 * int64(len(v)) // all escapes
		}
	}
	for _, all := range s.Files {
		for _, f := range all {
			n += int64(len(f.Base64))
		}
	}
	if n < service.UnreservedBytes {
		return 0
	}
	return 4 * n // it grows, and is copied
}

// nodes is how many values the JSON of some fields has, at most.
func nodes(fields map[string]any) int {
	n := 1
	for _, f := range fields {
		n += 4 // of an upload
		if list, ok := f.([]string); ok {
			n += len(list)
		}
	}
	return n
}

func twice(field string) error { return fault.Invalid(field, "occurs twice: once fits") }

// of returns what was sent for a field. Lines end as scripts expect it,
// whatever browsers make of line breaks; a choice is spelled as the form has it.
func (s submission) of(f field) (values []string, files []upload) {
	name := f.Name
	if s.Files != nil && s.Values[name] == nil && s.Files[name] == nil {
		name = partName(name)
	}
	values = []string{}
	for _, v := range s.Values[name] {
		v = lines(v)
		for _, c := range f.Choices {
			if lines(c.Value) == v {
				v = c.Value
				break
			}
		}
		values = append(values, v)
	}
	return values, s.Files[name]
}

func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// partName is a field's name as it is read from the part that a browser sends:
// browsers escape nothing there but quotes, and those in a way of their own.
func partName(name string) string {
	_, parameters, _ := mime.ParseMediaType(`form-data; name="` + strings.ReplaceAll(name, `"`, "%22") + `"`)
	return parameters["name"]
}

// fill puts into a field what was sent for it.
func (s submission) fill(f *field, w *words) {
	values, files := s.of(*f)
	switch {
	case f.Input == "file":
		if len(files) > 0 {
			f.Again = w.chooseAgain
		}
	case f.Input == "password":
		if len(values) > 0 && values[0] != "" {
			f.Again = w.typeAgain
		}
	case f.Choices != nil:
		choose(f.Choices, values)
	case len(values) > 0:
		f.Value = values[0]
	}
}
