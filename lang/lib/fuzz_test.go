package lib

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ql/lang/value"
)

// FuzzCSV checks that what CSVEncode writes, CSVDecode reads back, and that no
// text upsets the decoder.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("\ufeffa,\"b\"\"\r\n\"\r\n\"\",x\r\n")
	f.Add("a\n\"\"\n\n")
	f.Add("a\rb\rc")
	f.Add("\"a")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		rows, err := CSVDecode(newMeter(1<<30, 1<<30), text)
		if err != nil {
			if err.Code != value.BadCSV {
				t.Fatalf("error %s: %v", err.Code, err)
			}
			return
		}
		encoded, err := CSVEncode(newMeter(1<<30, 1<<30), rows)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := CSVDecode(nil, string(encoded))
		if err != nil {
			t.Fatalf("decode %q: %v", encoded, err)
		}
		if !value.Equal(nil, rows, again) {
			t.Errorf("%s became %s by way of %q", value.AppendJSON(nil, rows), value.AppendJSON(nil, again), encoded)
		}
	})
}

// FuzzTimeFormat checks that a time which a format writes in full is read back
// as the same, and that no format upsets the writer or the reader.
func FuzzTimeFormat(f *testing.F) {
	f.Add(int64(1780302600), "YYYY-MM-DD HH:mm:ss Z", "2026-06-01 08:30:00 Z")
	f.Add(int64(0), "dddd, D MMMM YYYY [at] h:mm:ss A", "x")
	f.Add(int64(951782399), "YYYYMMDDTHHmmss", "20000229T000000")
	f.Add(int64(-62135596800), "Mon Jan _2 15:04:05 2006", "")
	f.Add(int64(5), "[[]YY ddd MMM M m s H hh a SSS", "+0100")
	f.Fuzz(func(t *testing.T, unix int64, format, text string) {
		if !utf8.ValidString(format) || !utf8.ValidString(text) {
			return
		}
		in := read(newCall(), "TEST", []value.Value{value.Text(format)})
		form := in.format(0)
		if in.err != nil {
			return
		}
		form.parse(text, time.UTC)
		parseMoment(text, time.UTC)
		const years = 250_000_000_000 // seconds, so that the years are 1 to 9999
		moment := time.Unix(unix%years, 0).UTC()
		if moment.Year() < 1 || moment.Year() > 9999 {
			return
		}
		written := string(form.append(nil, moment))
		if !utf8.ValidString(written) {
			t.Fatalf("%q wrote %q", format, written)
		}
		if form.isGoLayout || !complete(form) {
			return
		}
		if got, ok := form.parse(written, time.UTC); !ok || !got.Equal(moment) {
			t.Errorf("%q wrote %v as %q and read it as %v, %v", format, moment, written, got, ok)
		}
	})
}

// complete reports whether a format has each part of a time once, each told
// from the next.
func complete(f timeFormat) bool {
	count := map[byte]int{}
	wide := true
	for _, p := range f.parts {
		if p.code == "" {
			if strings.ContainsAny(p.text, "0123456789:+-") || p.text == "" {
				return false
			}
			wide = false
			continue
		}
		if wide && len(count) > 0 || p.code == "YY" || p.code == "SSS" {
			return false
		}
		wide = true
		count[p.code[0]]++
	}
	for _, letter := range []byte("YMDHms") {
		if count[letter] != 1 {
			return false
		}
	}
	return count['h']+count['A']+count['a']+count['S'] == 0
}

// FuzzPattern checks our search for all matches against that of package
// regexp, under small bounds.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		"a", "a*", "", `\b`, `\B`, "^", "$", "(?m)^", "(?m)$", "(a|ab)(c|bcd)(d*)", `\Aa`, `a\z`, "(?i)Ä", "x?", "(?s).", "(a)(b)?", `\Qa`, "(?U)a+", "a{2}", "[^a]", "(?P<n>b)",
		"(?i:a)b", "(?:^|,)x", "a+?", `(?m)^$`, "ab|a", `é`,
	} {
		f.Add("abcd aab\nÄb,x,,x é", p)
	}
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if !utf8.ValidString(text) || !utf8.ValidString(pattern) || len(text) > 1000 {
			return
		}
		m := newMeter(50_000_000, 1<<24)
		m.Bounds = value.Bounds{Text: 10_000, Elements: 5000, Nesting: 10, Pattern: 200, PatternCost: 1_000_000}
		c := &Call{Meter: m, Patterns: NewPatterns(3)}
		_ = limited(func() {
			in := read(c, "TEST", []value.Value{value.Text(text), value.Text(pattern)})
			p := in.patternOfAll(1)
			if in.err != nil {
				if in.err.Code != value.BadPattern {
					t.Fatalf("error %s: %v", in.err.Code, in.err)
				}
				return
			}
			var got [][]int
			for at := range c.matches(p, text) {
				got = append(got, slices.Clone(at))
			}
			want := regexp.MustCompile(pattern).FindAllStringSubmatchIndex(text, -1)
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%q in %q: got %v, want %v", pattern, text, got, want)
			}
			first := c.search(p, text, true)
			if len(want) == 0 != (first == nil) || len(want) > 0 && !slices.Equal(first, want[0]) {
				t.Errorf("%q in %q: first %v, want %v", pattern, text, first, want)
			}
		})
	})
}
