package lib

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ql/lang/value"
)

// yamlNodes counts the nodes that the library makes of a text.
func yamlNodes(text string) int {
	d := yaml.NewDecoder(strings.NewReader(text))
	n := 0
	for {
		var doc yaml.Node
		if decodeYAML(d, &doc) != nil {
			return n
		}
		n += countNodes(&doc)
	}
}

func countNodes(n *yaml.Node) int {
	sum := 1
	for _, c := range n.Content {
		sum += countNodes(c)
	}
	return sum
}

// TestYAMLBombs checks that a few lines which stand for billions of values, or are
// deeper than a value may be, are refused and cost little.
func TestYAMLBombs(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		before := string(rune('0' + i - 1))
		laughs.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat("*a"+before+", ", 9) + "*a" + before + "]\n")
	}
	c := newCall()
	if _, err := yamlDecode(c, laughs.String(), false); err == nil || err.Code != value.BadYAML || !strings.Contains(err.Message, "100000 values") {
		t.Errorf("aliases of aliases end with %v", err)
	}
	for _, deep := range []string{strings.Repeat("[", 5000), strings.Repeat("[", 5000) + strings.Repeat("]", 5000), strings.Repeat("- ", 5000), strings.Repeat("? ", 5000)} {
		c := newCall()
		c.Meter.Nesting = 100
		var err *value.Error
		limit := limited(func() { _, err = yamlDecode(c, deep, false) })
		if err == nil && (limit == nil || limit.Name != "nesting") {
			t.Errorf("%.10s… ends with %v, %v", deep, err, limit)
		}
	}
}
