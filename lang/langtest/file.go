package langtest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ql/lang/vm"
)

// File is a parsed case file.
type File struct {
	remark string
	Cases  []*Case
}

// Case is a script with what it is given and what it must do.
type Case struct {
	Name     string
	Line     int // of its === in the file
	Script   string
	Rules    vm.Rules // of the host that it runs under, or nil
	sections []section
}

// section is a --- of a case.
type section struct {
	name, arg, body string
	line            int
}

var (
	given    = []string{"get", "post", "cookie", "request", "body", "input", "files", "include", "limits", "host"}
	expected = []string{"output", "lines", "error", "stack", "declined", "compile", "refused", "effects", "trace", "steps", "response", "cookies"}
)

// Parse reads a case file.
func Parse(text string) (*File, error) {
	f := &File{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	start := 0
	var c *Case
	var head section
	// finish gives the lines up to end to what was begun last.
	finish := func(end int) error {
		body := lines[start:end]
		if c != nil && len(body) > 0 && end < len(lines) && strings.HasPrefix(lines[end], "=== ") && body[len(body)-1] == "" {
			body = body[:len(body)-1]
		}
		joined := strings.Join(body, "\n")
		switch {
		case c == nil:
			f.remark = joined
		case head.name == "":
			c.Script = joined
		default:
			head.body = joined
			c.sections = append(c.sections, head)
			return c.checkSection(head)
		}
		return nil
	}
	for i, line := range lines {
		name, isCase := strings.CutPrefix(line, "=== ")
		s, isSection := sectionHead(line)
		if !isCase && (!isSection || c == nil) {
			continue
		}
		if err := finish(i); err != nil {
			return nil, err
		}
		if isCase {
			c = &Case{Name: name, Line: i + 1}
			f.Cases = append(f.Cases, c)
		}
		head = s
		head.line = i + 1
		start = i + 1
	}
	if err := finish(len(lines)); err != nil {
		return nil, err
	}
	return f, f.checkNames()
}

func sectionHead(line string) (section, bool) {
	rest, ok := strings.CutPrefix(line, "--- ")
	name, arg, _ := strings.Cut(rest, " ")
	if !ok || !slices.Contains(given, name) && !slices.Contains(expected, name) {
		return section{}, false
	}
	return section{name: name, arg: strings.TrimSpace(arg)}, true
}

func (f *File) checkNames() error {
	seen := map[string]bool{}
	for _, c := range f.Cases {
		if seen[c.Name] {
			return fmt.Errorf("line %d: there are two cases %q", c.Line, c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

func (c *Case) checkSection(s section) error {
	n := 0
	for _, other := range c.sections {
		if other.name == s.name && (s.name != "include" || other.arg == s.arg) {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("line %d: the case %q has two sections %s", s.line, c.Name, s.name)
	}
	return nil
}

// find returns the section of that name.
func (c *Case) find(name string) (section, bool) {
	i := slices.IndexFunc(c.sections, func(s section) bool { return s.name == name })
	if i < 0 {
		return section{}, false
	}
	return c.sections[i], true
}

// put replaces the section of that name or adds it.
func (c *Case) put(s section) {
	i := slices.IndexFunc(c.sections, func(o section) bool { return o.name == s.name })
	if i < 0 {
		c.sections = append(c.sections, s)
		return
	}
	c.sections[i] = s
}

func (c *Case) drop(name string) {
	c.sections = slices.DeleteFunc(c.sections, func(s section) bool { return s.name == name })
}

// output returns what the case says is emitted.
func (c *Case) output() (string, error) {
	if s, ok := c.find("lines"); ok {
		return s.body + "\n", nil
	}
	s, _ := c.find("output")
	if s.arg == "" {
		return s.body, nil
	}
	if digits, ok := strings.CutPrefix(s.arg, "hex "); ok {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return "", fmt.Errorf("line %d: %w", s.line, err)
		}
		return string(b), nil
	}
	var text string
	if err := json.Unmarshal([]byte(s.arg), &text); err != nil {
		return "", fmt.Errorf("line %d: the argument of output is a JSON text: %w", s.line, err)
	}
	return text, nil
}

// putOutput makes the case expect out.
func (c *Case) putOutput(out string) {
	c.drop("output")
	c.drop("lines")
	body, isLines := strings.CutSuffix(out, "\n")
	switch {
	case out == "":
	case !utf8.ValidString(out):
		c.put(section{name: "output", arg: "hex " + hex.EncodeToString([]byte(out))})
	case !showsAsIs(body):
		arg, _ := json.Marshal(out)
		c.put(section{name: "output", arg: string(arg)})
	case isLines:
		c.put(section{name: "lines", body: body})
	default:
		c.put(section{name: "output", body: out})
	}
}

// showsAsIs reports whether a text can stand in a file and be read back.
func showsAsIs(s string) bool {
	for _, line := range strings.Split(s, "\n") {
		if _, isSection := sectionHead(line); isSection || strings.HasPrefix(line, "=== ") || strings.HasSuffix(line, " ") {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f })
}

// format writes the file.
func (f *File) format() (string, error) {
	var b strings.Builder
	if f.remark != "" {
		b.WriteString(f.remark + "\n")
	}
	for i, c := range f.Cases {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "=== %s\n", c.Name)
		if c.Script != "" {
			b.WriteString(c.Script + "\n")
		}
		for _, s := range c.sections {
			b.WriteString(strings.TrimRight("--- "+s.name+" "+s.arg, " ") + "\n")
			if s.body != "" {
				b.WriteString(s.body + "\n")
			}
		}
	}
	again, err := Parse(b.String())
	if err != nil {
		return "", err
	}
	for i, c := range f.Cases {
		if len(again.Cases) <= i || again.Cases[i].Script != c.Script || len(again.Cases[i].sections) != len(c.sections) {
			return "", fmt.Errorf("the case %q cannot be written: its text looks like another section", c.Name)
		}
	}
	return b.String(), nil
}
