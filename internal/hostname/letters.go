package hostname

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var errLetters = errors.New("characters that are no lower-case letters, marks or digits")

// Fold brings a text, such as a label or the local part of an e-mail address, to lower
// case and NFC. Besides ASCII it takes letters and their marks only, in their plain
// forms, and refuses letters whose lower case is no longer the same letter to a reader,
// or would change again if folded twice.
func Fold(text string) (string, error) {
	if IsASCII(text) {
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

// IsASCII tells whether a text has ASCII characters only.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isNormal tells whether a text is already what NFC and NFKC make of it: no
// full-width letters, ligatures or loose accents.
func isNormal(s string) bool {
	return norm.NFC.IsNormalString(s) && norm.NFKC.IsNormalString(s)
}
