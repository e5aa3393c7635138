package site

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ql/lang/source"

	"github.com/pelletier/go-toml/v2"
)

// SettingsPath is the file of a site that holds its settings.
const SettingsPath = Root + "/_site.toml"

// MaxSettings is how many bytes the settings of a site may have.
const MaxSettings = 32 << 10

// Settings are what a site says of itself.
type Settings struct {
	// Fallback is the file that answers where none else does; "" for none.
	Fallback string
	// Records says which views of pages are kept as jobs.
	Records Records

	redirects []rule
	headers   []headerRule // the most general first
}

// Records says which views of pages are kept as jobs.
type Records string

// The choices.
const (
	RecordErrors Records = "errors" // that failed, were slow or wait for somebody
	RecordAll    Records = "all"
	RecordNone   Records = "none" // none but those that wait
)

// Defaults are the settings of a site that says nothing.
func Defaults() *Settings { return &defaults }

// defaults are shared: nobody changes settings that were read.
var defaults = Settings{Records: RecordErrors}

// Header is a header of an answer.
type Header struct{ Name, Value string }

// rule leads from a path to another. One that ends with * is about all that begins with what is
// before it.
type rule struct{ from, to string }

type headerRule struct {
	from    string
	headers []Header
}

// match tells whether a rule is about a path, and what stands in the place of the star.
func match(from, path string) (rest string, ok bool) {
	if before, isPrefix := strings.CutSuffix(from, "*"); isPrefix {
		return strings.CutPrefix(path, before)
	}
	return "", from == path
}

// Redirect returns where a path leads by the rules of the site: an exact one, then the longest that
// fits.
func (s *Settings) Redirect(path string) (to string, ok bool) {
	for _, r := range s.redirects {
		if rest, ok := match(r.from, path); ok {
			to, isPrefix := strings.CutSuffix(r.to, "*")
			if isPrefix {
				to += rest
			}
			return "/" + strings.TrimLeft(to, "/"), true // of two at the beginning a browser reads a host
		}
	}
	return "", false
}

// Headers returns the headers of the site for a path, those of more special rules last.
func (s *Settings) Headers(path string) []Header {
	var list []Header
	for _, r := range s.headers {
		if _, ok := match(r.from, path); ok {
			list = append(list, r.headers...)
		}
	}
	return list
}

// How many rules a site may have: each is looked at for every request.
const (
	mostRedirects   = 500
	mostHeaderRules = 100
)

var settingNames = []string{"fallback", "headers", "records", "redirects"}

// ParseSettings reads the settings of a site. The error says all that is wrong, a line for each.
func ParseSettings(text []byte) (*Settings, error) {
	if len(text) > MaxSettings {
		return nil, fmt.Errorf("the file has %d bytes: %d fit", len(text), MaxSettings)
	}
	var entries map[string]any
	if err := toml.Unmarshal(text, &entries); err != nil {
		var e *toml.DecodeError
		if errors.As(err, &e) {
			row, column := e.Position()
			return nil, &SettingsMistake{row, column, strings.TrimPrefix(e.Error(), "toml: ")}
		}
		return nil, err
	}
	p := settingsParser{Settings: &Settings{Records: defaults.Records}}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		p.set(name, entries[name])
	}
	return p.Settings, errors.Join(p.wrong...)
}

// SettingsMistake is one mistake in the settings of a site. Line is 0 where it is of no one line.
type SettingsMistake struct {
	Line, Column int
	Message      string
}

// Error implements error.
func (m *SettingsMistake) Error() string {
	if m.Line == 0 {
		return m.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.Message)
}

// CheckSettings returns all that is wrong with the settings of a site.
func CheckSettings(text []byte) []*SettingsMistake {
	_, err := ParseSettings(text)
	var mistake *SettingsMistake
	var several interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &several):
		var all []*SettingsMistake
		for _, e := range several.Unwrap() {
			all = append(all, &SettingsMistake{Message: e.Error()})
		}
		return all
	case errors.As(err, &mistake):
		return []*SettingsMistake{mistake}
	}
	return []*SettingsMistake{{Message: err.Error()}}
}

type settingsParser struct {
	*Settings
	wrong []error
}

func (p *settingsParser) refuse(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Errorf(format, args...))
}

func (p *settingsParser) set(name string, v any) {
	switch name {
	case "fallback":
		path, ok := v.(string)
		if !ok || !isOwnPath(path) {
			p.refuse(`fallback: it takes the path of a file of the site, such as "/app.html"`)
			return
		}
		p.Fallback = Root + path
	case "records":
		text, _ := v.(string)
		if p.Records = Records(text); p.Records != RecordErrors && p.Records != RecordAll && p.Records != RecordNone {
			p.refuse(`records: it takes "errors", "all" or "none"`)
		}
	case "redirects":
		p.setRedirects(v)
	case "headers":
		p.setHeaders(v)
	default:
		if near := source.Nearest(name, settingNames); near != "" {
			p.refuse("%s: there is no such setting; there is %s", name, near)
			return
		}
		p.refuse("%s: there is no such setting; there are %s", name, strings.Join(settingNames, ", "))
	}
}

func (p *settingsParser) setRedirects(v any) {
	table, ok := v.(map[string]any)
	if !ok || len(table) > mostRedirects {
		p.refuse(`redirects: it takes a table of up to %d paths, such as "/old" = "/new"`, mostRedirects)
		return
	}
	for _, from := range sortedRules(table) {
		to, ok := table[from].(string)
		switch {
		case !isRule(from):
			p.refuse("redirects: %q is no path such as /old or /old/*", from)
		case !ok || !isRule(to) || strings.HasSuffix(to, "*") && !strings.HasSuffix(from, "*"):
			p.refuse("redirects: %q leads to no path of the site, such as /new, or /new/* where a * is before it too", from)
		default:
			p.redirects = append(p.redirects, rule{from, to})
		}
	}
}

func (p *settingsParser) setHeaders(v any) {
	table, ok := v.(map[string]any)
	if !ok || len(table) > mostHeaderRules {
		p.refuse(`headers: it takes a table of up to %d paths, each with a table of headers`, mostHeaderRules)
		return
	}
	rules := sortedRules(table)
	slices.Reverse(rules)
	for _, from := range rules {
		headers, ok := table[from].(map[string]any)
		if !ok || !isRule(from) {
			p.refuse("headers: %q is no path such as /docs or /assets/* with a table of headers", from)
			continue
		}
		r := headerRule{from: from}
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			value, ok := headers[name].(string)
			if !ok || !MayHeader(name) || strings.EqualFold(name, "location") || !isHeaderName(name) || !isText(value) {
				p.refuse("headers: %q: sites do not set the header %q, or not to this", from, name)
				continue
			}
			r.headers = append(r.headers, Header{name, value})
		}
		p.headers = append(p.headers, r)
	}
}

// sortedRules returns paths, exact ones first, then those that say most.
func sortedRules(table map[string]any) []string {
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		aStar, bStar := strings.HasSuffix(a, "*"), strings.HasSuffix(b, "*")
		switch {
		case aStar != bStar && bStar:
			return -1
		case aStar != bStar:
			return 1
		case len(a) != len(b):
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
}

// isOwnPath tells whether a text is a path of the site that all read alike.
func isOwnPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && !strings.ContainsFunc(path, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}*%?#", r)
	})
}

// isRule is isOwnPath with a star at the end, or without.
func isRule(path string) bool { return isOwnPath(strings.TrimSuffix(path, "*")) }
