package names

import (
	"strings"
	"unicode"

	"ql/internal/hostname"
)

// writing are the sets of scripts that one language writes with.
var writing = [][]*unicode.RangeTable{
	{unicode.Latin}, {unicode.Cyrillic}, {unicode.Greek}, {unicode.Armenian}, {unicode.Hebrew}, {unicode.Arabic},
	{unicode.Devanagari}, {unicode.Bengali}, {unicode.Gurmukhi}, {unicode.Gujarati}, {unicode.Oriya}, {unicode.Tamil},
	{unicode.Telugu}, {unicode.Kannada}, {unicode.Malayalam}, {unicode.Sinhala}, {unicode.Thai}, {unicode.Lao},
	{unicode.Tibetan}, {unicode.Myanmar}, {unicode.Georgian}, {unicode.Ethiopic}, {unicode.Khmer}, {unicode.Mongolian},
	{unicode.Han, unicode.Hiragana, unicode.Katakana}, {unicode.Han, unicode.Hangul}, {unicode.Han, unicode.Bopomofo},
}

// lookalikes are the Cyrillic and Greek letters that are drawn as Latin ones.
const lookalikes = "авеоркстухіјѕһԁԛԝҽӏɡ" + "αικνορτυχγω"

// isOneScript tells whether all letters of a folded text belong to one way of
// writing. A text of nothing but look-alikes of Latin letters is none.
func isOneScript(text string) bool {
	if hostname.IsASCII(text) {
		return true
	}
	fits := func(scripts []*unicode.RangeTable) bool {
		for _, r := range text {
			if unicode.IsLetter(r) && !unicode.IsOneOf(scripts, r) {
				return false
			}
		}
		return true
	}
	distinct := false
	for _, r := range text {
		if unicode.IsLetter(r) && !strings.ContainsRune(lookalikes, r) {
			distinct = true
		}
	}
	if !distinct {
		return false
	}
	for _, scripts := range writing {
		if fits(scripts) {
			return true
		}
	}
	return false
}
