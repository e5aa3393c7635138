package exchange

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// Method is what the script is told: HEAD is GET without the body.
func Method(r *http.Request) string {
	if r.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.Method
}

// Request is what a script finds of a request, with what it measures.
type Request struct {
	wire.Request
	Input []byte // JSON of a map, nil for nothing
	// NoInput says what the body is, where fields cannot be read of it.
	NoInput string
	// InParts says that the body is a form in parts, which is not read yet: see ReadParts.
	InParts bool

	query wire.Shape
	body  wire.Shape
}

// Reading says how a request is read.
type Reading struct {
	Limits wire.Limits
	// Address is what the script finds of the address, before all else.
	Address []wire.Pair
	// Own tells which cookies are the service's, and no script's business.
	Own func(cookie string) bool
	// ShowsAuthorization says that the header Authorization holds no credential of the service.
	ShowsAuthorization bool
}

// Within holds the request to the limits of the account.
func (q *Request) Within(l wire.Limits) error {
	if err := q.query.Within(l); err != nil {
		return inQuery(err)
	}
	if err := q.body.Within(l); err != nil {
		return err
	}
	return q.Request.Within(l)
}

// Read reads a request. Its body is counted for its network.
func Read(r *server.Request, how Reading) (*Request, error) {
	l := how.Limits
	if err := wire.CheckEncoding(r.HeaderValue("Content-Encoding")); err != nil {
		return nil, err
	}
	kind := r.HeaderValue("Content-Type")
	mediaType := ""
	if kind != "" {
		mediaType, _, _ = mime.ParseMediaType(kind)
	}
	q := &Request{InParts: mediaType == wire.MultipartType && r.ContentLength != 0}
	var body []byte
	var err error
	if r.ContentLength != 0 && !q.InParts {
		body, err = r.RawBody(l.Body)
	}
	if err != nil {
		return nil, err
	}
	if len(body) > service.UnreservedBytes {
		// Beside the body there are its text, the input, and what is decoded of them.
		if err := r.Reserve(2*int64(len(body)) + wire.DecodeBytes(body)); err != nil {
			return nil, err
		}
	}
	var query wire.Body
	if r.URL.RawQuery != "" {
		if query, q.query, err = wire.DecodeBody(wire.FormType, []byte(r.URL.RawQuery), l); err != nil {
			return nil, inQuery(err)
		}
		q.Get = query.Fields()
	}
	if len(body) > 0 {
		if q.Body, q.body, err = wire.DecodeBody(kind, body, r.DecodeLimits(body, l)); err != nil {
			return nil, err
		}
	}
	isForm := mediaType == wire.FormType
	if isForm {
		q.Post = q.Body.Fields()
	}
	switch {
	case q.Body.IsObject():
		q.Input = []byte(q.Body.Text)
	case q.Body.Kind == wire.NoBody && query.IsObject():
		q.Input = []byte(query.Text)
	case q.Body.Kind != wire.NoBody:
		q.NoInput = "the body is " + q.Body.Describe(kind) + ", of which no fields are read; an object with Content-Type: " +
			wire.JSONType + " fits, or a form with " + wire.FormType
	}
	q.Cookie = cookies(r.Request, how.Own)
	q.Entries = entries(r.Request, &how)
	if q.Body.Kind == wire.JSONBody {
		// As it was sent: signatures are of that.
		raw := q.Body.Text
		if isForm {
			raw = string(body)
		}
		q.Entries = append(q.Entries, wire.Pair{Name: "body", Value: raw})
	}
	return q, nil
}

// Receive is what has a query read the body of a request in parts; nil for one that was read.
func (q *Request) Receive(r *server.Request) func(context.Context, *service.RequestFiles, *service.Query) error {
	if !q.InParts {
		return nil
	}
	return func(ctx context.Context, files *service.RequestFiles, call *service.Query) error {
		if err := q.readParts(ctx, r, files); err != nil {
			return err
		}
		call.Request, call.Input, call.NoInput = q.Request, q.Input, ""
		return nil
	}
}

// readParts reads a form in parts. What it says is held, within what the account may be sent, and files
// go to where they are stored.
func (q *Request) readParts(ctx context.Context, r *server.Request, files *service.RequestFiles) error {
	l := files.Limits()
	l.Reserve = r.Reserve
	body := wire.NewFormBody(l)
	limits := server.PartLimits{Bytes: files.BodyBytes(), Limit: "site_body_bytes", Parts: l.FieldKeys + service.MostRequestFiles + 1, Time: service.LongestTransfer}
	err := r.ReadParts(limits, func(p *server.Part) error {
		if p.Name == "" || !utf8.ValidString(p.Name) {
			return fault.Invalid("body", "has a part without a name: each field of a form has one, in UTF-8")
		}
		if p.IsFile {
			return files.Receive(ctx, p.Name, p.FileName, p.Type, p)
		}
		left := body.Left()
		text, err := r.ReadPart(io.LimitReader(p, int64(max(left, 0))+1), l.Body)
		if err != nil {
			return err
		}
		if len(text) > left {
			e := fault.New(fault.TooLarge, "is too large: its fields have %d bytes at most, besides files", l.Body)
			e.Field, e.Limit, e.Value = "body", "body_bytes", int64(l.Body)
			return e
		}
		if !utf8.Valid(text) {
			return fault.Invalid(p.Name, "is not UTF-8: what is no text is sent as a file, with a filename")
		}
		// Beside what was read there are its text, the input, and what is decoded of them.
		if err := r.Reserve(3 * int64(len(text))); err != nil {
			return err
		}
		return body.Add(p.Name, string(text))
	})
	if err != nil {
		return err
	}
	if q.Body, q.body, err = body.Body(); err != nil {
		return err
	}
	q.Post, q.Input = q.Body.Fields(), []byte(q.Body.Text)
	return nil
}

// inQuery is the error of a decoder that read the query of the address.
func inQuery(err error) error {
	var refusal *wire.Refusal
	if errors.As(err, &refusal) && refusal.Field == "body" {
		refusal.Field = "query"
	}
	return err
}

// entries are what !REQUEST holds.
func entries(r *http.Request, how *Reading) []wire.Pair {
	list := slices.Grow(slices.Clone(how.Address), 1+len(r.Header))
	for name, values := range r.Header {
		if name == "Cookie" || name == "Authorization" && !how.ShowsAuthorization {
			continue
		}
		list = append(list, wire.Pair{Name: "header:" + strings.ToLower(name), Value: strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")})
	}
	slices.SortFunc(list[len(how.Address):], func(a, b wire.Pair) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// cookies are those that a script finds: none of the service's own, and of several with
// one name the first, which browsers put before those of wider paths.
func cookies(r *http.Request, own func(string) bool) []wire.Pair {
	if r.Header["Cookie"] == nil {
		return nil
	}
	var list []wire.Pair
	for _, c := range r.Cookies() {
		if own(c.Name) || slices.ContainsFunc(list, func(p wire.Pair) bool { return p.Name == c.Name }) {
			continue
		}
		list = append(list, wire.Pair{Name: c.Name, Value: strings.ToValidUTF8(c.Value, "\ufffd")})
	}
	return list
}
