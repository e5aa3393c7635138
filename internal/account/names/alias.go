// Package names is the grammar of what accounts are called and list: usernames, e-mail
// addresses and phone numbers, and the entries of a whitelist, each in one canonical form.
// Hosts are those of package hostname; who has which name is for package account.
package names

import (
	"errors"
	"slices"
	"strings"

	"ql/internal/hostname"
)

// Kind is a kind of name.
type Kind string

// The kinds. Their grammars share no text: a username has neither @ nor +, an
// e-mail address has an @, a phone number starts with +.
const (
	Username Kind = "username"
	Email    Kind = "email"
	Phone    Kind = "phone"
)

// Alias is a name in its canonical form: names that lead to the same account
// have the same Alias.
type Alias struct {
	Kind Kind
	Name string
}

// ParseAlias tells which kind of name a text is and brings it to its canonical
// form.
func ParseAlias(text string) (Alias, error) {
	kind, parse := Username, ParseUsername
	switch {
	case strings.Contains(text, "@"):
		kind, parse = Email, ParseEmail
	case strings.HasPrefix(text, "+"):
		kind, parse = Phone, ParsePhone
	}
	name, err := parse(text)
	return Alias{kind, name}, err
}

// ErrReserved says that a username is the service's own.
var ErrReserved = errors.New("this username is kept for the service itself")

var (
	errUsername = errors.New("a username has 3 to 32 of the characters a-z, 0-9, _ and -, starts with a letter or digit, and is not a number")
	errEmail    = errors.New("an e-mail address looks like ada@example.com")
	errEmailMix = errors.New("the part of the e-mail address before the @ has letters of several scripts, or letters that look like others")
	errPhone    = errors.New("a phone number starts with + and the country's digits, 7 to 15 digits in all, such as +12025550143")
)

const (
	minUsername  = 3
	maxUsername  = 32
	maxEmail     = 254
	maxLocalPart = 64
)

// ParseUsername brings a username to lower case. It folds ASCII letters and nothing
// else: no letter of another script becomes one of ours.
func ParseUsername(text string) (string, error) {
	if len(text) < minUsername || len(text) > maxUsername {
		return "", errUsername
	}
	name := []byte(text)
	digits := true
	for i, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			name[i] = c + ('a' - 'A')
			digits = false
		case 'a' <= c && c <= 'z':
			digits = false
		case '0' <= c && c <= '9':
		case (c == '_' || c == '-') && i > 0:
			digits = false
		default:
			return "", errUsername
		}
	}
	if digits {
		return "", errUsername
	}
	return string(name), nil
}

// reserved usernames would be taken for the service, or be hosts and paths of
// it, in links and in Site Mode.
var reserved = []string{
	"about", "abuse", "account", "accounts", "admin", "administrator", "anonymous", "api", "app", "assets", "auth",
	"billing", "blog", "cdn", "client", "config", "confirm", "console", "contact", "dashboard", "dev", "developer",
	"docs", "download", "editor", "everyone", "file", "files", "form", "forms", "ftp", "guest", "healthz", "help",
	"host", "hostmaster", "imap", "info", "internal", "job", "jobs", "legal", "limits", "localhost", "login", "logout",
	"mail", "metrics", "mx1", "news", "nobody", "noreply", "no-reply", "ns1", "ns2", "null", "operator", "ops", "owner",
	"password", "policy", "pop", "postmaster", "privacy", "public", "query", "readyz", "register", "root", "sales",
	"secret", "secrets", "security", "service", "session", "settings", "share", "signin", "signup", "site", "sites",
	"smtp", "staff", "static", "status", "support", "sysadmin", "system", "team", "terms", "test", "undefined", "user",
	"user_test", "username", "users", "v1", "v2", "web", "webhook", "webhooks", "webmaster", "www",
}

// IsReserved tells whether a canonical username, or what is left of it without
// its dashes, is kept for the service.
func IsReserved(username string) bool {
	plain := strings.Trim(username, "_-")
	return slices.Contains(reserved, username) || slices.Contains(reserved, plain) || strings.HasPrefix(username, "xn--")
}

// ParsePhone reads a phone number: + and digits, without anything between them.
func ParsePhone(text string) (string, error) {
	digits, ok := strings.CutPrefix(text, "+")
	if !ok || len(digits) < 7 || len(digits) > 15 || digits[0] == '0' || !hostname.IsDigits(digits) {
		return "", errPhone
	}
	return text, nil
}

// ParseEmail brings an e-mail address to lower case, and its domain to ASCII.
func ParseEmail(text string) (string, error) {
	if len(text) > maxEmail {
		return "", errEmail
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return "", errEmail
	}
	local, err := parseLocalPart(text[:at])
	if err != nil {
		return "", err
	}
	host, err := hostname.ParseDomain(text[at+1:])
	if err != nil || !strings.Contains(host, ".") {
		return "", errEmail
	}
	name := local + "@" + host
	if len(name) > maxEmail {
		return "", errEmail
	}
	return name, nil
}

// parseLocalPart takes what stands before the @: a dot-atom, of ASCII or of the
// letters of one script. Quoted forms would give one mailbox many spellings.
func parseLocalPart(text string) (string, error) {
	folded, err := hostname.Fold(text)
	if err != nil || folded == "" || len(folded) > maxLocalPart {
		return "", errEmail
	}
	for atom := range strings.SplitSeq(folded, ".") {
		if atom == "" {
			return "", errEmail
		}
		for _, r := range atom {
			if r < 0x80 && !isAtomByte(byte(r)) {
				return "", errEmail
			}
		}
	}
	if !isOneScript(folded) {
		return "", errEmailMix
	}
	return folded, nil
}

func isAtomByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}
