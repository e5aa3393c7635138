package gen_test

import (
	"testing"

	"ql/lang"
	"ql/lang/langtest/gen"
)

// TestPrograms checks that every program compiles and that seeds matter.
func TestPrograms(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(120) {
		for _, o := range []gen.Options{{}, {Pure: true}, {Statements: 8}} {
			text := gen.Program(seed, o)
			if _, err := lang.Compile(text, lang.Options{}); err != nil {
				t.Fatalf("seed %d, %+v: %v\n%s", seed, o, err, text)
			}
			if text != gen.Program(seed, o) {
				t.Fatalf("seed %d, %+v gives different programs", seed, o)
			}
			seen[text] = true
		}
	}
	if len(seen) < 340 {
		t.Errorf("360 programs, but only %d different ones", len(seen))
	}
}

func TestFromBytes(t *testing.T) {
	for _, b := range []string{"", "a", "\xff\xfe\x00\x01\x02", "a rather long series of choices, all of them printable"} {
		text := gen.FromBytes([]byte(b), gen.Options{Statements: 10})
		if _, err := lang.Compile(text, lang.Options{}); err != nil {
			t.Errorf("%q: %v\n%s", b, err, text)
		}
	}
}
