package doctest

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// page is a Markdown file, cut into its lines.
type page struct {
	name   string // below the root of the repository
	lines  []string
	blocks []block
}

// block is a fenced block of a page.
type block struct {
	from, to int // its lines, without the fences, as indexes into page.lines
	lang     string
	words    []string // what stands behind the language
	text     string
	given    []file // what the nearest given above it says
}

// file is a part of a given: the name of a file of the account's folder, which
// starts with a slash, or one of the words of a given.
type file struct{ name, text string }

// line returns where the block stands, for people.
func (b *block) line() int { return b.from }

// word returns what follows name= among the words of a block.
func (b *block) word(name string) (string, bool) {
	for _, w := range b.words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

const (
	fence      = "```"
	givenStart = "<!-- given"
	commentEnd = "-->"
)

func readPage(root, name string) (*page, error) {
	text, err := os.ReadFile(root + "/" + name)
	if err != nil {
		return nil, err
	}
	p, err := parsePage(name, string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return p, nil
}

// parsePage finds the blocks of a page. A given holds up to the next one, or to
// the next heading of the second level.
func parsePage(name, text string) (*page, error) {
	p := &page{name: name, lines: strings.Split(text, "\n")}
	var given []file
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		switch {
		case strings.HasPrefix(line, "## "):
			given = nil
		case strings.HasPrefix(line, "<!--"):
			end := p.find(i, func(s string) bool { return strings.HasSuffix(s, commentEnd) })
			if end < 0 {
				return nil, fmt.Errorf("%d: this comment has no end", i+1)
			}
			if line == givenStart {
				given = parseGiven(p.lines[i+1 : end])
			}
			i = end
		case strings.HasPrefix(line, fence):
			end := p.find(i+1, func(s string) bool { return s == fence })
			if end < 0 {
				return nil, fmt.Errorf("%d: this block has no end", i+1)
			}
			words, err := splitWords(strings.TrimPrefix(line, fence))
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i+1, err)
			}
			b := block{from: i + 1, to: end, text: strings.Join(p.lines[i+1:end], "\n"), given: given}
			if len(words) > 0 {
				b.lang, b.words = words[0], words[1:]
			}
			p.blocks = append(p.blocks, b)
			i = end
		}
	}
	return p, nil
}

// find returns the first line from i on for which is holds, or -1.
func (p *page) find(i int, is func(string) bool) int {
	for ; i < len(p.lines); i++ {
		if is(p.lines[i]) {
			return i
		}
	}
	return -1
}

// parseGiven takes the parts of a given apart: each starts with a line
// "-- name --".
func parseGiven(lines []string) []file {
	var files []file
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(name, " --") {
			files = append(files, file{name: strings.TrimSuffix(name, " --")})
			continue
		}
		if n := len(files); n > 0 {
			files[n-1].text += line + "\n"
		}
	}
	return files
}

// splitWords splits the words behind a fence. Single quotes hold one together; a
// quote inside them is doubled, as in scripts.
func splitWords(s string) ([]string, error) {
	var words []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " ") {
		var word strings.Builder
		for s != "" && s[0] != ' ' {
			if s[0] != '\'' {
				word.WriteByte(s[0])
				s = s[1:]
				continue
			}
			inside, rest, ok := strings.Cut(s[1:], "'")
			if !ok {
				return nil, fmt.Errorf("a quote is open behind the fence")
			}
			word.WriteString(inside)
			if strings.HasPrefix(rest, "'") {
				word.WriteByte('\'')
			}
			s = rest
		}
		words = append(words, word.String())
	}
	return words, nil
}

// edit replaces the lines of a block.
type edit struct {
	from, to int
	text     string
}

// apply returns the text of a page with edits made.
func (p *page) apply(edits []edit) string {
	lines := slices.Clone(p.lines)
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		var with []string
		if e.text != "" {
			with = strings.Split(e.text, "\n")
		}
		lines = slices.Replace(lines, e.from, e.to, with...)
	}
	return strings.Join(lines, "\n")
}
