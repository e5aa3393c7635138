package formpage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
	"ql/lang/form"
)

// submission is what a person filled in.
type submission struct {
	Once   string // of the page it was filled in on, "" where that is not known
	Values url.Values
	Files  map[string][]upload // nil for a form without files

	// refused is why a file was not taken, nil where all were.
	refused error
}

// upload is a file that came with a form.
type upload struct {
	name, mediaType string
	sum             [sha256.Size]byte
	content         form.Received // nil where it was not taken
}

// fieldBytes is what a field takes at most besides its name and text.
const fieldBytes = 160

// limits are how much is read of a form that a browser sends.
type limits struct {
	values int   // bytes of all but the files
	files  int64 // of all files
	time   time.Duration
}

// formLimits are what the answers to a form may need, with room for those that are too large, which the
// page then says.
func (v *view) formLimits(q service.PromptPage) limits {
	l := limits{values: min(v.maxBytes(), q.MaxBytes)}
	for i := range v.Fields {
		if f := &v.Fields[i]; f.Input == "file" {
			l.files += min(f.fileBytes(), cmp.Or(q.FileBytes, f.fileBytes())) + overBytes
			l.time = service.LongestTransfer
		}
	}
	return l
}

// fileBytes is how large a file may be that a field takes.
func (f *field) fileBytes() int64 { return int64(cmp.Or(f.length, form.FileBytes)) }

// overBytes is how far a file is read that is larger than what is asked for. Browsers show no answer
// before they have sent all, and fields may follow it.
const overBytes = 16 << 20

// repeatLimits are how much is read of what is sent to a question that was answered: enough to know the
// second request of a double click.
var repeatLimits = limits{values: 1 << 20, files: 16 << 20, time: time.Minute}

// read reads a form that a browser sent. Files that fields take are handed to take, which stores their
// content, and reads it to its end unless that is an error; nil takes none. What was read before
// an error is in the submission too.
func read(r *server.Request, l limits, take func(part string) func(*server.Part) (form.Received, error)) (submission, error) {
	var s submission
	err := s.read(r, l, take)
	return s, err
}

// read is the function read, which take may look at the parts before a file by.
func (s *submission) read(r *server.Request, l limits, take func(part string) func(*server.Part) (form.Received, error)) error {
	s.Once = r.URL.Query().Get("once")
	kind, _, err := mime.ParseMediaType(r.HeaderValue("Content-Type"))
	if err == nil && kind == wire.MultipartType {
		s.Values, s.Files = url.Values{}, map[string][]upload{}
		return s.readParts(r, l, take)
	}
	body, err := r.Body(wire.FormType, l.values)
	if err != nil {
		return err
	}
	if err := r.Reserve(fieldBytes * int64(bytes.Count(body, []byte("&")))); err != nil {
		return err
	}
	if s.Values, err = url.ParseQuery(string(body)); err != nil {
		return fault.Invalid("body", "is no form as browsers send it")
	}
	return nil
}

// mostParts bounds the parts of a form.
const mostParts = 1000

// readParts reads a form with files.
func (s *submission) readParts(r *server.Request, l limits, take func(part string) func(*server.Part) (form.Received, error)) error {
	left := l.values
	return r.ReadParts(server.PartLimits{Bytes: int64(l.values) + l.files, Parts: mostParts, Time: l.time}, func(p *server.Part) error {
		if !p.IsFile {
			content, err := r.ReadPart(io.LimitReader(p, int64(left)+1), left)
			if err != nil {
				return err
			}
			if left -= len(content); left < 0 {
				return tooMuchText(l.values)
			}
			if err := r.Reserve(int64(len(content))); err != nil {
				return err
			}
			s.Values.Add(p.Name, string(content))
			return nil
		}
		if p.FileName == "" { // none was chosen
			return nil
		}
		return s.readFile(p, take(p.Name))
	})
}

func tooMuchText(most int) error {
	e := fault.New(fault.TooLarge, "is too large: the answers have %d bytes at most, besides files", most)
	e.Field = "body"
	return e
}

// readFile reads a file. One that is refused does not end the form: the page shows the other answers
// again.
func (s *submission) readFile(p *server.Part, take func(*server.Part) (form.Received, error)) error {
	sum := sha256.New()
	u := upload{name: p.FileName, mediaType: p.Type}
	p.Reader = io.TeeReader(p.Reader, sum)
	if take != nil && s.refused == nil && len(s.Files[p.Name]) == 0 {
		u.content, s.refused = take(p)
	}
	if _, err := io.Copy(io.Discard, p); err != nil {
		return err
	}
	sum.Sum(u.sum[:0])
	s.Files[p.Name] = append(s.Files[p.Name], u)
	return nil
}

// tooLong is the content of a file that is larger than its field takes: what is wrong with it is said
// with what is wrong with the other answers.
type tooLong int64

// Size implements form.Received.
func (t tooLong) Size() int64 { return int64(t) }

// Store implements form.Received.
func (tooLong) Store(context.Context, string) error {
	return errors.New("a file that is too large is not stored")
}

// taker takes the files for the fields of a form.
func (v *view) taker(ctx context.Context, files *service.AnswerFiles) func(part string) func(*server.Part) (form.Received, error) {
	return func(part string) func(*server.Part) (form.Received, error) {
		i := slices.IndexFunc(v.Fields, func(f field) bool {
			return f.Input == "file" && (part == f.Name || part == partName(f.Name))
		})
		if i < 0 {
			return nil
		}
		most := v.Fields[i].fileBytes()
		return func(p *server.Part) (form.Received, error) {
			limited := &io.LimitedReader{R: p, N: most + 1}
			got, err := files.Receive(ctx, p.FileName, limited)
			if err == nil && got.Size() > most {
				return tooLong(got.Size()), nil
			}
			return got, err
		}
	}
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
			text(f.name)
			text(f.mediaType)
			text(string(f.sum[:]))
		}
		text("")
	}
	h.Sum(sum[:0])
	return sum
}

// note is what was sent beside a decision.
func (s submission) note() string { return strings.TrimSpace(lines(s.Values.Get("note"))) }

// checkNote says what is wrong with the note beside a decision, "" for nothing.
func (v *view) checkNote(s submission) string {
	note := s.note()
	switch {
	case !v.Confirm || wire.IsNote(note):
		return ""
	case utf8.RuneCountInString(note) > wire.MaxNote:
		return v.W.AtMost(wire.MaxNote)
	}
	return v.W.hidden
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
			r.Note = s.note()
		}
		return r, nil
	}
	fields := map[string]any{}
	r.Files = map[string]form.Attached{}
	for _, f := range v.Fields {
		values, files := s.of(f)
		switch {
		case len(files) > 1, len(files) > 0 && len(values) > 0, len(values) > 1 && f.Input != "choices":
			return r, twice(f.Name)
		case len(files) > 0:
			if files[0].content != nil {
				r.Files[f.Name] = form.Attached{Name: files[0].name, Type: files[0].mediaType, Content: files[0].content}
			}
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
	if n < service.UnreservedBytes {
		return 0
	}
	return 4 * n // it grows, and is copied
}

// nodes is how many values the JSON of some fields has, at most.
func nodes(fields map[string]any) int {
	n := 1
	for _, f := range fields {
		n++
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
