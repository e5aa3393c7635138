package engine

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/vm"
)

const (
	// minMasked is the shortest secret that is masked: shorter ones occur in any
	// text by chance.
	minMasked = 4
	// maxSought is how much of a secret is looked for. Keys are shorter; of what
	// begins like a longer one, all that follows is hidden with it.
	maxSought = 2 << 10
)

// hidden stands where a secret was.
const hidden = "•••"

// addSecret notes a secret that the script has read.
func (r *Run) addSecret(secret string) {
	if len(secret) >= minMasked && !slices.Contains(r.state.Secrets, secret) {
		r.state.Secrets = append(r.state.Secrets, strings.Clone(secret))
	}
}

// maskError hides the secrets that the script has read in an error, which may
// quote them anywhere. A code with a secret in it gives way to the one that FAIL
// has by itself, so that it stays a word.
func (r *Run) maskError(e *vm.Error) {
	if len(r.state.Secrets) == 0 {
		return
	}
	spellings := r.spellings()
	e.Fields = slices.Clone(e.Fields)
	for i, f := range e.Fields {
		e.Fields[i] = vm.Field{Name: mask(f.Name, spellings), Message: mask(f.Message, spellings)}
	}
	e.Message, e.Step, e.File = mask(e.Message, spellings), mask(e.Step, spellings), mask(e.File, spellings)
	if mask(e.Code, spellings) != e.Code && e.Limit == nil && e.Code != "internal" {
		e.Code = "script_failed"
	}
}

// spelling is how a secret may stand in a text, folded.
type spelling struct {
	text string
	more bool // the secret is longer
}

// spellings returns how the secrets that the script has read may stand in a text:
// as they are, quoted, and in a URL.
func (r *Run) spellings() []spelling {
	var all []spelling
	for _, s := range r.state.Secrets {
		end := min(len(s), maxSought)
		for end < len(s) && end < maxSought+utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end++ // no letter is quoted in halves
		}
		head := s[:end]
		quoted, ascii := strconv.Quote(head), strconv.QuoteToASCII(head)
		own := make([]string, 0, 5)
		for _, text := range [...]string{head, quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], url.QueryEscape(head), url.PathEscape(head)} {
			if !slices.Contains(own, text) {
				own = append(own, text)
				known := spelling{fold(text), len(head) < len(s)}
				if len(known.text) > maxSought {
					known = spelling{known.text[:maxSought], true}
				}
				all = append(all, known)
			}
		}
	}
	return all
}

// mask hides the spellings of secrets in a text, also where it shortens them, or
// has them in other letters: names of headers and hosts are written in small or
// capital ones. Its work grows with the length of the text and, for each one
// whose beginning the text has, with that length again.
func mask(text string, spellings []spelling) string {
	folded := fold(text)
	var ends, marks []int
	for _, known := range spellings {
		first := strings.Index(folded, known.text[:minMasked])
		if first < 0 {
			continue
		}
		if ends == nil {
			ends, marks = make([]int, len(text)), lastMarks(text)
		}
		common(known.text, folded[first:], func(at, n int) {
			at += first
			switch mark := marks[at+n]; {
			case n == len(known.text) && known.more:
				ends[at] = len(text)
			case n == len(known.text):
				ends[at] = max(ends[at], at+n)
			case mark-at >= minMasked:
				ends[at] = max(ends[at], mark)
			}
		})
	}
	if ends == nil {
		return text
	}
	return cover(text, ends)
}

// cover hides what begins at the places that have an end in ends. Where two
// overlap, they are hidden as one.
func cover(text string, ends []int) string {
	var b strings.Builder
	done := 0
	for at, end := range ends {
		if end <= done {
			continue
		}
		if at >= done {
			b.WriteString(text[done:at] + hidden)
		}
		done = end
	}
	return b.String() + text[done:]
}

// lastMarks returns for each place in text, its end too, where the last mark of
// a cut begins that does not begin after it; 0 where there is none.
func lastMarks(text string) []int {
	marks := make([]int, len(text)+1)
	last := 0
	for i := range marks {
		if strings.HasPrefix(text[i:], "…") || strings.HasPrefix(text[i:], "...") {
			last = i
		}
		marks[i] = last
	}
	return marks
}

// common tells found for each place in text how many bytes from there on are
// those that head begins with. Its work grows with the length of both, however
// often they begin alike.
func common(head, text string, found func(at, n int)) {
	own := make([]int, len(head)) // the same for head itself
	extend(head, head[1:], own, func(at, n int) { own[at+1] = n })
	extend(head, text, own, found)
}

// extend does the work of common (the Z-algorithm): what is known to be the
// same is not compared again.
func extend(head, text string, own []int, found func(at, n int)) {
	from, to := 0, 0 // text[from:to] is how head begins
	for at := range len(text) {
		n := 0
		if at < to {
			n = min(to-at, own[at-from])
		}
		for n < len(head) && at+n < len(text) && text[at+n] == head[n] {
			n++
		}
		found(at, n)
		if at+n > to {
			from, to = at, at+n
		}
	}
}

// fold makes letters equal that differ in their case alone. No letter changes
// its length, so that places in the text stay the same.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for i, r := range s {
		if r < utf8.RuneSelf {
			if 'a' <= r && r <= 'z' {
				r += 'A' - 'a'
			}
			b = append(b, byte(r))
			continue
		}
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
