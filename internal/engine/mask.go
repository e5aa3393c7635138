package engine

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minMasked is the shortest secret that is masked: shorter ones occur in any
// text by chance.
const minMasked = 4

// hidden stands where a secret was.
const hidden = "•••"

// remember notes a secret that the script has read.
func (r *Run) remember(secret string) {
	if len(secret) >= minMasked && !slices.Contains(r.state.Secrets, secret) {
		r.state.Secrets = append(r.state.Secrets, strings.Clone(secret))
	}
}

// mask hides the secrets that the script has read in a message, also where the
// message quotes or shortens them, has them in a URL, or in other letters: names
// of headers and hosts are written in small or capital ones.
func (r *Run) mask(message string) string {
	// The longest first: one may begin with another.
	secrets := slices.SortedFunc(slices.Values(r.state.Secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range secrets {
		quoted, ascii := strconv.Quote(s), strconv.QuoteToASCII(s)
		for _, form := range []string{s, quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], url.QueryEscape(s), url.PathEscape(s)} {
			form = fold(form)
			message = hide(message, form)
			for _, cut := range []string{"…", "..."} {
				message = hideCut(message, form, cut)
			}
		}
	}
	return message
}

// hide hides a folded form of a secret.
func hide(message, form string) string {
	folded := fold(message)
	var b strings.Builder
	at := 0
	for {
		i := strings.Index(folded[at:], form)
		if i < 0 {
			break
		}
		b.WriteString(message[at:at+i] + hidden)
		at += i + len(form)
	}
	if at == 0 {
		return message
	}
	return b.String() + message[at:]
}

// hideCut hides the beginnings of a form that a message cuts off.
func hideCut(message, form, cut string) string {
	folded := fold(message)
	var b strings.Builder
	at := 0
	for from := 0; ; {
		i := strings.Index(message[from:], cut)
		if i < 0 {
			break
		}
		i += from
		from = i + len(cut)
		for n := min(len(form)-1, i-at); n >= minMasked; n-- {
			if folded[i-n:i] == form[:n] {
				b.WriteString(message[at:i-n] + hidden)
				at = i
				break
			}
		}
	}
	if at == 0 {
		return message
	}
	return b.String() + message[at:]
}

// fold makes letters equal that differ in their case alone. No letter changes
// its length, so that places in the text stay the same.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for i, r := range s {
		least := r
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			least = min(least, x)
		}
		size := utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			b = append(b, s[i]) // no letter at all
		case utf8.RuneLen(least) != size:
			b = append(b, s[i:i+size]...)
		default:
			b = utf8.AppendRune(b, least)
		}
	}
	return string(b)
}
