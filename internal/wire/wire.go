// Package wire is the service's two calling conventions as bytes: strict
// decoders of requests, exact encoders of answers, and the headers that go with
// each kind of answer. It knows neither accounts nor jobs nor HTTP servers: who
// may call, what a script does and when an answer is sent is its callers'
// business.
package wire

import "cmp"

// Limits bound a request. One that is zero is that of Default.
type Limits struct {
	Body      int // bytes of the body
	Script    int // bytes of the script
	Depth     int // objects and lists inside one another, in JSON
	Nodes     int // values in a JSON document
	Keys      int // names in one JSON object
	Fields    int // bytes of the names and values together of each of get, post and cookie
	FieldKeys int // names in each of those
	// Reserve is asked for memory, or with a negative number given it back, before a
	// decoder holds much more than Decoding says; its error is that of the decoder.
	// nil asks nobody.
	Reserve func(bytes int64) error
}

var defaults = Limits{
	Body:      1 << 20,
	Script:    256 << 10,
	Depth:     32,
	Nodes:     100_000,
	Keys:      1000,
	Fields:    64 << 10,
	FieldKeys: 256,
}

// deepest is how deep a decoder goes whatever the limits say, since it goes
// there on its own stack.
const deepest = 1000

// Default returns the limits of an ordinary account.
func Default() Limits { return defaults }

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, defaults.Body)
	l.Script = cmp.Or(l.Script, defaults.Script)
	l.Depth = min(cmp.Or(l.Depth, defaults.Depth), deepest)
	l.Nodes = cmp.Or(l.Nodes, defaults.Nodes)
	l.Keys = cmp.Or(l.Keys, defaults.Keys)
	l.Fields = cmp.Or(l.Fields, defaults.Fields)
	l.FieldKeys = cmp.Or(l.FieldKeys, defaults.FieldKeys)
	return l
}

// TraceMode is how much of a run's trace its caller wants. It is stored with jobs.
type TraceMode string

// The modes.
const (
	TraceFull   TraceMode = ""       // always
	TraceErrors TraceMode = "errors" // where the script failed
	TraceNone   TraceMode = "none"   // never: none is collected
)

// Pair is a name with its text. Pairs keep the order in which they were sent.
type Pair struct{ Name, Value string }

// Field is a name with what was sent for it: a text, or JSON of any other kind. It is
// stored with jobs, those of earlier versions as Pair.
type Field struct {
	Name  string
	Value string // the text; the JSON of what is none
	JSON  bool   `json:",omitempty"`
}

// Request is what a caller hands to the script about a request of its own.
type Request struct {
	// Entries are what !REQUEST holds: path, method, header:<name> and what
	// else the caller sent.
	Entries []Pair
	// Get, Post and Cookie are nil where they were left out, and empty where
	// they were sent empty. Cookie has none of the service's own.
	Get, Post []Field
	Cookie    []Pair
	// Body is what !BODY holds. Where it is none, that is the entry "body": so a text
	// stands there which a caller of the JSON convention sends.
	Body Body `json:",omitzero"`
	// Files are what !FILES shows of the files that came with the request, in their order.
	Files []RequestFile `json:",omitempty"`
}

// RequestFile is what a script is shown of a file that came with a request.
type RequestFile struct {
	Field string // of the form that it came with
	Name  string // a plain one; "" for a field for which none was chosen
	Type  string
	Size  int64
	Path  string
	// Digest is the SHA-256 of the content, by which the same request is known again.
	Digest string
}

// bodyEntry names the entry of !REQUEST that is the body as a text.
const bodyEntry = "body"

// BodyEntry returns the body that stands in the entries.
func (q *Request) BodyEntry() (text string, ok bool) {
	for i := range q.Entries {
		if q.Entries[i].Name == bodyEntry {
			return q.Entries[i].Value, true
		}
	}
	return "", false
}

// Bytes is how many bytes a request takes in memory.
func (q *Request) Bytes() int64 {
	const each = 64 // about what an entry takes besides its texts
	n := int64(len(q.Body.Text) + len(q.Body.Bytes))
	for _, pairs := range [...][]Pair{q.Entries, q.Cookie} {
		for i := range pairs {
			n += int64(len(pairs[i].Name) + len(pairs[i].Value) + each)
		}
	}
	for _, fields := range [...][]Field{q.Get, q.Post} {
		for i := range fields {
			n += int64(len(fields[i].Name) + len(fields[i].Value) + each)
		}
	}
	for i := range q.Files {
		f := &q.Files[i]
		n += int64(len(f.Field) + len(f.Name) + len(f.Type) + len(f.Path) + len(f.Digest) + 2*each)
	}
	return n
}

// within checks the parts that limits of their own hold.
func (q *Request) within(prefix string, l *Limits) *Refusal {
	part := func(name string, names, bytes int) *Refusal {
		switch {
		case names > l.FieldKeys:
			return tooMany(prefix+name, "names", "field_keys", l.FieldKeys)
		case bytes > l.Fields:
			return tooLarge(prefix+name, "field_bytes", l.Fields)
		}
		return nil
	}
	if r := part("get", len(q.Get), fieldBytes(q.Get)); r != nil {
		return r
	}
	if r := part("post", len(q.Post), fieldBytes(q.Post)); r != nil {
		return r
	}
	bytes := 0
	for _, p := range q.Cookie {
		bytes += len(p.Name) + len(p.Value)
	}
	return part("cookie", len(q.Cookie), bytes)
}

// fieldBytes is how many bytes fields have, values as their JSON.
func fieldBytes(list []Field) (n int) {
	for i := range list {
		n += len(list[i].Name) + len(list[i].Value)
	}
	return n
}

func scriptWithin(field, script string, l *Limits) *Refusal {
	if len(script) > l.Script {
		return tooLarge(field, "script_bytes", l.Script)
	}
	return nil
}
