package machines

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	tests := []struct {
		text     string
		want     []string
		operator byte
	}{
		{"", nil, 0},
		{"  uptime\t-p ", []string{"uptime", "-p"}, 0},
		{`a 'b c' d`, []string{"a", "b c", "d"}, 0},
		{`a 'it'\''s' ''`, []string{"a", "it's", ""}, 0},
		{`--x='a b'c`, []string{"--x=a bc"}, 0},
		{`a "b \"c\" \n" e`, []string{"a", `b "c" \n`, "e"}, 0},
		{`a "$HOME"`, []string{"a", "$HOME"}, '$'},
		{`a "\$HOME"`, []string{"a", "$HOME"}, 0},
		{`a\ b`, []string{"a b"}, 0},
		{"a; b", []string{"a;", "b"}, ';'},
		{"a\nb", []string{"a", "b"}, '\n'},
		{"a > b | c", []string{"a", ">", "b", "|", "c"}, '>'},
		{"a '; $(x) `y`'", []string{"a", "; $(x) `y`"}, 0},
	}
	for _, test := range tests {
		got, operator, err := split(test.text)
		if err != nil || !slices.Equal(got, test.want) || operator != test.operator {
			t.Errorf("%q: %q, %q, %v; want %q, %q", test.text, got, operator, err, test.want, test.operator)
		}
	}
	for _, text := range []string{"a 'b", `a "b`, `a "b\"`} {
		if words, err := Words(text); err == nil {
			t.Errorf("%q gives %q", text, words)
		}
	}
	for _, text := range []string{"", "a", "it's", "'", "a b", "\n", `\`, `"$x"`, "é"} {
		got, operator, err := split("x " + Quote(text))
		if err != nil || operator != 0 || !slices.Equal(got, []string{"x", text}) {
			t.Errorf("%q in quotes gives %q, %q, %v", text, got, operator, err)
		}
	}
}
