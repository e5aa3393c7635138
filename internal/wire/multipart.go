package wire

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"
)

// longestPartHeader bounds what stands before the text of a part.
const longestPartHeader = 4 << 10

// multipartObject writes a form in parts as a JSON object, as pages send one by FormData. It is not
// ok where a part is a file or of another type, and where the body is not quite such a form: that
// stays bytes, for who knows what to make of it.
func multipartObject(body []byte, boundary string, l *Limits) (text string, shape Shape, ok bool, r *Refusal) {
	shape = Shape{Bytes: len(body)}
	delimiter := []byte("\r\n--" + boundary)
	rest, ok := bytes.CutPrefix(body, delimiter[2:])
	if !ok || boundary == "" {
		return "", shape, false, nil
	}
	c := newFormCollector(len(body), l)
	for {
		if end, isLast := bytes.CutPrefix(rest, []byte("--")); isLast {
			if len(end) > 0 && string(end) != "\r\n" {
				return "", shape, false, nil
			}
			text, shape, r = c.object()
			return text, shape, true, r
		}
		name, content, ok := cutPartHeader(rest)
		if !ok {
			return "", shape, false, nil
		}
		value, following, ok := bytes.Cut(content, delimiter)
		if !ok || !utf8.Valid(value) {
			return "", shape, false, nil
		}
		if c.count == l.FieldKeys {
			return "", shape, false, tooMany(bodyField, "fields", "field_keys", l.FieldKeys)
		}
		if r := c.add(name, string(value)); r != nil {
			return "", shape, false, r
		}
		rest = following
	}
}

// cutPartHeader reads the header of a part that is a text, behind its delimiter, and returns the name
// of its field and what follows.
func cutPartHeader(part []byte) (name string, content []byte, ok bool) {
	part, ok = bytes.CutPrefix(part, []byte("\r\n"))
	if !ok {
		return "", nil, false
	}
	end := bytes.Index(part[:min(len(part), longestPartHeader)], []byte("\r\n\r\n"))
	if end < 0 {
		return "", nil, false
	}
	for line := range strings.SplitSeq(string(part[:end]), "\r\n") {
		header, text, _ := strings.Cut(line, ":")
		switch {
		case strings.EqualFold(header, "Content-Disposition") && name == "":
			if name, ok = fieldName(text); !ok {
				return "", nil, false
			}
		case strings.EqualFold(header, "Content-Type") && isPlainText(text):
		default:
			return "", nil, false
		}
	}
	return name, part[end+len("\r\n\r\n"):], name != ""
}

// fieldName returns the name of the field that a part is, by its Content-Disposition. That of a file
// is none.
func fieldName(disposition string) (name string, ok bool) {
	kind, parameters, err := mime.ParseMediaType(disposition)
	_, isFile := parameters["filename"]
	name = parameters["name"]
	return name, err == nil && kind == "form-data" && !isFile && name != "" && utf8.ValidString(name)
}

// isPlainText tells whether a part's type is that of the texts of forms.
func isPlainText(contentType string) bool {
	kind, parameters, err := mime.ParseMediaType(contentType)
	charset, named := parameters["charset"]
	return err == nil && kind == "text/plain" && (!named || strings.EqualFold(charset, "utf-8"))
}
