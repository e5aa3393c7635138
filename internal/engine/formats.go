package engine

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"ql/lang/lib"
	"ql/lang/value"
)

// format says what the bytes of a file mean to a script.
type format string

// The formats, as the machine names them.
const (
	formatText  format = "text"
	formatJSON  format = "json"
	formatCSV   format = "csv"
	formatLines format = "lines"
	formatBytes format = "bytes"
	// formatAny is text where the content is, else bytes.
	formatAny format = ""
)

// endings are the formats of files whose statement names none. An ending that
// is not listed means formatAny.
var endings = map[string]format{
	".json": formatJSON, ".webmanifest": formatJSON, ".geojson": formatJSON,
	".csv":   formatCSV,
	".jsonl": formatLines, ".ndjson": formatLines, ".log": formatLines,
	".txt": formatText, ".text": formatText, ".md": formatText, ".html": formatText, ".htm": formatText, ".css": formatText,
	".js": formatText, ".ts": formatText, ".xml": formatText, ".svg": formatText, ".yaml": formatText, ".yml": formatText,
	".toml": formatText, ".ini": formatText, ".conf": formatText, ".sql": formatText, ".ql": formatText, ".ics": formatText,
	".vcf": formatText, ".tsv": formatText, ".eml": formatText, ".sh": formatText, ".py": formatText, ".tex": formatText,
	".png": formatBytes, ".jpg": formatBytes, ".jpeg": formatBytes, ".gif": formatBytes, ".webp": formatBytes, ".avif": formatBytes,
	".ico": formatBytes, ".bmp": formatBytes, ".tif": formatBytes, ".tiff": formatBytes, ".pdf": formatBytes, ".zip": formatBytes,
	".gz": formatBytes, ".tar": formatBytes, ".xz": formatBytes, ".zst": formatBytes, ".7z": formatBytes, ".mp3": formatBytes,
	".mp4": formatBytes, ".wav": formatBytes, ".ogg": formatBytes, ".webm": formatBytes, ".mov": formatBytes, ".woff": formatBytes,
	".woff2": formatBytes, ".ttf": formatBytes, ".otf": formatBytes, ".wasm": formatBytes, ".docx": formatBytes, ".xlsx": formatBytes,
	".pptx": formatBytes, ".odt": formatBytes, ".ods": formatBytes, ".sqlite": formatBytes, ".db": formatBytes, ".bin": formatBytes,
}

func formatOf(name string) format { return endings[strings.ToLower(path.Ext(name))] }

// byteOrderMark stands at the start of what some programs write as UTF-8.
const byteOrderMark = "\uFEFF"

func notText(path string) error {
	return value.Errorf("not_text", "%s is not UTF-8 text: READ it AS BYTES", path)
}

// decode makes a value of a file's content.
func decode(m *value.Meter, path string, f format, content []byte) (value.Value, error) {
	if f == formatBytes || f == formatAny && !utf8.Valid(content) {
		m.CheckSize(len(content))
		m.Alloc(value.BlockSize(len(content)))
		return value.Bytes(content), nil
	}
	if !utf8.Valid(content) {
		return value.Null, notText(path)
	}
	text := strings.TrimPrefix(string(content), byteOrderMark)
	var v value.Value
	var err *value.Error
	switch f {
	case formatJSON:
		v, err = value.ParseJSON(m, text)
	case formatCSV:
		v, err = lib.CSVDecode(m, text)
	case formatLines:
		return lines(m, text), nil
	default:
		m.CheckSize(len(text))
		m.Alloc(value.BlockSize(len(text)))
		return value.Text(text), nil
	}
	if err != nil {
		return value.Null, value.Errorf(err.Code, "%s: %s", path, err.Message)
	}
	return v, nil
}

// lines splits a text at its line ends; what stands after the last one is a
// line only where it is not empty.
func lines(m *value.Meter, text string) value.Value {
	list := value.NewList(m, 0)
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		line = strings.TrimSuffix(line, "\r")
		m.Work(1 + len(line)/32)
		m.Alloc(value.BlockSize(len(line)))
		list.Append(m, value.Text(line))
	}
	return list.Value()
}

// encode makes a file's content of a value. Texts and bytes are content
// already, whatever the format.
func encode(m *value.Meter, f format, v value.Value) ([]byte, error) {
	if v.IsText() || v.Kind() == value.KindBytes {
		return bytes.Clone(v.Raw()), nil
	}
	switch f {
	case formatJSON:
		return asJSON(m, v), nil
	case formatCSV:
		b, err := lib.CSVEncode(m, v)
		if err != nil {
			return nil, err
		}
		return b, nil
	case formatLines:
		return joinLines(m, v)
	case formatBytes:
		return nil, value.Errorf(value.WrongKind, "a file of bytes takes bytes or a text, not %s", value.Describe(v))
	}
	return asText(m, v), nil
}

func asJSON(m *value.Meter, v value.Value) []byte {
	n := value.JSONSize(m, v)
	m.CheckSize(n)
	m.Alloc(n)
	return value.AppendJSON(make([]byte, 0, n), v)
}

// asText writes a value as EMIT does.
func asText(m *value.Meter, v value.Value) []byte {
	n := value.TextSize(m, v)
	m.CheckSize(n)
	m.Alloc(n + 1)
	return value.AppendText(make([]byte, 0, n+1), v)
}

func joinLines(m *value.Meter, v value.Value) ([]byte, error) {
	if !v.IsList() {
		return nil, value.Errorf(value.WrongKind, "a file of lines takes a list, not %s", value.Describe(v))
	}
	var out []byte
	l := v.List()
	for i := range l.Len() {
		line := asText(m, l.At(i))
		if bytes.ContainsAny(line, "\r\n") {
			return nil, value.Errorf(value.BadArgument, "line %d has a line end inside it, so that it would be read as two lines", i+1)
		}
		m.CheckSize(len(out) + len(line) + 1)
		out = append(append(out, line...), '\n')
	}
	return out, nil
}
