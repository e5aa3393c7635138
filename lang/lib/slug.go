package lib

import (
	"unicode"

	"ql/lang/value"
)

// plainLetters lists, for each plain writing, the small Latin letters that a
// slug writes so.
var plainLetters = map[string]string{
	"a": "àáâãäåāăąǎǟǡǻȁȃȧạảấầẩẫậắằẳẵặ", "ae": "æǽ", "b": "ƀḃḅ", "c": "çćĉċčƈ", "d": "ďđðḋḍḏ",
	"e": "èéêëēĕėęěȅȇȩẹẻẽếềểễệ", "f": "ƒḟ", "g": "ĝğġģǧǵḡ", "h": "ĥħȟḣḥḧ", "i": "ìíîïĩīĭįıǐȉȋịỉ",
	"ij": "ĳ", "j": "ĵǰ", "k": "ķĸǩḱḳ", "l": "ĺļľŀłḷḻ", "m": "ḿṁṃ", "n": "ñńņňŉŋǹṅṇ",
	"o": "òóôõöøōŏőơǒǫǿȍȏȫȭȯọỏốồổỗộớờởỡợ", "oe": "œ", "p": "ṕṗ", "r": "ŕŗřȑȓṙṛ", "s": "śŝşšșſṡṣ", "ss": "ßẞ",
	"t": "ţťŧțṫṭ", "th": "þ", "u": "ùúûüũūŭůűųưǔȕȗụủứừửữự", "v": "ṽṿ", "w": "ŵẁẃẅẇẉ", "x": "ẋẍ",
	"y": "ýÿŷȳẏỳỵỷỹ", "z": "źżžƶẑẓ",
}

var plain = func() map[rune]string {
	m := make(map[rune]string)
	for to, letters := range plainLetters {
		for _, r := range letters {
			m[r] = to
		}
	}
	return m
}()

func slug(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SLUG", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	out := buffer{c: c}
	gap := false
	for p := range c.pieces(s) {
		c.Meter.Work(2 * len(p))
		for _, r := range p {
			if r >= 0x300 && r <= 0x36F || r == '\'' || r == '’' {
				continue // accents of their own, and apostrophes: "it's" is one word
			}
			r = unicode.ToLower(r)
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
				gap = len(out.b) > 0
				continue
			}
			if gap {
				out.addByte('-')
				gap = false
			}
			if to, ok := plain[r]; ok {
				out.add(to)
			} else {
				out.addRune(r)
			}
		}
	}
	return out.value(), nil
}
