package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/render"
	"ql/lang/form"
	"ql/lang/value"
)

func fileRead(c *call) (value.Value, error) {
	path, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	content, err := c.read(path)
	if err != nil {
		var e *value.Error
		if c.args[2].Truthy() && errors.As(err, &e) && e.Code == "file_not_found" {
			return value.Null, nil
		}
		return value.Null, err
	}
	f := formatOf(path)
	if v := c.args[1]; v.IsText() {
		f = format(v.Str())
	}
	return decode(c.meter, path, f, content)
}

// read returns the content of a file, as far as one value can hold it.
func (c *call) read(path string) ([]byte, error) {
	if c.o.Files == nil {
		return nil, missing("files")
	}
	Yield(c.ctx)
	content, err := c.o.Files.Read(c.ctx, path, c.meter.Text)
	if err != nil {
		return nil, err
	}
	c.meter.Alloc(len(content))
	c.meter.WorkBytes(len(content))
	return content, nil
}

func fileWrite(c *call) (value.Value, error) {
	path, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	f := formatOf(path)
	if v := c.args[2]; v.IsText() {
		f = format(v.Str())
	}
	content, err := encode(c.meter, f, c.args[1])
	if err != nil {
		return value.Null, err
	}
	Yield(c.ctx)
	return value.Null, c.o.Files.Write(c.checkpoint(), path, content)
}

func fileAppend(c *call) (value.Value, error) {
	path, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	content := asText(c.meter, c.args[1])
	if c.args[2].Truthy() {
		content = append(content, '\n')
	}
	Yield(c.ctx)
	return value.Null, c.o.Files.Append(c.checkpoint(), path, content)
}

func fileList(c *call) (value.Value, error) {
	path, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	Yield(c.ctx)
	list := value.NewList(c.meter, 0)
	for f, err := range c.o.Files.List(c.ctx, path, "") {
		if err != nil {
			return value.Null, err
		}
		c.meter.Work(10)
		c.meter.Alloc(value.BlockSize(len(f.Path)) + value.BlockSize(len(f.Name)) + 200)
		m := value.NewMap(c.meter, 5)
		m.SetText("path", value.Text(f.Path))
		m.SetText("name", value.Text(f.Name))
		m.SetText("size", value.Int(f.Size))
		m.SetText("modified", value.Text(f.Modified.UTC().Format(time.RFC3339)))
		m.SetText("folder", value.Bool(f.Folder))
		list.Append(c.meter, m.Value())
	}
	return list.Value(), nil
}

func fileCopy(c *call) (value.Value, error) { return c.fromTo(Files.Copy) }
func fileMove(c *call) (value.Value, error) { return c.fromTo(Files.Move) }

func (c *call) fromTo(do func(Files, context.Context, string, string) error) (value.Value, error) {
	from, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	to, err := c.path(1)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	Yield(c.ctx)
	return value.Null, do(c.o.Files, c.checkpoint(), from, to)
}

func fileRemove(c *call) (value.Value, error) {
	path, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	Yield(c.ctx)
	return value.Null, c.o.Files.Remove(c.checkpoint(), path)
}

func renderFile(c *call) (value.Value, error) {
	path, err := c.path(0)
	if err != nil {
		return value.Null, err
	}
	text, err := c.template(path)
	if err != nil {
		return value.Null, err
	}
	return render.HTML(c.meter, path, text, c.optional(1), c.template)
}

// template returns the text of a template.
func (c *call) template(path string) (string, error) {
	content, err := c.read(path)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(content) {
		return "", notText(path)
	}
	return strings.TrimPrefix(string(content), byteOrderMark), nil
}

// DiscardUploads removes the files that came with an answer that did not count after
// all. A run that was given the answer is of no use any more.
func (r *Run) DiscardUploads(ctx context.Context) error {
	var errs []error
	for _, path := range r.uploaded {
		errs = append(errs, r.o.Files.Remove(ctx, path))
	}
	r.uploaded = nil
	return errors.Join(errs...)
}

// Attach gives the files that come beside the next answer to a form, by its fields.
func (r *Run) Attach(files map[string]form.Attached) { r.attached = files }

// uploads stores the files that come with a form's answer among the account's
// own, from where the script moves them to where it wants them.
type uploads struct{ *Run }

// Attached implements form.Sink.
func (u uploads) Attached(field string) (form.Attached, bool) {
	a, ok := u.attached[field]
	return a, ok
}

// Store implements form.Sink.
func (u uploads) Store(ctx context.Context, f form.Upload) (string, error) {
	if u.o.Files == nil {
		return "", missing("files")
	}
	var b [8]byte
	if _, err := io.ReadFull(u.o.Rand, b[:]); err != nil {
		return "", err
	}
	path := fmt.Sprintf("/uploads/%x-%s", b, f.Name)
	write := func() error { return u.o.Files.Write(ctx, path, f.Content) }
	if f.Received != nil {
		write = func() error { return f.Received.Store(ctx, path) }
	}
	if err := write(); err != nil {
		return "", err
	}
	u.uploaded = append(u.uploaded, path)
	return path, nil
}
