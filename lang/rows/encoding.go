package rows

import (
	"errors"
	"io"
	"strings"

	"ql/lang/source"
	"ql/lang/value"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

const (
	utf8Name = "utf-8"
	utf8Mark = "\uFEFF"
)

// marks are the marks of the byte order, and the encodings that they mean.
var marks = []struct{ mark, encoding string }{
	{utf8Mark, utf8Name},
	{"\xff\xfe", "utf-16le"},
	{"\xfe\xff", "utf-16be"},
}

// known are the names that are shown to whoever wrote one that there is not.
var known = []string{
	"utf-8", "utf-16", "utf-16le", "utf-16be", "latin1", "iso-8859-1", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5",
	"iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16",
	"latin2", "latin3", "latin4", "latin5", "latin9", "windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
	"windows-1255", "windows-1256", "windows-1257", "windows-1258", "macintosh", "koi8-r", "koi8-u", "ibm866", "cp866",
	"cp1250", "cp1251", "cp1252", "ascii", "gbk", "gb18030", "gb2312", "big5", "euc-jp", "shift_jis", "sjis", "euc-kr",
}

const (
	// replaced is what the WHATWG has for encodings that nobody should read.
	replaced = "replacement"
	// stateful is the one of the others in which a byte means what those before it say: no
	// reader can go on in the middle.
	stateful = "iso-2022-jp"
)

// encodingName returns the one name of an encoding, whatever it was called.
func encodingName(name string) (string, error) {
	if name == "" {
		return utf8Name, nil
	}
	e, err := htmlindex.Get(name)
	canonical := replaced
	if err == nil {
		canonical, err = htmlindex.Name(e)
	}
	if err == nil && canonical != replaced && canonical != stateful {
		return canonical, nil
	}
	if near := source.Nearest(strings.TrimSpace(name), known); near != "" {
		return "", value.Errorf(value.BadArgument, "there is no encoding %s; did you mean %s?", value.Quote(name), value.Quote(near))
	}
	return "", value.Errorf(value.BadArgument, "there is no encoding %s: usual ones are \"utf-8\", \"utf-16\", \"latin1\" and \"windows-1252\"", value.Quote(name))
}

// decoder decodes a source that is not UTF-8, and knows which of its bytes a decoded text
// was made of.
type decoder struct {
	encoding encoding.Encoding
	next     transform.Transformer
	raw      []byte // from where the text begins
	decoded  int    // how much of it the text was made of
	scratch  []byte
}

// newDecoder returns nil for UTF-8, which needs none.
func newDecoder(name string) *decoder {
	if name == utf8Name {
		return nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return &decoder{encoding: e, next: e.NewDecoder().Transformer}
}

// length returns of how many bytes of the source the first n bytes of text were made. A row
// ends between two characters.
func (d *decoder) length(n int, end bool) int {
	if cap(d.scratch) < n {
		d.scratch = make([]byte, n)
	}
	_, taken, _ := d.encoding.NewDecoder().Transformer.Transform(d.scratch[:n], d.raw[:d.decoded], end)
	return taken
}

// growth is how many bytes of UTF-8 one byte of a source becomes at most.
const growth = 3

// decode reads n bytes more and adds them, decoded, to the text.
func (r *Reader) decode(m *value.Meter, n int) error {
	d := r.raw
	taken := d.length(r.at, false)
	m.Alloc(growth * (r.at + n))
	m.Work((r.at + n) / 4)
	r.base += int64(taken)
	kept := r.text[r.at:]
	d.raw = append(make([]byte, 0, len(d.raw)-taken+n), d.raw[taken:]...)
	d.decoded -= taken
	got, err := io.ReadFull(r.src, d.raw[len(d.raw):len(d.raw)+n])
	d.raw = d.raw[:len(d.raw)+got]
	if err := r.ended(err); err != nil {
		return err
	}
	text := append(make([]byte, 0, len(kept)+growth*(len(d.raw)-d.decoded)+growth), kept...)
	wrote, used, err := d.next.Transform(text[len(text):cap(text)], d.raw[d.decoded:], r.end)
	if err != nil && !errors.Is(err, transform.ErrShortSrc) {
		return err
	}
	d.decoded += used
	r.text, r.at = string(text[:len(text)+wrote]), 0
	return nil
}
