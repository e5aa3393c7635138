package doctest

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ql/internal/config"
	"ql/internal/site"
	"ql/lang/syntax"
)

// TestWords checks that the reference has every word of the grammar.
func TestWords(t *testing.T) {
	p, err := readPage(root, reference)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(p.lines, "\n")
	for _, words := range [][]string{
		syntax.Verbs(), syntax.StructureWords(), syntax.OperatorWords(), syntax.ClauseWords(),
		syntax.FieldKinds(), syntax.FieldAttributes(), syntax.Formats(), syntax.Units(), syntax.Globals(),
	} {
		for _, word := range words {
			if !regexp.MustCompile(`\b` + word + `\b`).MatchString(text) {
				t.Errorf("%s never shows %s", p.name, word)
			}
		}
	}
}

// TestPackages checks that the architecture names every package.
func TestPackages(t *testing.T) {
	p, err := readPage(root, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(p.lines, "\n")
	for _, top := range []string{"cmd", "e2e", "internal", "lang"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if files, err := filepath.Glob(filepath.Join(name, "*.go")); err != nil || len(files) == 0 {
				return err
			}
			below, err := filepath.Rel(root, name)
			if pkg := filepath.ToSlash(below); !strings.Contains(text, "| `"+pkg+"` |") {
				t.Errorf("%s has no row for the package %s", p.name, pkg)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBlocks checks that every block is of a language that is run, or that only
// shows something: a name with a slip would never be run.
func TestBlocks(t *testing.T) {
	known := slices.Concat([]string{"ql", "console", "toml"}, expectations, slices.Collect(maps.Keys(languages())),
		[]string{"csv", "html", "json", "markdown", "sh", "text"})
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if !slices.Contains(known, b.lang) {
				t.Errorf("%s:%d: nothing is known of blocks in %q", p.name, b.line(), b.lang)
			}
		}
	}
}

// TestSettingsFiles checks that the files of settings that pages show are right.
func TestSettingsFiles(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.lang != "toml" {
				continue
			}
			if slices.Contains(b.words, "site") {
				if _, err := site.ParseSettings([]byte(b.text)); err != nil {
					t.Errorf("%s:%d: %v", p.name, b.line(), err)
				}
				continue
			}
			file := filepath.Join(t.TempDir(), "ql.toml")
			writeFile(t, file, b.text+"\n")
			if _, err := config.Load(config.Sources{File: file}); err != nil {
				t.Errorf("%s:%d: %v", p.name, b.line(), err)
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks checks that the links of all pages to files and headings of the
// project lead there.
func TestLinks(t *testing.T) {
	headings := map[string][]string{}
	all := pages(t)
	for _, p := range all {
		headings[p.name] = p.anchors()
	}
	for _, p := range all {
		for _, target := range p.links() {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(target, "#")
			name := p.name
			if file != "" {
				name = path.Join(path.Dir(p.name), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Errorf("%s links to %s, which is not there", p.name, target)
				continue
			}
			if hasAnchor && !slices.Contains(headings[name], anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", p.name, target, name)
			}
		}
	}
}

// prose returns the lines of a page outside its blocks.
func (p *page) prose() []string {
	var lines []string
	from := 0
	for _, b := range p.blocks {
		lines = append(lines, p.lines[from:b.from]...)
		from = b.to
	}
	return append(lines, p.lines[from:]...)
}

func (p *page) links() []string {
	var all []string
	for _, m := range link.FindAllStringSubmatch(strings.Join(p.prose(), "\n"), -1) {
		all = append(all, m[1])
	}
	return all
}

// anchors returns what links may name behind a #: the headings, written as
// browsers of repositories write them.
func (p *page) anchors() []string {
	var all []string
	for _, line := range p.prose() {
		text := strings.TrimLeft(line, "#")
		if text == line || !strings.HasPrefix(text, " ") {
			continue
		}
		all = append(all, anchor(strings.TrimSpace(text)))
	}
	return all
}

func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
