package ide_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ql/lang/ide"
)

var promised = os.Getenv("QL_PROMISES") != ""

// library is the account of the sample scripts: the tables that they use.
type library struct{ shop }

func (library) Tables(string) []ide.Table {
	var out []ide.Table
	for _, line := range strings.Split(strings.TrimSpace(libraryTables), "\n") {
		words := strings.Fields(line)
		t := ide.Table{Name: words[0]}
		for _, c := range words[1:] {
			t.Columns = append(t.Columns, ide.Column{Name: c})
		}
		out = append(out, t)
	}
	return out
}

const libraryTables = `
orders id customer total city month revenue status
posts id title read share
guestbook name message at
customers id name email credit
members name email plan age terms
products id name price
users id name email hash note
invoices id supplier amount state text
ratings person score note
teams id name
people id name team
banners id visible
events kind type data
`

// On every prefix of every sample script something true is offered: what is cut off
// there, or what stands next, in 95 of 100 places. Names of variables and fields that
// stand nowhere before, and are only being made up, are left out: nobody can know them.
func TestPromisePrefixes(t *testing.T) {
	step := 11
	if promised {
		step = 1
	}
	places, offered := 0, 0
	missed := map[string]int{}
	for name, text := range scripts(t, "scripts/*.ql") {
		for _, next := range positions(text, step) {
			places++
			list := ide.Complete(text[:next.at], next.at, library{})
			if slices.ContainsFunc(list, func(c ide.Completion) bool { return strings.EqualFold(strings.TrimSuffix(c.Label, " TEXT"), next.word) }) {
				offered++
			} else {
				missed[name+": "+next.word]++
			}
		}
	}
	t.Logf("%d of %d places", offered, places)
	if offered*100 < places*95 {
		t.Errorf("%d of %d places offer what stands there; not %v", offered, places, missed)
	}
	if testing.Verbose() {
		for what, n := range missed {
			t.Log(n, what)
		}
	}
}

type position struct {
	at   int
	word string
}

// positions returns every so many places of a text where a word or name is being
// written, or stands next.
func positions(text string, step int) []position {
	var out []position
	tokens := ide.Tokens(text)
	last := 0
	for _, t := range tokens {
		from := last
		last = t.End
		switch t.Kind {
		case ide.Keyword, ide.Function, ide.Variable, ide.Global, ide.Field:
			word := text[t.Start:t.End]
			if (t.Kind == ide.Variable || t.Kind == ide.Field) && !standsIn(text[:t.Start], word) && !standsIn(libraryTables, word) {
				continue
			}
			if from > 0 && isWord(text[from-1]) {
				from++ // there it is the word before that is being written
			}
			for at := from; at < t.End; at++ {
				if at%step == 0 && (at >= t.Start || strings.TrimSpace(text[at:t.Start]) == "") {
					out = append(out, position{at, text[t.Start:t.End]})
				}
			}
		}
	}
	return out
}

// standsIn says whether a text has the word as a whole.
func standsIn(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		text = text[end:]
	}
}

func isWord(c byte) bool { return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// Whatever is asked about any prefix of any text has an answer.
func TestPromiseAllOfPrefixes(t *testing.T) {
	step := 97
	if promised {
		step = 1
	}
	for name, text := range scripts(t, "*/*.ql") {
		for at := 0; at <= len(text); at += step {
			ask(t, text[:at], at/2)
			ask(t, text, at)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// ask calls all functions of the package, and checks that ranges lie in the text.
func ask(t *testing.T, text string, at int) {
	t.Helper()
	in := func(what string, start, end int) {
		if start < 0 || end < start || end > len(text) {
			t.Fatalf("%s: [%d, %d) of %d bytes of %q", what, start, end, len(text), text)
		}
	}
	for _, d := range ide.Diagnostics(text, shop{}) {
		in("diagnostic", d.Start, d.End)
		for _, f := range d.Fixes {
			for _, e := range f.Edits {
				in("fix", e.Start, e.End)
			}
		}
	}
	for _, c := range ide.Complete(text, at, shop{}) {
		in("completion", c.Start, c.End)
	}
	if h := ide.Hover(text, at, shop{}); h != nil {
		in("hover", h.Start, h.End)
	}
	ide.Signature(text, at, shop{})
	if l, ok := ide.Definition(text, at, shop{}); ok && l.File == "" {
		in("definition", l.Start, l.End)
	}
	for _, l := range ide.References(text, at) {
		in("reference", l.Start, l.End)
	}
	if edits, err := ide.Rename(text, at, "unheard_of"); err == nil {
		for _, e := range edits {
			in("rename", e.Start, e.End)
		}
	}
	for _, f := range ide.Folds(text) {
		in("fold", f.Start, f.End)
	}
	for _, s := range ide.Symbols(text) {
		in("symbol", s.Start, s.End)
		in("symbol's name", s.NameStart, s.NameEnd)
	}
	last := 0
	for _, k := range ide.Tokens(text) {
		in("token", k.Start, k.End)
		if k.Start < last {
			t.Fatalf("the token at %d overlaps the one before in %q", k.Start, text)
		}
		last = k.End
	}
	ide.Actions(text, at, at, shop{})
	ide.Effects(text, shop{})
	_, _ = ide.Format(text)
	o := ide.NewOffsets(text)
	in("offset", o.Offset(o.Position(at)), o.FromUTF16(o.UTF16(len(text))))
}

// Whatever is typed into or deleted from a script, all is answered.
func FuzzEdits(f *testing.F) {
	for _, text := range scripts(f, "*/*.ql") {
		f.Add(text, uint16(len(text)/2), uint16(3), "?x.")
	}
	f.Add("\uFEFFEMIT 1\r\nSELECT 😀 FROM ", uint16(3), uint16(0), "\r")
	f.Add("0", uint16(6), uint16(38), "\xff")
	f.Fuzz(func(t *testing.T, text string, at, removed uint16, typed string) {
		start := min(int(at), len(text))
		end := min(start+int(removed), len(text))
		text = text[:start] + typed + text[end:]
		ask(t, text, start+len(typed))
	})
}
