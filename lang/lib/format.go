package lib

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"ql/lang/value"
)

var formatFunctions = []Builtin{
	{Name: "TO_JSON", Min: 1, Max: 2, Fn: toJSON,
		Signature: "TO_JSON(value[, indent])", Summary: "The value as JSON text: on one line, or each level indented by so many spaces. Bytes become base64 text, null the text null.",
		Example: `TO_JSON({name: "Ada", tags: ["a", null]})`, Result: `{"name":"Ada","tags":["a",null]}`},
	{Name: "FROM_JSON", Min: 1, Max: 2, Fn: withFallback(1, needs(1, fromJSON)),
		Signature: "FROM_JSON(text[, otherwise])", Summary: "The value that a JSON text writes; error bad_json where it is none. With a second argument: that, for null and for whatever is no JSON.",
		Example: `FROM_JSON("[1, 2.50]")`, Result: "[1,2.5]"},
	{Name: "TO_CSV", Min: 1, Max: 2, Fn: toCSV,
		Signature: "TO_CSV(list[, separator])", Summary: "A list of maps as CSV, keys as the header line, or a list of lists as CSV without one. The separator is a comma unless given.",
		Example: `LINES(TO_CSV([{id: 1, name: "Ada"}, {id: 2, name: "B, C"}]))`, Result: `["id,name","1,Ada","2,\"B, C\""]`},
	{Name: "FROM_CSV", Min: 1, Max: 3, Fn: withFallback(2, needs(1, fromCSV)),
		Signature: "FROM_CSV(text[, separator[, otherwise]])", Summary: "The list of the rows of a CSV text, each a map from the names in its header line to texts; error bad_csv where a row does not fit. With a third argument: that, for null and for whatever is no CSV.",
		Example: `FROM_CSV("id,name\n1,Ada\n")`, Result: `[{"id":"1","name":"Ada"}]`},
	{Name: "TO_BASE64", Min: 1, Max: 1, Fn: needs(1, base64Writer("TO_BASE64", base64.StdEncoding)),
		Signature: "TO_BASE64(text)", Summary: "A text or bytes as base64 text.",
		Example: `TO_BASE64("hello")`, Result: "aGVsbG8="},
	{Name: "BASE64", Min: 1, Max: 1, Fn: needs(1, base64Writer("BASE64", base64.StdEncoding)),
		Signature: "BASE64(text)", Summary: "The older name of TO_BASE64.",
		Example: `BASE64("hello")`, Result: "aGVsbG8="},
	{Name: "TO_BASE64_URL", Min: 1, Max: 1, Fn: needs(1, base64Writer("TO_BASE64_URL", base64.RawURLEncoding)),
		Signature: "TO_BASE64_URL(text)", Summary: "A text or bytes as base64 text for use in addresses: - and _ in place of + and /, no = at the end.",
		Example: `TO_BASE64_URL("a?b>c")`, Result: "YT9iPmM"},
	{Name: "BASE64_URL", Min: 1, Max: 1, Fn: needs(1, base64Writer("BASE64_URL", base64.RawURLEncoding)),
		Signature: "BASE64_URL(text)", Summary: "The older name of TO_BASE64_URL.",
		Example: `BASE64_URL("a?b>c")`, Result: "YT9iPmM"},
	{Name: "FROM_BASE64", Min: 1, Max: 2, Fn: withFallback(1, needs(1, fromBase64)),
		Signature: "FROM_BASE64(text[, otherwise])", Summary: "The bytes that a base64 text of either form writes; TEXT makes a text of them. With a second argument: that, for null and for what cannot be read.",
		Example: `TEXT(FROM_BASE64("aGVsbG8="))`, Result: "hello"},
	{Name: "TO_HEX", Min: 1, Max: 1, Fn: needs(1, renamed("HEX", "TO_HEX", toHex)),
		Signature: "TO_HEX(text)", Summary: "A text or bytes as hexadecimal text.",
		Example: `TO_HEX("hello")`, Result: "68656c6c6f"},
	{Name: "HEX", Min: 1, Max: 1, Fn: needs(1, toHex),
		Signature: "HEX(text)", Summary: "The older name of TO_HEX.",
		Example: `HEX("hello")`, Result: "68656c6c6f"},
	{Name: "FROM_HEX", Min: 1, Max: 2, Fn: withFallback(1, needs(1, fromHex)),
		Signature: "FROM_HEX(text[, otherwise])", Summary: "The bytes that a hexadecimal text writes; TEXT makes a text of them. With a second argument: that, for null and for what cannot be read.",
		Example: `TEXT(FROM_HEX("68656c6c6f"))`, Result: "hello"},
	{Name: "TO_HTML", Min: 1, Max: 1, Fn: needs(1, renamed("HTML_ESCAPE", "TO_HTML", htmlEscape)),
		Signature: "TO_HTML(text)", Summary: "The text with & < > \" ' written so that HTML shows them. HTML \"…\" does this to all it inserts.",
		Example: `TO_HTML("a < b & c")`, Result: "a &lt; b &amp; c"},
	{Name: "HTML_ESCAPE", Min: 1, Max: 1, Fn: needs(1, htmlEscape),
		Signature: "HTML_ESCAPE(text)", Summary: "The older name of TO_HTML.",
		Example: `HTML_ESCAPE("a < b & c")`, Result: "a &lt; b &amp; c"},
	{Name: "TO_URL", Min: 1, Max: 1, Fn: needs(1, renamed("URL_ENCODE", "TO_URL", urlEncode)),
		Signature: "TO_URL(text)", Summary: "The text as a part of an address: all but letters, digits and - _ . ~ as %XX.",
		Example: `TO_URL("a b/c?")`, Result: "a%20b%2Fc%3F"},
	{Name: "URL_ENCODE", Min: 1, Max: 1, Fn: needs(1, urlEncode),
		Signature: "URL_ENCODE(text)", Summary: "The older name of TO_URL.",
		Example: `URL_ENCODE("a b/c?")`, Result: "a%20b%2Fc%3F"},
	{Name: "FROM_URL", Min: 1, Max: 2, Fn: withFallback(1, needs(1, renamed("URL_DECODE", "FROM_URL", urlDecode))),
		Signature: "FROM_URL(text[, otherwise])", Summary: "The text with each %XX turned back; + stays as it is. With a second argument: that, for null and for what cannot be read.",
		Example: `FROM_URL("a%20b%2Fc%3F")`, Result: "a b/c?"},
	{Name: "URL_DECODE", Min: 1, Max: 1, Fn: needs(1, urlDecode),
		Signature: "URL_DECODE(text)", Summary: "The older name of FROM_URL.",
		Example: `URL_DECODE("a%20b%2Fc%3F")`, Result: "a b/c?"},
	{Name: "TO_QUERY", Min: 1, Max: 1, Fn: needs(1, renamed("QUERY_STRING", "TO_QUERY", queryString)),
		Signature: "TO_QUERY(map)", Summary: "The map as the query of an address; a list gives its key once for each element, null is left out.",
		Example: `TO_QUERY({q: "a b", page: 2, tag: ["x", "y"]})`, Result: "q=a%20b&page=2&tag=x&tag=y"},
	{Name: "QUERY_STRING", Min: 1, Max: 1, Fn: needs(1, queryString),
		Signature: "QUERY_STRING(map)", Summary: "The older name of TO_QUERY.",
		Example: `QUERY_STRING({q: "a b", page: 2, tag: ["x", "y"]})`, Result: "q=a%20b&page=2&tag=x&tag=y"},
	{Name: "FROM_QUERY", Min: 1, Max: 2, Fn: withFallback(1, needs(1, renamed("PARSE_QUERY", "FROM_QUERY", parseQuery))),
		Signature: "FROM_QUERY(text[, otherwise])", Summary: "The map of a query or form text, of texts; a list where a key stands there several times. With a second argument: that, for null and for what cannot be read.",
		Example: `FROM_QUERY("q=a+b&tag=x&tag=y")`, Result: `{"q":"a b","tag":["x","y"]}`},
	{Name: "PARSE_QUERY", Min: 1, Max: 1, Fn: needs(1, parseQuery),
		Signature: "PARSE_QUERY(text)", Summary: "The older name of FROM_QUERY.",
		Example: `PARSE_QUERY("q=a+b&tag=x&tag=y")`, Result: `{"q":"a b","tag":["x","y"]}`},
	{Name: "PARSE_URL", Min: 1, Max: 1, Fn: needs(1, parseURL),
		Signature: "PARSE_URL(text)", Summary: "The parts of an address: {scheme, host, port, path, query, fragment}, null where there is none.",
		Example: `PARSE_URL("https://example.com/a?x=1").host`, Result: "example.com"},
}

// renamed is a function whose errors name it by its newer name.
func renamed(old, name string, fn Func) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		v, err := fn(c, args)
		var failed *value.Error
		if errors.As(err, &failed) {
			failed.Message = strings.Replace(failed.Message, old, name, 1)
			return v, failed
		}
		return v, err
	}
}

func base64Writer(name string, enc *base64.Encoding) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		in := read(c, name, args)
		s := in.content(0, "")
		if in.err != nil {
			return value.Null, in.err
		}
		size := enc.EncodedLen(len(s))
		b := value.NewBuilder(c.Meter, value.KindText, c.size(int64(size)))
		src, out := args[0].Raw(), b.Reserve(size)
		c.chunks(len(src), part/3*3, 8, func(from, to int) {
			enc.Encode(out[from/3*4:], src[from:to])
		})
		return b.Value(), nil
	}
}

// fromBase64 reads both alphabets, with or without = at the end and white
// space in between.
func fromBase64(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_BASE64", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	written := strings.TrimRight(s, "= \t\r\n")
	c.Meter.Work(len(s) / 4)
	c.Meter.Alloc(len(written))
	clean := make([]byte, 0, len(written))
	c.chunks(len(written), part, 32, func(from, to int) {
		for i := from; i < to; i++ {
			switch b := written[i]; b {
			case ' ', '\t', '\r', '\n':
			case '-':
				clean = append(clean, '+')
			case '_':
				clean = append(clean, '/')
			default:
				clean = append(clean, b)
			}
		}
	})
	enc := base64.RawStdEncoding
	size := enc.DecodedLen(len(clean))
	b := value.NewBuilder(c.Meter, value.KindBytes, size)
	out := b.Reserve(size)
	bad := false
	c.chunks(len(clean), part, 16, func(from, to int) {
		if _, err := enc.Decode(out[from/4*3:], clean[from:to]); err != nil {
			bad = true
		}
	})
	if bad {
		return value.Null, value.Errorf(value.BadArgument, "FROM_BASE64 cannot read %s: it is no base64 text", value.Quote(s))
	}
	return b.Value(), nil
}

func toHex(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "HEX", args)
	s := in.content(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	size := 2 * len(s)
	b := value.NewBuilder(c.Meter, value.KindText, c.size(int64(size)))
	src, out := args[0].Raw(), b.Reserve(size)
	c.chunks(len(src), part, 8, func(from, to int) {
		hex.Encode(out[2*from:], src[from:to])
	})
	return b.Value(), nil
}

func fromHex(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_HEX", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	size := len(s) / 2
	b := value.NewBuilder(c.Meter, value.KindBytes, size)
	src, out := args[0].Raw(), b.Reserve(size)
	bad := len(s)%2 != 0
	c.chunks(size, part, 16, func(from, to int) {
		if _, err := hex.Decode(out[from:to], src[2*from:2*to]); err != nil {
			bad = true
		}
	})
	if bad {
		return value.Null, value.Errorf(value.BadArgument, "FROM_HEX cannot read %s: it is no hexadecimal text, of two digits for each byte", value.Quote(s))
	}
	return b.Value(), nil
}
