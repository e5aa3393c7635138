package lib

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Capital and small letters are those of Unicode's full mapping, without the rules of single
// languages: a letter may become several (ß, ŉ, ﬁ), and Σ is ς at the end of a word.

func upper(c *Call, args []value.Value) (value.Value, error) {
	return mapText(c, "UPPER", args, unicode.ToUpper, severalCapitals)
}

func lower(c *Call, args []value.Value) (value.Value, error) {
	return mapText(c, "LOWER", args, unicode.ToLower, func(r rune, s string, i int) string {
		if r == 'Σ' {
			c.Meter.Work(sigmaWork)
		}
		return severalSmall(r, s, i)
	})
}

// sigmaWork is what it takes to look at what stands beside a Σ.
const sigmaWork = 20

// severalRanges are where Unicode has letters whose capitals are several characters.
var severalRanges = [...][2]rune{
	{'ß', 'ß'}, {'ŉ', 'ŉ'}, {'ǰ', 'ǰ'}, {'ΐ', 'ΐ'}, {'ΰ', 'ΰ'}, {'և', 'և'}, {'ẖ', 'ẚ'}, {'ὐ', 'ῼ'}, {'ﬀ', 'ﬗ'},
}

var capitals = sync.OnceValue(func() map[rune]string {
	all := map[rune]string{}
	upper := cases.Upper(language.Und)
	for _, span := range severalRanges {
		for r := span[0]; r <= span[1]; r++ {
			if s := upper.String(string(r)); utf8.RuneCountInString(s) > 1 {
				all[r] = s
			}
		}
	}
	return all
})

// severalCapitals returns the capitals of a letter that has several, "" for others.
func severalCapitals(r rune, _ string, _ int) string {
	for _, span := range &severalRanges {
		if r < span[0] {
			return ""
		}
		if r <= span[1] {
			return capitals()[r]
		}
	}
	return ""
}

// severalSmall returns the small letters of the character at i of a text where they are several, or
// depend on those beside it; "" for others.
func severalSmall(r rune, s string, i int) string {
	switch {
	case r == 'İ':
		return "i\u0307"
	case r == 'Σ' && endsWord(s, i):
		return "ς"
	}
	return ""
}

// endsWord reports whether the letter at i is the last one of a word of more than one. What stands
// between two letters is looked at for each of them, so that a text costs no more than twice its
// length.
func endsWord(s string, i int) bool {
	before := strings.TrimRightFunc(s[:i], isCaseIgnorable)
	if r, n := utf8.DecodeLastRuneInString(before); n == 0 || !isCased(r) {
		return false
	}
	for _, r := range s[i+len("Σ"):] {
		if !isCaseIgnorable(r) {
			return !isCased(r)
		}
	}
	return true
}

// isCased is Unicode's property Cased.
func isCased(r rune) bool {
	if r < utf8.RuneSelf {
		return r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// isCaseIgnorable is Unicode's property Case_Ignorable.
func isCaseIgnorable(r rune) bool {
	switch r {
	// those that stand within words
	case '\'', '.', ':', '\u00B7', '\u0387', '\u055F', '\u05F4', '\u2018', '\u2019', '\u2024', '\u2027', '\uFE13', '\uFE52', '\uFE55', '\uFF07', '\uFF0E', '\uFF1A':
		return true
	}
	if r < utf8.RuneSelf {
		return r == '^' || r == '`'
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// mapText replaces every character of a text by what f makes of it, or by what several has for the
// character at a place of the text.
func mapText(c *Call, name string, args []value.Value, f func(rune) rune, several func(rune, string, int) string) (value.Value, error) {
	in := read(c, name, args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	size, changed, at := 0, false, 0
	for p := range c.pieces(s) {
		c.Meter.Work(len(p))
		for i, r := range p {
			if r >= utf8.RuneSelf {
				if more := several(r, s, at+i); more != "" {
					size += len(more)
					changed = true
					continue
				}
			}
			to := f(r)
			size += utf8.RuneLen(to)
			changed = changed || to != r
		}
		at += len(p)
	}
	if !changed {
		return args[0], nil
	}
	b := value.NewBuilder(c.Meter, value.KindText, size)
	out := b.Reserve(size)[:0]
	at = 0
	for p := range c.pieces(s) {
		for i, r := range p {
			if r >= utf8.RuneSelf {
				if more := several(r, s, at+i); more != "" {
					out = append(out, more...)
					continue
				}
			}
			out = utf8.AppendRune(out, f(r))
		}
		at += len(p)
	}
	return b.Value(), nil
}
