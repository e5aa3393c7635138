package wire

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// typesByEnding are the media types of files, by the ending of their name: such
// as may be handed out as what they are.
var typesByEnding = map[string]string{
	".avif": "image/avif", ".csv": "text/csv", ".gif": "image/gif", ".gz": "application/gzip", ".jpeg": "image/jpeg",
	".jpg": "image/jpeg", ".json": "application/json", ".log": "text/plain", ".md": "text/markdown", ".mp3": "audio/mpeg",
	".mp4": "video/mp4", ".ogg": "audio/ogg", ".pdf": "application/pdf", ".png": "image/png", ".ql": "text/plain",
	".txt": "text/plain", ".wav": "audio/wav", ".webm": "video/webm", ".webp": "image/webp", ".zip": "application/zip",
}

// MediaTypeOf returns the media type of a file by the ending of its name;
// application/octet-stream for one that says nothing, or nothing safe.
func MediaTypeOf(name string) string {
	if known, ok := typesByEnding[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return "application/octet-stream"
}

// ByteRange is a part of a content: from one byte up to another.
type ByteRange struct{ From, To int64 }

// ParseRange reads a Range header for a content of so many bytes. It reports
// whether a part is asked for: a header that is none, or that asks for several,
// asks for all (RFC 9110, 14.2). The error says that there is no such part.
func ParseRange(header string, size int64) (p ByteRange, partly bool, err error) {
	whole := ByteRange{0, size}
	text, ok := strings.CutPrefix(header, "bytes=")
	first, last, between := strings.Cut(strings.TrimSpace(text), "-")
	if !ok || !between {
		return whole, false, nil
	}
	from, hasFrom := digits(first)
	to, hasTo := digits(last)
	switch {
	case first == "" && hasTo: // so many of the last ones
		if to == 0 || size == 0 {
			return whole, false, errRangeNotSatisfiable
		}
		return ByteRange{max(size-to, 0), size}, true, nil
	case !hasFrom || last != "" && !hasTo || hasTo && to < from:
		return whole, false, nil
	case from >= size:
		return whole, false, errRangeNotSatisfiable
	case last == "" || to >= size:
		return ByteRange{from, size}, true, nil
	}
	return ByteRange{from, to + 1}, true, nil
}

var errRangeNotSatisfiable = &Refusal{Code: "range_not_satisfiable", Field: "Range", Message: "asks for a part that the file does not have"}

// digits reads a number of digits alone; one that is too large counts as the
// largest.
func digits(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 1<<63 - 1, true
	}
	return n, true
}

// ContentRange returns the header of an answer with a part of so many bytes.
func (p ByteRange) ContentRange(size int64) string {
	return "bytes " + strconv.FormatInt(p.From, 10) + "-" + strconv.FormatInt(p.To-1, 10) + "/" + strconv.FormatInt(size, 10)
}

// ETag returns the header that names a content.
func ETag(tag string) string { return `"` + tag + `"` }

// Conditions are the conditions under which a request is to be done, by what
// names the content that is there (RFC 9110, 13.1).
type Conditions struct {
	match, noneMatch  []string // nil for no condition
	matchAny, noneAny bool
	// The moments since which it is, or is not, to be written; zero for no
	// condition, as a header that is no moment is none.
	modifiedSince, unmodifiedSince time.Time
	ifRange                        string
}

// ParseConditions reads the headers of a request; get returns one by its name, as
// it was sent. The error is a *Refusal.
func ParseConditions(get func(name string) string) (c Conditions, err error) {
	if c.match, c.matchAny, err = readTags("If-Match", get("If-Match")); err != nil {
		return c, err
	}
	if c.noneMatch, c.noneAny, err = readTags("If-None-Match", get("If-None-Match")); err != nil {
		return c, err
	}
	c.modifiedSince, c.unmodifiedSince = readTime(get("If-Modified-Since")), readTime(get("If-Unmodified-Since"))
	c.ifRange = get("If-Range")
	return c, nil
}

// readTime reads a moment in any of the forms that HTTP has had (RFC 9110,
// 5.6.7); the zero time for what is none.
func readTime(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	for _, form := range []string{httpTime, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(form, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// readTags reads a list of names of contents. Weak ones are named like others,
// with their mark: a strong comparison takes them for nothing that is there.
func readTags(header, text string) (tags []string, all bool, err error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "*" {
		return nil, text == "*", nil
	}
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		weak := strings.HasPrefix(one, "W/")
		inner, ok := strings.CutPrefix(strings.TrimPrefix(one, "W/"), `"`)
		inner, closed := strings.CutSuffix(inner, `"`)
		if !ok || !closed || strings.Contains(inner, `"`) {
			return nil, false, invalid(header, `is no list of what ETag gave: "…" or * fits`)
		}
		if weak {
			inner = "W/" + inner
		}
		tags = append(tags, inner)
	}
	return tags, false, nil
}

func hasTag(tags []string, tag string, weakly bool) bool {
	for _, t := range tags {
		if weakly {
			t = strings.TrimPrefix(t, "W/")
		}
		if t == tag {
			return true
		}
	}
	return false
}

// fails tells whether If-Match or If-Unmodified-Since fails: whether a content is another
// than the one that the caller has seen, by its tag if the caller has given one, else by its time.
func (c *Conditions) fails(tag string, written time.Time) bool {
	if c.match != nil || c.matchAny {
		return !c.matchAny && !hasTag(c.match, tag, false)
	}
	return !c.unmodifiedSince.IsZero() && isSince(written, c.unmodifiedSince)
}

// isSince compares as exactly as headers tell the time.
func isSince(written, since time.Time) bool { return written.Truncate(time.Second).After(since) }

// AllowsChange tells whether what is there may be changed; tag is "", and written
// the zero time, where there is nothing.
func (c *Conditions) AllowsChange(tag string, written time.Time) bool {
	switch {
	case tag == "" && (c.matchAny || c.match != nil), c.fails(tag, written):
		return false
	case c.noneAny && tag != "", tag != "" && hasTag(c.noneMatch, tag, true):
		return false
	}
	return true
}

// ReadOutcome is what a condition says of a content that is there.
type ReadOutcome int

// What becomes of a request to read it.
const (
	ReadSend               ReadOutcome = iota // it is sent
	ReadNotModified                           // the caller has it already
	ReadPreconditionFailed                    // it is not what the caller asks for
)

// CheckRead tells what becomes of a request to read a content.
func (c *Conditions) CheckRead(tag string, written time.Time) ReadOutcome {
	switch {
	case c.fails(tag, written):
		return ReadPreconditionFailed
	case c.noneAny || hasTag(c.noneMatch, tag, true):
		return ReadNotModified
	case c.noneMatch == nil && !c.modifiedSince.IsZero() && !isSince(written, c.modifiedSince):
		return ReadNotModified
	}
	return ReadSend
}

// AllowsRange tells whether If-Range allows a range to be sent: not where it would be put
// beside ranges of another content.
func (c *Conditions) AllowsRange(tag string) bool { return c.ifRange == "" || c.ifRange == ETag(tag) }

// httpTime is how HTTP writes a moment, which is in UTC.
const httpTime = "Mon, 02 Jan 2006 15:04:05 GMT"

// SetContent sets the headers of a content that can be asked for again: its
// name, its time, and that parts of it can be had.
func SetContent(h Header, tag string, modified time.Time) {
	set(h, "Etag", ETag(tag))
	set(h, "Last-Modified", modified.UTC().Format(httpTime))
	set(h, "Accept-Ranges", "bytes")
}

// FileEntry is a file or folder in a list.
type FileEntry struct {
	Path     string
	Name     string
	Size     int64
	Modified time.Time
	Folder   bool
}

// AppendFiles appends the answer that lists a folder. Next is where the
// following page begins, "" at the end.
func AppendFiles(dst []byte, files []FileEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","files":[`...)
	for i := range files {
		f := &files[i]
		dst = appendComma(dst)
		dst = append(dst, `{"path":`...)
		dst = appendText(dst, f.Path)
		dst = appendTextField(dst, "name", f.Name)
		dst = strconv.AppendInt(appendName(dst, "size"), f.Size, 10)
		dst = appendTime(appendName(dst, "modified"), f.Modified)
		dst = strconv.AppendBool(appendName(dst, "folder"), f.Folder)
		dst = append(dst, '}')
	}
	return appendNext(dst, next)
}

// AppendStored appends the answer to an upload.
func AppendStored(dst []byte, path string, size int64, etag string) []byte {
	dst = append(dst, `{"status":"ok","path":`...)
	dst = appendText(dst, path)
	dst = strconv.AppendInt(appendName(dst, "size"), size, 10)
	dst = appendTextField(dst, "etag", etag)
	return append(dst, '}')
}

// AppendRemoved appends the answer to the removal, or another change, of a file: where that is.
func AppendRemoved(dst []byte, path string) []byte {
	dst = append(dst, `{"status":"ok","path":`...)
	dst = appendText(dst, path)
	return append(dst, '}')
}

// FileChange is a request of POST /v1/files/{path}: one of its first three.
type FileChange struct {
	Move, Copy string // where to; "" for neither
	Folder     bool
	Replace    bool // it may take the place of a file that is there
}

var fileChangeFields = []string{"move", "copy", "folder", "replace"}

// DecodeFileChange reads the body of POST /v1/files/{path}. The error is a *Refusal.
func DecodeFileChange(body []byte, l Limits) (*FileChange, error) {
	f := new(FileChange)
	if err := decodeObject(body, l, f.decode); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *FileChange) decode(top node) *Refusal {
	const fits = `{"move": "/new/path"}, {"copy": "/new/path"} or {"folder": true} fits`
	asked := 0
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "move":
			asked++
			f.Move, r = filledText("move", value)
		case "copy":
			asked++
			f.Copy, r = filledText("copy", value)
		case "folder":
			asked++
			if f.Folder, r = isTrue("folder", value); r == nil && !f.Folder {
				r = invalid("folder", "is false: true makes a folder")
			}
		case "replace":
			f.Replace, r = isTrue("replace", value)
		default:
			r = unknown(bodyField, name, fileChangeFields)
		}
		if r != nil {
			return r
		}
	}
	switch {
	case asked != 1:
		return invalid(bodyField, "says no one thing to do: "+fits)
	case f.Replace && f.Folder:
		return invalid("replace", "does not fit to a folder, which replaces nothing")
	}
	return nil
}

// filledText reads a text that is not empty.
func filledText(field string, n node) (string, *Refusal) {
	t, r := text(field, n)
	if r == nil && t == "" {
		r = invalid(field, "is empty: a text fits")
	}
	return t, r
}

// isTrue reads a boolean.
func isTrue(field string, n node) (bool, *Refusal) {
	b, r := boolean(field, n)
	return b != nil && *b, r
}
