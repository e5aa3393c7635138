package lib

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"io"

	"ql/lang/value"
)

// What the compressor of package flate and its reader hold.
const (
	deflateMemory = 1100 << 10
	inflateMemory = 48 << 10
)

// What they cost: the compressor to start over, by the byte; the reader by the byte
// that it takes and, in 1/64, by the byte that it gives. A byte may bring it a block
// without content, for which it makes tables all the same.
const (
	deflateStart    = 6000
	deflateByteWork = 8
	inflateStart    = 300
	inflateByteWork = 12
	inflatedWork    = 32
)

// mostInflated is how many bytes one byte can be inflated to, whatever it says.
const mostInflated = 1032

// deflater compresses, one text after the other.
type deflater struct {
	c *Call
	w *flate.Writer
}

// Write lets the compressor add to a buffer.
func (t *buffer) Write(p []byte) (int, error) {
	t.room(len(p))
	t.b = append(t.b, p...)
	return len(p), nil
}

// add adds content to out, compressed.
func (d *deflater) add(out *buffer, content []byte) error {
	d.c.Meter.Work(deflateStart)
	if d.w == nil {
		d.c.Meter.Alloc(deflateMemory)
		w, err := flate.NewWriter(out, flate.DefaultCompression)
		if err != nil {
			return err
		}
		d.w = w
	} else {
		d.w.Reset(out)
	}
	for from := 0; from < len(content); from += part {
		piece := content[from:min(len(content), from+part)]
		d.c.Meter.Work(len(piece) * deflateByteWork)
		if _, err := d.w.Write(piece); err != nil {
			return err
		}
	}
	return d.w.Close()
}

// chargedBytes gives out bytes, each paid before.
type chargedBytes struct {
	c    *Call
	s    []byte
	i    int
	paid int
}

func (r *chargedBytes) pay(n int) {
	if r.i+n > r.paid {
		const step = 1 << 10
		n = min(len(r.s), r.i+max(n, step))
		r.c.Meter.Work((n - r.paid) * inflateByteWork)
		r.paid = n
	}
}

func (r *chargedBytes) ReadByte() (byte, error) {
	if r.i == len(r.s) {
		return 0, io.EOF
	}
	if r.i == r.paid {
		r.pay(1)
	}
	b := r.s[r.i]
	r.i++
	return b, nil
}

func (r *chargedBytes) Read(p []byte) (int, error) {
	n := min(len(p), len(r.s)-r.i)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	r.pay(n)
	copy(p, r.s[r.i:r.i+n])
	r.i += n
	return n, nil
}

// inflater reads what was compressed, one text after the other.
type inflater struct {
	c *Call
	r io.ReadCloser
}

var errLength = errors.New("another length than it says")

// fill fills out with what packed is inflated to, which must be just as long.
func (f *inflater) fill(out, packed []byte) error {
	f.c.Meter.Work(inflateStart)
	in := &chargedBytes{c: f.c, s: packed}
	if f.r == nil {
		f.c.Meter.Alloc(inflateMemory)
		f.r = flate.NewReader(in)
	} else if err := f.r.(flate.Resetter).Reset(in, nil); err != nil {
		return err
	}
	for from := 0; from < len(out); from += part {
		piece := out[from:min(len(out), from+part)]
		f.c.Meter.Work(len(piece)*inflatedWork/64 + 1)
		if _, err := io.ReadFull(f.r, piece); err != nil {
			return err
		}
	}
	var more [1]byte
	if n, err := io.ReadFull(f.r, more[:]); n > 0 || !errors.Is(err, io.EOF) {
		return errLength
	}
	return nil
}

// bytes returns what was collected as bytes.
func (t *buffer) bytes() value.Value {
	b := value.NewBuilder(t.c.Meter, value.KindBytes, len(t.b))
	copy(b.Reserve(len(t.b)), t.b)
	return b.Value()
}

// The head of what GZIP writes: deflate, no name, no time, of no system. The same
// content always becomes the same bytes.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

func gzipped(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "GZIP", args)
	in.content(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	content := args[0].Raw()
	out := buffer{c: c}
	out.add(gzipHead)
	d := deflater{c: c}
	if err := d.add(&out, content); err != nil {
		return value.Null, err
	}
	out.b = appendUint32(appendUint32(out.tail(8), crc32.ChecksumIEEE(content)), uint32(len(content)))
	return out.bytes(), nil
}

// tail returns the bytes so far, with room for n more.
func (t *buffer) tail(n int) []byte {
	t.room(n)
	return t.b
}

func gunzipped(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "GUNZIP", args)
	packed := in.bytes(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(inflateStart)
	c.Meter.Alloc(inflateMemory)
	r, err := gzip.NewReader(&chargedBytes{c: c, s: packed})
	if err != nil {
		return value.Null, notGZIP(err, packed)
	}
	out := buffer{c: c}
	for {
		out.room(min(part, max(len(packed), 1<<10)))
		free := out.b[len(out.b):cap(out.b)]
		free = free[:min(len(free), part)]
		c.Meter.Work(len(free)*inflatedWork/64 + 1)
		n, err := r.Read(free)
		out.b = out.b[:len(out.b)+n]
		if errors.Is(err, io.EOF) {
			return out.bytes(), nil
		}
		if err != nil {
			return value.Null, notGZIP(err, packed)
		}
	}
}

func notGZIP(err error, packed []byte) *value.Error {
	what := "its content is damaged"
	switch {
	case bytes.HasPrefix(packed, []byte("PK\x03\x04")):
		what = "it is a ZIP archive, which ZIP_READ(…) and FROM_ZIP(…) read"
	case !bytes.HasPrefix(packed, []byte(gzipHead[:2])):
		what = "it starts with other bytes"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		what = "it is cut off"
	case errors.Is(err, gzip.ErrChecksum):
		what = "its content does not fit its checksum"
	case errors.Is(err, gzip.ErrHeader):
		what = "something else stands behind its end, or its head is damaged"
	}
	return value.Errorf(value.BadGZIP, "this is not gzip: %s", what)
}

// bytes reads bytes.
func (in *input) bytes(i int, what string) []byte {
	if in.err != nil {
		return nil
	}
	if in.args[i].Kind() != value.KindBytes {
		hint := ""
		if in.args[i].IsText() {
			hint = "; READ … AS BYTES reads a file as bytes, FROM_BASE64(…) makes bytes of base64 text"
		}
		in.wrongKind(i, what, "bytes", hint)
		return nil
	}
	return in.args[i].Raw()
}

func appendUint16(b []byte, n uint16) []byte { return append(b, byte(n), byte(n>>8)) }

func appendUint32(b []byte, n uint32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
