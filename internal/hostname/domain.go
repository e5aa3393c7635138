package hostname

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/secure/bidirule"
)

const (
	maxDomain = 253
	maxLabel  = 63
	acePrefix = "xn--" // of a label written in Punycode
)

// grammar is what the labels of a domain name may have besides lower-case ASCII letters,
// digits and hyphens inside them.
type grammar struct {
	letters     bool // of all scripts, written in Punycode then
	underscores bool
}

var (
	written = grammar{letters: true}
	called  = grammar{underscores: true}
)

// ParseDomain brings a domain name to lower case and ASCII. Labels in other
// letters are written in Punycode, as IDNA has it; of what IDNA allows this
// takes the names without special cases: letters and their marks, with ASCII
// digits and hyphens. A label that is written in Punycode already is taken as
// it stands. A final dot, which stands for the root, must be cut off before.
func ParseDomain(text string) (string, error) {
	name, err := written.parse(text)
	if err == nil && endsInNumber(name) {
		return "", ErrDomain
	}
	return name, err
}

func (g grammar) parse(text string) (string, error) {
	if text == "" || len(text) > 4*maxDomain {
		return "", ErrDomain
	}
	if g.isPlain(text) {
		return strings.Clone(text), nil // it may be a part of a long request
	}
	var b strings.Builder
	for label := range strings.SplitSeq(text, ".") {
		label, err := g.parseLabel(label)
		if err != nil {
			return "", err
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(label)
	}
	if b.Len() > maxDomain {
		return "", ErrDomain
	}
	return b.String(), nil
}

// isPlain reports whether a name is in its one form already, as nearly all are that are called.
func (g grammar) isPlain(text string) bool {
	if len(text) > maxDomain || !IsASCII(text) || strings.Contains(text, acePrefix) {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if len(label) > maxLabel || !g.allows(label) {
			return false
		}
	}
	return true
}

// endsInNumber tells whether the last label of a name would make browsers, or some
// resolvers, read it as an address of IPv4.
func endsInNumber(name string) bool {
	label := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return IsDigits(label)
}

func (g grammar) parseLabel(text string) (string, error) {
	if len(text) > 4*maxLabel || !g.letters && !IsASCII(text) {
		return "", ErrDomain
	}
	label, err := Fold(text)
	if err != nil || !g.allows(label) {
		return "", ErrDomain
	}
	if !IsASCII(label) {
		if strings.HasPrefix(label, acePrefix) || !bidirule.ValidString(label) {
			return "", ErrDomain
		}
		if label, err = idna.Punycode.ToASCII(label); err != nil {
			return "", ErrDomain
		}
	}
	if len(label) > maxLabel {
		return "", ErrDomain
	}
	return label, nil
}

// allows checks the ASCII of a label: letters, digits, and hyphens inside it.
func (g grammar) allows(label string) bool {
	for i := range len(label) {
		c := label[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' && g.underscores || c >= utf8.RuneSelf) {
			return false
		}
	}
	return label != "" && label[0] != '-' && label[len(label)-1] != '-'
}
