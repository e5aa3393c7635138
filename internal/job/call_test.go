package job

import (
	"strings"
	"testing"
)

func TestNameOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"EMIT 1":                                "",
		"EMIT 1 -- prints":                      "",
		"-- Weekly report\nEMIT 1":              "Weekly report",
		"\n\n  --- Weekly report ---  \nEMIT 1": "Weekly report",
		"--\n-- \n-- Third\nEMIT 1":             "Third",
		"/* Weekly\n * report */ EMIT 1":        "Weekly",
		"/*\n * Weekly report\n */\nEMIT 1":     "Weekly report",
		"/**/ EMIT 1":                           "",
		"/**/ -- after it\nEMIT 1":              "after it",
		"/* never closed":                       "never closed",
		"-- a\tb\x00c\u200e":                    "a b c",
		"-- \xff\xfe":                           "",
		"-- " + strings.Repeat("é", MaxName+20): strings.Repeat("é", MaxName),
		strings.Repeat("\n", 5<<10) + "-- late": "",
	} {
		if got := NameOf(text); got != want {
			t.Errorf("%.40q is called %q, not %q", text, got, want)
		}
	}
}

func FuzzNameOf(f *testing.F) {
	f.Add("-- Weekly report\nEMIT 1")
	f.Add("/* a */ /* b")
	f.Fuzz(func(t *testing.T, text string) {
		name := NameOf(text)
		if len([]rune(name)) > MaxName || strings.ContainsAny(name, "\n\r\x00") || name != strings.TrimSpace(name) {
			t.Errorf("%q is called %q", text, name)
		}
	})
}
