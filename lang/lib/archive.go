package lib

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"ql/lang/value"
)

var archiveFunctions = []Builtin{
	{Name: "TO_ZIP", Min: 1, Max: 1, Fn: needs(1, toZIP),
		Signature: "TO_ZIP(map)", Summary: "A ZIP archive as bytes, of a map from the names of files to their content, texts or bytes. The same map always gives the same bytes.",
		Example: `COLUMN(ZIP_LIST(TO_ZIP({"a.txt": "hello", "b/c.txt": "you"})), "name")`, Result: `["a.txt","b/c.txt"]`},
	{Name: "FROM_ZIP", Min: 1, Max: 1, Fn: needs(1, fromZIP),
		Signature: "FROM_ZIP(bytes)", Summary: "All files of a ZIP archive: a map from their names to their content, bytes. Error bad_zip where it is none or damaged.",
		Example: `TEXT(FIRST(VALUES(FROM_ZIP(TO_ZIP({"a.txt": "hello"})))))`, Result: "hello"},
	{Name: "ZIP_LIST", Min: 1, Max: 1, Fn: needs(1, zipList),
		Signature: "ZIP_LIST(bytes)", Summary: "What is in a ZIP archive: a list of {name, size, packed, modified, folder}. Nothing is unpacked.",
		Example: `ZIP_LIST(TO_ZIP({"a.txt": "hello"}))`, Result: `[{"name":"a.txt","size":5,"packed":5,"modified":"1980-01-01T00:00:00Z","folder":false}]`},
	{Name: "ZIP_READ", Min: 2, Max: 2, Fn: needs(2, zipRead),
		Signature: "ZIP_READ(bytes, name)", Summary: "The content of one file in a ZIP archive, as bytes; null where there is none of that name.",
		Example: `TEXT(ZIP_READ(TO_ZIP({"a.txt": "hello"}), "a.txt"))`, Result: "hello"},
	{Name: "GZIP", Min: 1, Max: 1, Fn: needs(1, gzipped),
		Signature: "GZIP(text)", Summary: "A text or bytes compressed by gzip, as bytes.",
		Example: `TEXT(GUNZIP(GZIP("hello")))`, Result: "hello"},
	{Name: "GUNZIP", Min: 1, Max: 1, Fn: needs(1, gunzipped),
		Signature: "GUNZIP(bytes)", Summary: "The bytes that gzip compressed; TEXT makes a text of them. Error bad_gzip where they are none or damaged.",
		Example: `LENGTH(TEXT(GUNZIP(GZIP(REPEAT("a", 1000)))))`, Result: "1000"},
}

// The parts of an archive, by their first bytes and the length of what is always there.
const (
	zipFileMark, zipFileSize   = "PK\x03\x04", 30
	zipEntryMark, zipEntrySize = "PK\x01\x02", 46
	zipEndMark, zipEndSize     = "PK\x05\x06", 22
)

const (
	zipStored, zipDeflated = 0, 8
	zipEncrypted, zipUTF8  = 1 << 0, 1 << 11
	mostZIPComment         = math.MaxUint16
	mostZIPFiles           = math.MaxUint16 - 1
	// zipNoTime is the first day of 1980, with which the times of archives begin.
	zipNoTime = 1<<5 | 1
)

// zipFile is one entry of an archive's directory.
type zipFile struct {
	name         string
	flags        uint16
	method       uint16
	modified     time.Time
	sum          uint32
	size, packed uint64
	at           uint64
}

func (f *zipFile) isFolder() bool { return strings.HasSuffix(f.name, "/") }

// zipReader reads an archive in memory.
type zipReader struct {
	c         *Call
	s         []byte
	base      uint64 // where the archive starts: something else may stand before it
	directory uint64
	files     []zipFile
	inflater  inflater
}

func badZIP(format string, args ...any) *value.Error {
	return value.Errorf(value.BadZIP, "this is not a ZIP archive: %s", fmt.Sprintf(format, args...))
}

// openZIP reads the directory of an archive.
func openZIP(c *Call, s []byte) (*zipReader, *value.Error) {
	r := &zipReader{c: c, s: s, inflater: inflater{c: c}}
	tail := s[max(0, len(s)-zipEndSize-mostZIPComment):]
	c.scanned(len(tail))
	end := bytes.LastIndex(tail, []byte(zipEndMark))
	for ; end >= 0; end = bytes.LastIndex(tail[:end], []byte(zipEndMark)) {
		c.Meter.Work(2)
		if rest := tail[end:]; len(rest) >= zipEndSize && int(binary.LittleEndian.Uint16(rest[20:])) == len(rest)-zipEndSize {
			break
		}
	}
	if end < 0 {
		if bytes.HasPrefix(s, []byte(gzipHead[:2])) {
			return nil, badZIP("it is gzip, which GUNZIP(…) reads")
		}
		return nil, badZIP("its directory is missing; it may be cut off")
	}
	tail = tail[end:]
	count := int(binary.LittleEndian.Uint16(tail[10:]))
	size, at := uint64(binary.LittleEndian.Uint32(tail[12:])), uint64(binary.LittleEndian.Uint32(tail[16:]))
	place := uint64(len(s) - len(tail))
	switch {
	case count == math.MaxUint16 || size == math.MaxUint32 || at == math.MaxUint32:
		return nil, badZIP("it is of the kind for more than 65534 files or 4 GiB (ZIP64)")
	case binary.LittleEndian.Uint16(tail[4:]) != 0 || binary.LittleEndian.Uint16(tail[8:]) != uint16(count):
		return nil, badZIP("it is one part of several")
	case size+at > place || uint64(count)*zipEntrySize > size:
		return nil, badZIP("its directory is damaged")
	}
	r.base = place - size - at
	r.directory = place - size
	const each = 160
	c.elements(uint64(count))
	c.Meter.Alloc(count * each)
	c.Meter.Work(count * 12)
	r.files = make([]zipFile, 0, count)
	if err := r.entries(s[r.directory:place], count); err != nil {
		return nil, err
	}
	return r, nil
}

// entries reads the directory.
func (r *zipReader) entries(d []byte, count int) *value.Error {
	all := uint64(0)
	for range count {
		if len(d) < zipEntrySize || string(d[:4]) != zipEntryMark {
			return badZIP("its directory is damaged")
		}
		le := binary.LittleEndian
		name, extra, comment := int(le.Uint16(d[28:])), int(le.Uint16(d[30:])), int(le.Uint16(d[32:]))
		if len(d) < zipEntrySize+name+extra+comment {
			return badZIP("its directory is damaged")
		}
		f := zipFile{
			flags: le.Uint16(d[8:]), method: le.Uint16(d[10:]), sum: le.Uint32(d[16:]),
			packed: uint64(le.Uint32(d[20:])), size: uint64(le.Uint32(d[24:])), at: uint64(le.Uint32(d[42:])),
		}
		f.name = r.name(d[zipEntrySize:zipEntrySize+name], f.flags)
		f.modified = zipTime(le.Uint16(d[14:]), le.Uint16(d[12:]))
		r.extra(&f, d[zipEntrySize+name:zipEntrySize+name+extra])
		if all += f.packed; all > uint64(len(r.s)) {
			return badZIP("its files overlap")
		}
		r.files = append(r.files, f)
		d = d[zipEntrySize+name+extra+comment:]
	}
	if len(d) != 0 {
		return badZIP("its directory is damaged")
	}
	return nil
}

// name returns the name of a file. Old programs write it in the characters of the
// first PCs.
func (r *zipReader) name(b []byte, flags uint16) string {
	r.c.Meter.Work(len(b)/4 + 4)
	r.c.Meter.Alloc(3 * len(b))
	if utf8.Valid(b) {
		return string(b)
	}
	if flags&zipUTF8 != 0 {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	decoded, err := charmap.CodePage437.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(decoded)
}

// extra takes from the other fields of an entry what does not fit into its own: long
// numbers, and the time to the second, in UTC.
func (r *zipReader) extra(f *zipFile, b []byte) {
	const longNumbers, timestamp = 0x0001, 0x5455
	le := binary.LittleEndian
	for len(b) >= 4 {
		r.c.Meter.Work(2)
		kind, n := le.Uint16(b), int(le.Uint16(b[2:]))
		b = b[4:]
		if n > len(b) {
			return
		}
		field := b[:n]
		b = b[n:]
		switch {
		case kind == longNumbers:
			for _, to := range []*uint64{&f.size, &f.packed, &f.at} {
				if *to == math.MaxUint32 && len(field) >= 8 {
					*to, field = le.Uint64(field), field[8:]
				}
			}
		case kind == timestamp && n >= 5 && field[0]&1 != 0:
			f.modified = time.Unix(int64(int32(le.Uint32(field[1:]))), 0).UTC()
		}
	}
}

// zipTime reads the date and the time of an entry; the zone is not told.
func zipTime(date, clock uint16) time.Time {
	return time.Date(int(date>>9)+1980, time.Month(date>>5&15), int(date&31), int(clock>>11), int(clock>>5&63), int(clock&31)*2, 0, time.UTC)
}

// content unpacks a file.
func (r *zipReader) content(f *zipFile) (value.Value, *value.Error) {
	r.c.Meter.Work(40 + len(f.name)/4)
	name := value.Quote(f.name)
	switch {
	case f.flags&zipEncrypted != 0:
		return value.Null, value.Errorf(value.BadZIP, "%s in the archive is encrypted, which is not read", name)
	case f.method != zipStored && f.method != zipDeflated:
		return value.Null, value.Errorf(value.BadZIP, "%s in the archive is packed by method %d, which is not read: stored and deflated files are", name, f.method)
	}
	damaged := value.Errorf(value.BadZIP, "%s in the archive is damaged", name)
	at := f.at + r.base
	if f.at > r.directory || at+zipFileSize > r.directory || string(r.s[at:at+4]) != zipFileMark {
		return value.Null, damaged
	}
	at += zipFileSize + uint64(binary.LittleEndian.Uint16(r.s[at+26:])) + uint64(binary.LittleEndian.Uint16(r.s[at+28:]))
	if at > r.directory || f.packed > r.directory-at {
		return value.Null, damaged
	}
	packed := r.s[at : at+f.packed]
	if f.method == zipStored && f.size != f.packed || f.size/mostInflated > f.packed {
		return value.Null, damaged
	}
	size := r.c.size(int64(f.size))
	b := value.NewBuilder(r.c.Meter, value.KindBytes, size)
	out := b.Reserve(size)
	if f.method == zipStored {
		r.c.Meter.Work(size / 16)
		copy(out, packed)
	} else if err := r.inflater.fill(out, packed); err != nil {
		if errors.Is(err, errLength) {
			return value.Null, value.Errorf(value.BadZIP, "%s in the archive has another length than the archive says", name)
		}
		return value.Null, damaged
	}
	if crc32.ChecksumIEEE(out) != f.sum {
		return value.Null, value.Errorf(value.BadZIP, "%s in the archive does not fit its checksum", name)
	}
	return b.Value(), nil
}

// readZIP opens the archive that is a function's only argument.
func readZIP(c *Call, name string, args []value.Value) (in input, r *zipReader, err error) {
	in = read(c, name, args)
	s := in.bytes(0, "")
	if in.err != nil {
		return in, nil, in.err
	}
	r, bad := openZIP(c, s)
	if bad != nil {
		return in, nil, bad
	}
	return in, r, nil
}

func zipList(c *Call, args []value.Value) (value.Value, error) {
	in, r, err := readZIP(c, "ZIP_LIST", args)
	if err != nil {
		return value.Null, err
	}
	l := value.NewList(c.Meter, len(r.files))
	for i := range r.files {
		f := &r.files[i]
		c.Meter.Work(mapWork + timeWork)
		t := value.NewMap(c.Meter, 5)
		modified, err := in.time(f.modified)
		if err != nil {
			return value.Null, err
		}
		t.Set(c.Meter, keyName, c.text(f.name))
		t.Set(c.Meter, keySize, value.Int(int64(min(f.size, math.MaxInt64))))
		t.Set(c.Meter, keyPacked, value.Int(int64(f.packed)))
		t.Set(c.Meter, keyModified, modified)
		t.Set(c.Meter, keyFolder, value.Bool(f.isFolder()))
		l.Append(c.Meter, t.Value())
	}
	return l.Value(), nil
}

// Keys of ZIP_LIST's maps.
var (
	keyName     = value.Text("name").Freeze()
	keySize     = value.Text("size").Freeze()
	keyPacked   = value.Text("packed").Freeze()
	keyModified = value.Text("modified").Freeze()
	keyFolder   = value.Text("folder").Freeze()
)

func zipRead(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ZIP_READ", args)
	s, name := in.bytes(0, "the archive"), in.text(1, "the name")
	if in.err != nil {
		return value.Null, in.err
	}
	r, bad := openZIP(c, s)
	if bad != nil {
		return value.Null, bad
	}
	var found *zipFile
	for i := range r.files {
		if r.files[i].name != name {
			continue
		}
		if found != nil {
			return value.Null, twiceInZIP(name)
		}
		found = &r.files[i]
	}
	if found == nil {
		return value.Null, nil
	}
	v, bad := r.content(found)
	if bad != nil {
		return value.Null, bad
	}
	return v, nil
}

func twiceInZIP(name string) *value.Error {
	return value.Errorf(value.BadZIP, "the archive has two files of the name %s", value.Quote(name))
}

func fromZIP(c *Call, args []value.Value) (value.Value, error) {
	_, r, err := readZIP(c, "FROM_ZIP", args)
	if err != nil {
		return value.Null, err
	}
	t := value.NewMap(c.Meter, 0)
	for i := range r.files {
		f := &r.files[i]
		if f.isFolder() {
			continue
		}
		key := c.text(f.name)
		if _, twice := t.Lookup(c.Meter, f.name); twice {
			return value.Null, twiceInZIP(f.name)
		}
		v, bad := r.content(f)
		if bad != nil {
			return value.Null, bad
		}
		t.Set(c.Meter, key, v)
	}
	return t.Value(), nil
}

func toZIP(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "TO_ZIP", args)
	t := in.table(0, "")
	if in.err == nil && t.Len() > mostZIPFiles {
		in.fail(value.BadArgument, "packs at most %d files, not %d", mostZIPFiles, t.Len())
	}
	if in.err != nil {
		return value.Null, in.err
	}
	w := zipWriter{buffer: buffer{c: c}, directory: buffer{c: c}, deflater: deflater{c: c}}
	for k, v := range t.All {
		in.zipName(k.Str())
		if kind := v.Kind(); in.err == nil && kind != value.KindText && kind != value.KindBytes {
			in.fail(value.WrongKind, "takes texts and bytes as content; under %s is %s%s", value.Quote(k.Str()), value.Describe(v), toTextHint(v))
		}
		if in.err != nil {
			return value.Null, in.err
		}
		if err := w.file(k.Str(), v.Raw()); err != nil {
			return value.Null, err
		}
	}
	w.end(t.Len())
	return w.bytes(), nil
}

// zipName refuses names that would lead somewhere else where an archive is unpacked.
func (in *input) zipName(name string) {
	in.Meter.Work(len(name)/8 + 4)
	bad := name == "" || len(name) > math.MaxUint16 || strings.ContainsAny(name, "\\\x00")
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		bad = bad || part == "" || part == "." || part == ".."
	}
	if bad {
		in.fail(value.BadArgument, `cannot pack a file as %s: names look like "a.txt" or "folder/a.txt"`, value.Quote(name))
	}
}

// zipWriter writes an archive: the files, and behind them the directory.
type zipWriter struct {
	buffer
	directory buffer
	deflater  deflater
}

// leastDeflated is how long a file is at least that may get shorter.
const leastDeflated = 32

// file adds a file.
func (w *zipWriter) file(name string, content []byte) error {
	w.c.Meter.Work(20 + len(content)/16)
	at := len(w.b)
	w.room(zipFileSize + len(name))
	w.b = append(w.b, make([]byte, zipFileSize)...)
	w.b = append(w.b, name...)
	start := len(w.b)
	method := zipStored
	if len(content) >= leastDeflated {
		method = zipDeflated
		if err := w.deflater.add(&w.buffer, content); err != nil {
			return err
		}
	}
	if method == zipStored || len(w.b)-start >= len(content) {
		method = zipStored
		w.b = w.b[:start]
		w.room(len(content))
		w.b = append(w.b, content...)
	}
	// What the head of the file and its entry in the directory share.
	var buf [26]byte
	h := appendUint16(buf[:0], 20) // of the version of 1993
	h = appendUint16(h, zipUTF8)
	h = appendUint16(h, uint16(method))
	h = appendUint16(h, 0)
	h = appendUint16(h, zipNoTime)
	h = appendUint32(h, crc32.ChecksumIEEE(content))
	h = appendUint32(h, uint32(len(w.b)-start))
	h = appendUint32(h, uint32(len(content)))
	h = appendUint16(h, uint16(len(name)))
	copy(w.b[at:], zipFileMark)
	copy(w.b[at+4:], h)
	d := &w.directory
	d.room(zipEntrySize + len(name))
	d.b = append(d.b, zipEntryMark...)
	d.b = appendUint16(d.b, 20)
	d.b = append(d.b, h...)
	d.b = append(d.b, make([]byte, 12)...) // nothing more, on the first part, of no system
	d.b = appendUint32(d.b, uint32(at))
	d.b = append(d.b, name...)
	return nil
}

// end adds the directory.
func (w *zipWriter) end(files int) {
	at := len(w.b)
	w.room(len(w.directory.b) + zipEndSize)
	w.b = append(w.b, w.directory.b...)
	w.b = append(w.b, zipEndMark...)
	w.b = appendUint32(w.b, 0)
	w.b = appendUint16(w.b, uint16(files))
	w.b = appendUint16(w.b, uint16(files))
	w.b = appendUint32(w.b, uint32(len(w.directory.b)))
	w.b = appendUint32(w.b, uint32(at))
	w.b = appendUint16(w.b, 0)
}
