package main

import (
	"encoding/json"
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/syntax"
)

// words returns the words that the editor of the dashboard colours, by what they are. It reads a text
// line by line as it is written, so it has the words and no rules.
func words() []byte {
	constants := []string{"NULL", "TRUE", "FALSE"}
	kinds := slices.Concat(strings.Fields(strings.Join(syntax.FieldKinds(), " ")), syntax.Formats())
	var functions []string
	for _, f := range lib.Reference() {
		functions = append(functions, f.Name)
	}
	list := func(words []string) []string {
		all := slices.Clone(words)
		slices.Sort(all)
		return slices.Compact(all)
	}
	text, err := json.MarshalIndent(map[string][]string{
		"verbs":     list(slices.Concat(syntax.Verbs(), syntax.StructureWords(), syntax.SQLHeads())),
		"clauses":   list(slices.Concat(syntax.ClauseWords(), syntax.FieldAttributes(), syntax.Units(), []string{"INTO"})),
		"operators": list(without(syntax.OperatorWords(), constants)),
		"constants": constants,
		"kinds":     list(kinds),
		"functions": list(functions),
		"globals":   list(syntax.Globals()),
	}, "", "  ")
	if err != nil {
		panic(err) // lists of texts can be written
	}
	return append(text, '\n')
}
