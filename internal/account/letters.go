package account

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var errLetters = errors.New("characters that are no lower-case letters, marks or digits")

// foldLetters brings a text to lower case and NFC. Besides ASCII it takes
// letters and their marks only, in their plain forms, and refuses letters
// whose lower case is no longer the same letter to a reader, or would change
// again if folded twice.
func foldLetters(text string) (string, error) {
	if isASCII(text) {
		return strings.ToLower(text), nil
	}
	if !utf8.ValidString(text) {
		return "", errLetters
	}
	composed := norm.NFC.String(text)
	for _, r := range composed {
		if r >= utf8.RuneSelf && unicode.ToLower(r) < utf8.RuneSelf {
			return "", errLetters
		}
	}
	folded := norm.NFC.String(strings.ToLower(composed))
	first := true
	for _, r := range folded {
		switch {
		case r < utf8.RuneSelf:
			first = r == '.' || r == '-'
			continue
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r):
			if first {
				return "", errLetters
			}
		case !unicode.IsLetter(r) || unicode.IsUpper(r) || unicode.IsTitle(r):
			return "", errLetters
		}
		first = false
	}
	if !isNormal(folded) || strings.ToLower(folded) != folded {
		return "", errLetters
	}
	return folded, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

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
	if isASCII(text) {
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
