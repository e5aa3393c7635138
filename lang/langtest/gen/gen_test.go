package gen_test

import (
	"slices"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/langtest/gen"
	"ql/lang/value"
	"ql/lang/vm"
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

func TestShrink(t *testing.T) {
	text := "SET ?a AS 1\nIF ?a THEN\nEMIT ?a\nEND\nEMIT 'b'\n"
	got := gen.Shrink(text, func(s string) bool {
		_, err := lang.Compile(s, lang.Options{})
		return err == nil && strings.Contains(s, "EMIT ?a")
	})
	if want := "SET ?a AS 1\nEMIT ?a\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHost checks that answers follow from the effect alone.
func TestHost(t *testing.T) {
	p, err := lang.Compile("SET ?a AS NOW() SET ?b AS NOW() SELECT 1 SET ?c EMIT ?a != ?b", lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(h gen.Host) (answers []string) {
		m := vm.New(p, langtest.Limits(), vm.Input{})
		for m.Run(t.Context()) == vm.Pending {
			v, err := h.Answer(m.Effect())
			if err != nil {
				answers = append(answers, err.Error())
				m.ResumeError(err)
				continue
			}
			answers = append(answers, string(value.AppendJSON(nil, v)))
			m.Resume(v)
		}
		return answers
	}
	first := run(gen.Host{Seed: 1})
	if !slices.Equal(first, run(gen.Host{Seed: 1})) || slices.Equal(first, run(gen.Host{Seed: 2})) || len(first) != 3 {
		t.Errorf("answers are %v", first)
	}
	if failed := run(gen.Host{Seed: 1, Failures: 100}); len(failed) != 1 {
		t.Errorf("a host that always fails answers %v", failed)
	}
}
