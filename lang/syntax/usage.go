package syntax

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed grammar.txt
var grammar string

// usages are the rules of the grammar by the word that they start with.
var usages = sync.OnceValue(func() map[string]string {
	rule := regexp.MustCompile(`^[a-z]+ += +(?:'([A-Z]+)'.*)`)
	out := map[string]string{}
	verb := ""
	for line := range strings.Lines(grammar) {
		line = strings.TrimRight(line, " \n")
		text, _, _ := strings.Cut(line, " -- ")
		text = strings.TrimRight(text, " ")
		switch m := rule.FindStringSubmatch(text); {
		case m != nil:
			if verb = m[1]; out[verb] != "" {
				out[verb] += "\n"
			}
			_, text, _ = strings.Cut(text, "=")
			out[verb] += strings.ReplaceAll(strings.TrimSpace(text), "'", "")
		case verb != "" && strings.HasPrefix(strings.TrimSpace(text), "| "):
			out[verb] += "\n" + strings.ReplaceAll(strings.TrimSpace(text), "'", "")
		default:
			verb = ""
		}
	}
	return out
})
