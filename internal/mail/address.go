package mail

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/internal/hostname"
)

// Address is whom a mail is from or for.
type Address struct {
	Name   string // as people see it; "" for none
	Local  string
	Domain string // in ASCII, in lower case
}

const (
	maxLocal   = 64
	maxAddress = 254
	maxName    = 200
	// MaxSubject bounds subjects, in code points.
	MaxSubject = 250
)

// ParseAddress reads ada@example.com or Ada Lovelace <ada@example.com>. There are no quoted local
// parts, comments, groups or literals: what mail servers take in practice, and nothing that a header
// could be made to say something else by. The error says what is wrong in words for people.
func ParseAddress(text string) (Address, error) {
	var a Address
	rest := strings.TrimSpace(text)
	if len(text) > 4*(maxAddress+maxName) {
		return a, fmt.Errorf("an address has at most %d characters", maxAddress)
	}
	if !isLine(text) {
		return a, fmt.Errorf("%s has a line end or another character that cannot be seen", Quote(text))
	}
	if strings.HasSuffix(rest, ">") {
		i := strings.LastIndexByte(rest, '<')
		if i < 0 {
			return a, notAddress(text)
		}
		a.Name = strings.TrimSpace(rest[:i])
		rest = rest[i+1 : len(rest)-1]
		if n := len(a.Name); n >= 2 && a.Name[0] == '"' && a.Name[n-1] == '"' {
			a.Name = strings.TrimSpace(a.Name[1 : n-1])
		}
		if strings.ContainsAny(a.Name, "<>\"\\@,;:()") || utf8.RuneCountInString(a.Name) > maxName {
			return Address{}, fmt.Errorf("the name in %s is not one such as Ada Lovelace, without <>\"\\@,;:()", Quote(text))
		}
	}
	local, domain, ok := cutLast(rest, '@')
	if !ok || !isDotAtom(local) || len(local) > maxLocal {
		return Address{}, notAddress(text)
	}
	h, err := hostname.Parse(domain)
	if err != nil || h.IsAddr() || !strings.Contains(h.Name, ".") || strings.HasSuffix(domain, ".") || len(local)+1+len(h.Name) > maxAddress {
		return Address{}, notAddress(text)
	}
	a.Local, a.Domain = local, h.Name
	return a, nil
}

func notAddress(text string) error {
	return fmt.Errorf("%s is no e-mail address such as ada@example.com", Quote(text))
}

// Quote shows a text in a message, the start of a long one.
func Quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// isDotAtom says whether a local part is written without quotes: atoms joined by dots, whose letters
// may be of any script.
func isDotAtom(local string) bool {
	if local == "" || !utf8.ValidString(local) {
		return false
	}
	for _, atom := range strings.Split(local, ".") {
		if atom == "" {
			return false
		}
		for _, r := range atom {
			if r < utf8.RuneSelf && !isAtomByte(byte(r)) || r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) {
				return false
			}
		}
	}
	return true
}

func isAtomByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

// isLine says whether a text is one line that can be seen.
func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
	})
}

// CheckSubject returns what is wrong with a subject, or nil.
func CheckSubject(text string) error {
	switch {
	case !isLine(text):
		return fmt.Errorf("the subject has a line end or another character that cannot be seen: it is one line of text")
	case utf8.RuneCountInString(text) > MaxSubject:
		return fmt.Errorf("the subject has at most %d characters", MaxSubject)
	}
	return nil
}

// Mailbox is the address without its name.
func (a Address) Mailbox() string { return a.Local + "@" + a.Domain }

// Equal says whether two addresses lead to the same mailbox, as their owner sees it.
func (a Address) Equal(b Address) bool {
	return a.Domain == b.Domain && strings.EqualFold(a.Local, b.Local)
}

// IsASCII says whether a server without SMTPUTF8 takes the address.
func (a Address) IsASCII() bool {
	return !strings.ContainsFunc(a.Local, func(r rune) bool { return r >= utf8.RuneSelf })
}

// String is the address as people write it.
func (a Address) String() string {
	if a.Name == "" {
		return a.Mailbox()
	}
	return a.Name + " <" + a.Mailbox() + ">"
}

// header is the address as it stands in a header: the name by RFC 2047, or quoted.
func (a Address) header() string {
	if a.Name == "" {
		return a.Mailbox()
	}
	name := encodeWords(a.Name)
	if name == a.Name {
		name = `"` + name + `"` // none of what would have to be escaped is in it
	}
	return name + " <" + a.Mailbox() + ">"
}
