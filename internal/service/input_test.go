package service

import (
	"testing"

	"ql/lang"
)

func TestIgnoresInput(t *testing.T) {
	for script, want := range map[string]bool{
		`EMIT !GET('name')`:              true,
		`EMIT !INPUT`:                    false,
		`EMIT !INPUT('name')`:            false,
		"INPUT FIELDS name TEXT\nEMIT 1": false,
	} {
		p, err := lang.Compile(script, lang.Options{})
		if err != nil {
			t.Fatalf("%q: %v", script, err)
		}
		if got := ignoresInput(p); got != want {
			t.Errorf("%q ignores its input: %t, want %t", script, got, want)
		}
	}
}
