// Package files has an account's tree of files. The grammar of its paths is
// in path.go and the same for every backend, so that a path means one file and
// no two paths mean the same one on any system. Dir is the backend on a real
// folder, Tree the one on a store's rows and a folder of blobs.
//
// What a file's content means, and how much an account may store, is decided by
// the caller.
package files

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// The sizes of a path.
const (
	maxPath     = 1024 // bytes
	maxSegments = 32
	maxSegment  = 255 // bytes
)

const invalidPath = "invalid_path"

// top is the folder of all files. It can be listed, and is no path of Canonical.
const top = "/"

// Canonical checks a path and returns its one written form: absolute, in
// Unicode's composed form. A path that breaks a rule is invalid_path; the
// message names the part and the rule.
func Canonical(path string) (string, error) {
	if isPlain(path) {
		return path, nil
	}
	return canonical(path)
}

// canonical is Canonical of any path.
func canonical(path string) (string, error) {
	if !utf8.ValidString(path) {
		return "", refuse(path, "it is not valid UTF-8")
	}
	path = norm.NFC.String(path)
	if !strings.HasPrefix(path, "/") {
		return "", refuse(path, "it must start with /")
	}
	if path == top {
		return "", refuse(path, "it is the folder of all files, which can only be listed")
	}
	if len(path) > maxPath {
		return "", refuse(path, fmt.Sprintf("it is longer than %d bytes", maxPath))
	}
	segments := strings.Split(path[1:], "/")
	if len(segments) > maxSegments {
		return "", refuse(path, fmt.Sprintf("it has more than %d parts", maxSegments))
	}
	for _, segment := range segments {
		if rule := brokenRule(segment); rule != "" {
			return "", refuse(path, rule)
		}
	}
	return path, nil
}

// isPlain reports whether a path breaks no rule for sure, as nearly all do: it is looked at once, and
// nothing is made of it.
func isPlain(path string) bool {
	if len(path) < 2 || len(path) > maxPath || path[0] != '/' {
		return false
	}
	segments, start := 0, 1
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			if !isPlainByte[path[i]] {
				return false
			}
			continue
		}
		segment := path[start:i]
		if segment == "" || len(segment) > maxSegment || segment[len(segment)-1] == '.' || mayBeDevice(segment) {
			return false
		}
		segments, start = segments+1, i+1
	}
	return segments <= maxSegments
}

// isPlainByte has the characters of ASCII that may stand anywhere in a name, but for a dot at its end.
var isPlainByte = func() (is [256]bool) {
	for c := '!'; c <= '~'; c++ {
		is[c] = forbidden(c) == ""
	}
	return is
}()

// mayBeDevice reports whether a name begins as those of devices do.
func mayBeDevice(segment string) bool {
	if len(segment) < len("CON") {
		return false
	}
	switch upper(segment[0])<<8 | upper(segment[1]) {
	case 'C'<<8 | 'O', 'P'<<8 | 'R', 'A'<<8 | 'U', 'N'<<8 | 'U', 'C'<<8 | 'L', 'L'<<8 | 'P':
		return true
	}
	return false
}

// upper returns the capital of a letter of ASCII.
func upper(c byte) uint16 {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return uint16(c)
}

// refuseTop keeps the top from being read as a file: there it is a folder like
// any other.
func refuseTop(path string) error {
	if path != top {
		return nil
	}
	return value.Errorf(isFolder, "%s is the folder of all files, not a file", value.Quote(path))
}

func refuse(path, rule string) error {
	return value.Errorf(invalidPath, "the path %s cannot be used: %s", value.Quote(path), rule)
}

// brokenRule returns in words the rule that a part of a path breaks; "" where
// it is fine.
func brokenRule(segment string) string {
	switch {
	case segment == "":
		return "it has an empty part; parts are separated by one /, and none follows the last"
	case segment == "." || segment == "..":
		return fmt.Sprintf("%q is no name; every path starts at the top", segment)
	case len(segment) > maxSegment:
		return fmt.Sprintf("%s is longer than %d bytes", value.Quote(segment), maxSegment)
	}
	blank := true
	for _, r := range segment {
		blank = blank && isBlank(r)
		if what := forbidden(r); what != "" {
			return fmt.Sprintf("%s holds %s", value.Quote(segment), what)
		}
	}
	first, _ := utf8.DecodeRuneInString(segment)
	last, _ := utf8.DecodeLastRuneInString(segment)
	switch {
	case unicode.IsSpace(first) || unicode.IsSpace(last):
		return fmt.Sprintf("%s starts or ends with a space", value.Quote(segment))
	case blank:
		return fmt.Sprintf("%s holds nothing that can be seen", value.Quote(segment))
	case last == '.':
		return fmt.Sprintf("%s ends with a dot", value.Quote(segment))
	case isDevice(segment):
		return fmt.Sprintf("%s is the name of a device on some systems", value.Quote(segment))
	}
	return ""
}

// forbidden names what r is where no path may hold it.
func forbidden(r rune) string {
	switch {
	case r < 0x20 || r >= 0x7f && r <= 0x9f:
		return fmt.Sprintf("the control character U+%04X", r)
	case strings.ContainsRune(`\:*?"<>|`, r):
		return fmt.Sprintf("the character %c", r)
	case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Co, unicode.Cf):
		return fmt.Sprintf("U+%04X, which is no character", r)
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point):
		return fmt.Sprintf("the invisible character U+%04X", r)
	}
	return ""
}

// isBlank reports whether r shows nothing by itself, though it may stand in a
// name: a variation selector changes how the sign before it looks.
func isBlank(r rune) bool {
	const brailleBlank = '\u2800'
	return r == brailleBlank || unicode.IsSpace(r) || unicode.Is(unicode.Variation_Selector, r)
}

// isDevice reports whether Windows would take a name, with any ending, for a
// device.
func isDevice(segment string) bool {
	base, _, _ := strings.Cut(segment, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if number, ok := strings.CutPrefix(base, port); ok && utf8.RuneCountInString(number) == 1 && strings.Contains("123456789¹²³", number) {
			return true
		}
	}
	return false
}

// Key returns what two paths have in common that some system would take for
// the same: no two files of an account have the same key.
func Key(path string) string {
	if key, ok := plainKey(path); ok {
		return key
	}
	return foldedKey(path)
}

// foldedKey is Key of any path.
func foldedKey(path string) string {
	folded := cases.Fold().String(norm.NFD.String(path))
	return norm.NFC.String(strings.Map(leastCase, folded))
}

// plainKey is Key for ASCII: of characters that differ in case alone the capital is the first.
func plainKey(path string) (string, bool) {
	small := false
	for i := range len(path) {
		if path[i] >= utf8.RuneSelf {
			return "", false
		}
		small = small || 'a' <= path[i] && path[i] <= 'z'
	}
	if !small {
		return path, true
	}
	return strings.ToUpper(path), true
}

// leastCase returns the first of the characters that differ from r in case
// alone. Folding has one for each, but not for all scripts the same one for
// capitals and small letters.
func leastCase(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}
