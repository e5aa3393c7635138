package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/syntax"
)

// textMate is a grammar as editors read it: rules of regular expressions.
type textMate struct {
	Name       string          `json:"name"`
	ScopeName  string          `json:"scopeName"`
	FileTypes  []string        `json:"fileTypes"`
	Patterns   []rule          `json:"patterns"`
	Repository map[string]rule `json:"repository"`
}

type rule struct {
	Include       string           `json:"include,omitempty"`
	Name          string           `json:"name,omitempty"`
	Match         string           `json:"match,omitempty"`
	Begin         string           `json:"begin,omitempty"`
	End           string           `json:"end,omitempty"`
	BeginCaptures map[string]named `json:"beginCaptures,omitempty"`
	EndCaptures   map[string]named `json:"endCaptures,omitempty"`
	Captures      map[string]named `json:"captures,omitempty"`
	Patterns      []rule           `json:"patterns,omitempty"`
}

type named struct {
	Name string `json:"name"`
}

// The parts of expressions of the grammar. A word is none behind a dot, a mark or another letter.
const (
	name  = `[\p{L}_][\p{L}\p{M}\p{N}_]*`
	start = `(?<![\p{L}\p{M}\p{N}_.?!])`
	stop  = `(?![\p{L}\p{M}\p{N}_])`
)

// grammar returns the grammar for highlighting. Its words are those of the parser, so that no list of
// them is kept by hand.
func grammar() []byte {
	verbs := without(syntax.Verbs(), syntax.StructureWords())
	control := slices.Concat(syntax.StructureWords(), []string{"IF", "FOR", "WHILE", "TRY", "BREAK", "CONTINUE", "STOP", "RETURN"})
	constants := []string{"NULL", "TRUE", "FALSE"}
	operators := without(syntax.OperatorWords(), constants)
	types := slices.Concat(strings.Fields(strings.Join(syntax.FieldKinds(), " ")), syntax.Formats())
	clauses := without(slices.Concat(syntax.ClauseWords(), syntax.FieldAttributes(), syntax.Units(), []string{"INTO"}), types)
	expression := []rule{
		{Include: "#comment"}, {Include: "#text"}, {Include: "#number"}, {Include: "#variable"}, {Include: "#global"},
		{Include: "#call"}, {Include: "#constant"}, {Include: "#control"}, {Include: "#verb"}, {Include: "#operator"},
		{Include: "#clause"}, {Include: "#type"}, {Include: "#symbol"},
	}
	quoted := func(scope, quote, otherEnd string) rule {
		return rule{
			Name: scope, Begin: quote, End: quote + otherEnd,
			BeginCaptures: map[string]named{"0": {"punctuation.definition.string.begin.ql"}},
			EndCaptures:   map[string]named{"0": {"punctuation.definition.string.end.ql"}},
			Patterns:      []rule{{Include: "#escape"}, {Include: "#insertion"}},
		}
	}
	g := textMate{
		Name: "ql", ScopeName: "source.ql", FileTypes: []string{"ql"},
		Patterns: append([]rule{{Include: "#sql"}}, expression...),
		Repository: map[string]rule{
			// Its own words are coloured by what the editor has for SQL.
			"sql": {
				Name: "meta.sql.ql", Begin: `(?:^|;)\s*` + anyOf(syntax.SQLHeads()) + stop + `(?!\s*:)`,
				End:           `;|(?=` + start + `(?i:SET)\s+(?:\?|(?i:ROW|VALUE)\s+\?|(?i:FILE)\s+["'?!]))`,
				BeginCaptures: map[string]named{"0": {"keyword.other.sql.ql"}},
				Patterns:      []rule{{Include: "#comment"}, {Include: "#variable"}, {Include: "#global"}, {Include: "source.sql"}},
			},
			"comment": {Patterns: []rule{
				{Name: "comment.line.double-dash.ql", Match: `--.*$`},
				{Name: "comment.block.ql", Begin: `/\*`, End: `\*/`},
			}},
			"text": {Patterns: []rule{
				quoted("string.quoted.triple.ql", `"""`, ""),
				quoted("string.quoted.double.ql", `"`, "|$"),
				{Name: "string.quoted.single.ql", Match: `'(?:[^'\n]|'')*'?`},
			}},
			"escape": {Name: "constant.character.escape.ql", Match: `\\(?:u\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|.)`},
			"insertion": {
				Name: "meta.embedded.ql", Begin: `\{(?:=|(?=[?!][\p{L}_]))`, End: `\}`,
				Captures: map[string]named{"0": {"punctuation.section.embedded.ql"}},
				Patterns: append([]rule{{Include: "#braces"}}, expression...),
			},
			"braces":   {Begin: `\{`, End: `\}`, Patterns: append([]rule{{Include: "#braces"}}, expression...)},
			"number":   {Name: "constant.numeric.ql", Match: start + `[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?`},
			"variable": {Name: "variable.other.ql", Match: `\?` + name},
			"global":   {Name: "variable.language.ql", Match: `!` + anyOf(syntax.Globals()) + stop},
			"call": {Patterns: []rule{
				{Match: start + `(` + anyOf([]string{"DEFINE", "CALL"}) + `)\s+(` + name + `)`, Captures: map[string]named{"1": {"keyword.other.ql"}, "2": {"entity.name.function.ql"}}},
				{Name: "support.function.ql", Match: start + anyOf(functions()) + `(?=\()`},
				{Name: "entity.name.function.ql", Match: start + `(?!` + anyOf(slices.Concat(verbs, operators, control)) + stop + `)` + name + `(?=\()`},
			}},
			"constant": {Name: "constant.language.ql", Match: start + anyOf(constants) + stop},
			"control":  {Name: "keyword.control.ql", Match: start + anyOf(control) + stop},
			"verb":     {Name: "keyword.other.ql", Match: start + anyOf(without(verbs, control)) + stop},
			"operator": {Name: "keyword.operator.word.ql", Match: start + anyOf(operators) + stop},
			"clause":   {Name: "keyword.other.clause.ql", Match: start + anyOf(without(clauses, slices.Concat(verbs, control, operators))) + stop},
			"type":     {Name: "storage.type.ql", Match: start + anyOf(types) + stop},
			"symbol":   {Name: "keyword.operator.ql", Match: `->|!=|<=|>=|<>|==|[=<>+\-*/%]`},
		},
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(g); err != nil {
		panic(err) // it is made of texts alone
	}
	return out.Bytes()
}

// functions are the names of the library.
func functions() []string {
	var names []string
	for _, b := range lib.Reference() {
		names = append(names, b.Name)
	}
	return names
}

// anyOf is an expression of words in any case. The longer ones come first: an expression takes the
// first that fits.
func anyOf(words []string) string {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return `(?i:` + strings.Join(slices.Compact(words), "|") + `)`
}

func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
}
