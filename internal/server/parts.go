package server

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"

	"ql/internal/fault"
	"ql/internal/wire"
)

// PartLimits bound a body that comes in parts.
type PartLimits struct {
	Bytes int64  // of all of it
	Limit string // that of a plan which this is, "" for none
	Parts int
	// Time is in which all of it must be there, which may be long where what comes is not held in memory;
	// 0 for the time that a body has which is.
	Time time.Duration
}

// Part is a part of a form: a value, or a file as it comes.
type Part struct {
	Name   string
	IsFile bool
	// FileName is the last part of a file's name, "" where none was chosen, and Type what its sender
	// says that it is.
	FileName, Type string
	io.Reader
}

// maxPartHeader is how much of a body is read at most to find the next part and what it is.
const maxPartHeader = 64 << 10

// ReadParts reads a form with files, and hands each part to take, in their order, which reads as much of
// it as it likes; the rest is passed over. Nothing is held of what take does not hold. Who sends too
// slowly is cut off. An error of take ends it and is returned, unless it is that the body could not
// be read.
func (r *Request) ReadParts(l PartLimits, take func(*Part) error) error {
	kind, parameters, err := mime.ParseMediaType(r.HeaderValue("Content-Type"))
	if err != nil || kind != wire.MultipartType {
		return cmp.Or(wire.CheckType(wire.MultipartType, r.HeaderValue("Content-Type"), ""), errNoForm())
	}
	if err := wire.CheckEncoding(r.HeaderValue("Content-Encoding")); err != nil {
		return err
	}
	from := http.MaxBytesReader(r.writer, &r.body, l.Bytes)
	body := &partsBody{most: l.Bytes, limit: l.Limit, from: r.withStallLimit(from)}
	if l.Time > 0 {
		body.from = &pacedReader{r: r, from: from, time: paceTime, until: time.Now().Add(l.Time)}
	}
	parts := multipart.NewReader(body, parameters["boundary"])
	for range l.Parts {
		body.headerLeft = maxPartHeader
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && errors.Unwrap(err) == nil { // else it ends before its last boundary
			return nil
		}
		if err != nil {
			return body.fault()
		}
		body.headerLeft = 0
		content := &partContent{from: part}
		err = take(newPart(part, content))
		if err == nil {
			_, err = io.Copy(io.Discard, content)
		}
		switch {
		case content.isBroken:
			return body.fault()
		case err != nil:
			return err
		}
	}
	e := fault.New(fault.TooLarge, "has too many parts: %d at most", l.Parts)
	e.Field = "body"
	return e
}

// partContent is what a part holds, and whether it could be read.
type partContent struct {
	from     io.Reader
	isBroken bool
}

// Read implements io.Reader.
func (c *partContent) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.isBroken = c.isBroken || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

func newPart(p *multipart.Part, content io.Reader) *Part {
	_, parameters, _ := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	_, isFile := parameters["filename"]
	return &Part{Name: p.FormName(), IsFile: isFile, FileName: p.FileName(), Type: p.Header.Get("Content-Type"), Reader: content}
}

// errNoForm is the error of a body that cannot be read as a form.
func errNoForm() error { return fault.Invalid("body", "is no form as browsers send it") }

// partsBody is a body of parts, which knows why it could not be read to its end.
type partsBody struct {
	from       io.Reader
	most       int64
	limit      string
	headerLeft int   // bytes until the next part must have begun; 0 within a part
	err        error // of from, but not its end
}

// Read implements io.Reader.
func (b *partsBody) Read(p []byte) (int, error) {
	if b.headerLeft < 0 {
		b.err = errNoForm()
		return 0, b.err
	}
	n, err := b.from.Read(p)
	if b.headerLeft > 0 {
		if b.headerLeft -= n; b.headerLeft == 0 {
			b.headerLeft = -1
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// fault says why parts could not be read.
func (b *partsBody) fault() error {
	switch {
	case b.err == nil:
		return errNoForm()
	case isTooLarge(b.err):
		e := fault.New(fault.TooLarge, "is too large: %d bytes at most", b.most)
		e.Field = "body"
		if b.limit != "" {
			e.Limit, e.Value = b.limit, b.most
		}
		return e
	}
	return b.err
}
