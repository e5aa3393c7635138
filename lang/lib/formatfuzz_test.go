package lib

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"ql/lang/value"
)

// FuzzXML compares the reader with that of Go, which takes more: what ours takes,
// Go takes and understands the same. What was read is written and read again.
func FuzzXML(f *testing.F) {
	for _, s := range []string{
		`<a/>`, `<a b="1" c='2'>x<!-- y --><d>&lt;&#65;</d><![CDATA[<>]]></a>`, `<a b="1"c="2"/>`, ` <?xml version="1.0"?><a/>`,
		`<a>&#xD800;</a>`, `<b:a/>`, `<a xmlns:b="u"><b:c b:d=""/></a>`, "<?xml version=\"1.0\"?>\n<a>\r\n<b/>\r</a>\n", `<!DOCTYPE a><a/>`,
		`<a><b></a></b>`, `<a>]]></a>`, `<a>&b;</a>`, `<a><?p q?></a>`, `<p>a<b/>c<b/></p>`, "<é·/>", `<a b="&#10;&#9;"/>`, `<a xmlns="u" xmlns:c="u" c:d="" d=""/>`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 10_000 {
			return
		}
		var v value.Value
		var err *value.Error
		m := newMeter(1<<30, 1<<30)
		m.Nesting = 60
		if limited(func() { v, err = XMLDecode(m, text) }) != nil {
			return
		}
		if err != nil {
			if err.Code != value.BadXML || strings.Contains(err.Message, "%!") {
				t.Fatalf("error %s: %v", err.Code, err)
			}
			return
		}
		// Go leaves line ends in attributes as they are, knows the names of an older
		// edition, and takes no other encodings.
		theirs, ok := goXML(text)
		switch {
		case ok && !value.Equal(nil, v, theirs) && !(strings.Contains(text, "=") && strings.ContainsAny(text, "\t\r\n")):
			t.Fatalf("%q is read as %s, want %s", text, value.AppendJSON(nil, v), value.AppendJSON(nil, theirs))
		case !ok && !strings.Contains(text, "<?xml") && isASCII(text):
			t.Fatalf("%q is read as %s, but is no XML", text, value.AppendJSON(nil, v))
		}
		for indent := range int64(2) {
			written, err := toXML(newCall(), []value.Value{v, value.Int(indent)})
			if err != nil {
				t.Fatalf("%s cannot be written: %v", value.AppendJSON(nil, v), err)
			}
			if again, err := XMLDecode(nil, written.Str()); err != nil || !value.Equal(nil, v, again) {
				t.Fatalf("%s became %s by way of %q: %v", value.AppendJSON(nil, v), value.AppendJSON(nil, again), written.Str(), err)
			}
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// goXML reads a document by Go's reader, as FROM_XML would.
func goXML(text string) (value.Value, bool) {
	d := xml.NewDecoder(strings.NewReader(text))
	root := value.NewMap(nil, 0)
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return root.Value(), root.Len() == 1
		}
		if err != nil {
			return value.Null, false
		}
		if start, ok := token.(xml.StartElement); ok {
			v, ok := goElement(d, start)
			if !ok {
				return value.Null, false
			}
			root.SetText(goName(start.Name), v)
		}
	}
}

func goName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func goElement(d *xml.Decoder, start xml.StartElement) (value.Value, bool) {
	t := value.NewMap(nil, 0)
	for _, a := range start.Attr {
		t.SetText("@"+goName(a.Name), value.Text(a.Value))
	}
	content, text := value.NewList(nil, 0), ""
	elements, mixed := map[string]*value.List{}, false
	var order []string
	flush := func() {
		if text != "" {
			content.Append(nil, value.Text(text))
			mixed = mixed || strings.Trim(text, " \t\r\n") != ""
		}
		text = ""
	}
	for {
		token, err := d.RawToken()
		if err != nil {
			return value.Null, false
		}
		switch token := token.(type) {
		case xml.CharData:
			text += string(token)
		case xml.StartElement:
			flush()
			v, ok := goElement(d, token)
			if !ok {
				return value.Null, false
			}
			name := goName(token.Name)
			if elements[name] == nil {
				elements[name] = value.NewList(nil, 0)
				order = append(order, name)
			}
			elements[name].Append(nil, v)
			content.Append(nil, nested(name, v.Share()))
		case xml.EndElement:
			flush()
			switch {
			case len(elements) == 0 && t.Len() == 0 && content.Len() == 0:
				return value.Text(""), true
			case len(elements) == 0 && t.Len() == 0:
				return content.At(0), true
			case len(elements) == 0 && content.Len() > 0:
				t.SetText("#text", content.At(0))
			case len(elements) > 0 && mixed:
				t.SetText("#content", content.Value())
			default:
				for _, name := range order {
					t.SetText(name, elements[name].Value())
				}
			}
			return t.Value(), true
		}
	}
}

// FuzzYAML checks that no text upsets the reader, that it makes no more nodes than
// were charged, and that what it read is written and read again.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb: [x, {y: z}]\n", "- |\n  a\n\n  b\n- >-\n  c\n", "--- 1\n--- 2\n", "&a [*a]", "a: &b {c: d}\ne: {<<: *b}", "? [a]\n: b", "\"\\x01\\u2028\"", "[?,?,:,:]",
		"? ? ? a", "- - - a", "!!binary aGVs", "a: !b c", "'it''s'", "0o7", "#\n#\n", "%YAML 1.2\n---\n", "a:\n\t- b", "{a, b: , ? c}", "[a: b, \"c\":d]", "- \n-\n- ", "a: |+\n\n\n", "\x85", "{? , ? }",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 10_000 {
			return
		}
		c := newCall()
		c.Meter.Nesting = 60
		var v value.Value
		var err *value.Error
		if limited(func() { v, err = yamlDecode(c, text, true) }) != nil {
			return
		}
		if got, most := yamlNodes(text), (&yamlReader{c: &Call{}, s: text}).nodes(); got > most {
			t.Fatalf("%q has %d nodes, %d are charged", text, got, most)
		}
		if err != nil {
			if err.Code != value.BadYAML || strings.Contains(err.Message, "%!") {
				t.Fatalf("error %s: %v", err.Code, err)
			}
			return
		}
		written, _ := toYAML(newCall(), []value.Value{v})
		if again, err := yamlDecode(newCall(), written.Str(), false); err != nil || !value.Equal(nil, v, again) {
			t.Fatalf("%s became %s by way of %q: %v", value.AppendJSON(nil, v), value.AppendJSON(nil, again), written.Str(), err)
		}
	})
}

// FuzzToYAML checks that any text, as a key and as a value at any depth, is written so
// that it is read again.
func FuzzToYAML(f *testing.F) {
	for _, s := range []string{"", "a", "yes", "a\nb", "a\n\n", " a\n", "a\n b\n", "a\n\t\nb", "\u0085", "- a", "a: b", "a #b", "\ufeffa", "\U0001F600", "\r\n", "a\n---\nb", "%a\nb", "a:\nb", strings.Repeat("k", 1100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		leaf := value.Text(text)
		for _, v := range []value.Value{leaf, value.ListOf(leaf, leaf), nested(text, leaf), value.ListOf(value.ListOf(nested(text, value.ListOf(nested("a", leaf)))))} {
			written, _ := toYAML(newCall(), []value.Value{v})
			if again, err := yamlDecode(newCall(), written.Str(), false); err != nil || !value.Equal(nil, v, again) {
				t.Fatalf("%s became %s by way of %q: %v", value.AppendJSON(nil, v), value.AppendJSON(nil, again), written.Str(), err)
			}
		}
	})
}
