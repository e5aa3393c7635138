package scope_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/internal/account/scope"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		texts, want string
	}{
		{"run", "run"},
		{"manage run answer", "run answer manage"},
		{"run:b run:a jobs run:b", "jobs run:a run:b"},
		{"run run:a", "run run:a"},
		{"run answer jobs files databases manage", "run answer jobs files databases manage"},
	} {
		s, err := scope.Parse(strings.Fields(test.texts))
		if err != nil || s.String() != test.want {
			t.Errorf("%s: %q, %v", test.texts, s.String(), err)
		}
		again, err := scope.Parse(s.Texts())
		if err != nil || again.String() != s.String() || again.Kinds != s.Kinds || !slices.Equal(again.Programs, s.Programs) {
			t.Errorf("%s: read again as %+v, %v", test.texts, again, err)
		}
	}
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf("run:p%d", i)
	}
	for _, texts := range [][]string{nil, {}, {""}, {"Run"}, {"run "}, {"run:"}, {"run:a b"}, {"run:1"}, {"all"}, {"jobs", "read"}, many} {
		if s, err := scope.Parse(texts); err == nil || s.String() != "" {
			t.Errorf("%q was read as %q", texts, s.String())
		}
	}
	if _, err := scope.Parse(many[:32]); err != nil {
		t.Error(err)
	}
}

func TestMayRun(t *testing.T) {
	for _, test := range []struct {
		scopes  string
		program string
		want    bool
	}{
		{"run", "", true},
		{"run", "greet", true},
		{"run:greet", "greet", true},
		{"run:greet", "other", false},
		{"run:greet", "", false},
		{"run:greet run", "", true},
		{"manage answer jobs files databases", "", false},
		{"manage answer jobs files databases", "greet", false},
	} {
		s, err := scope.Parse(strings.Fields(test.scopes))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.MayRun(test.program); got != test.want {
			t.Errorf("%s may run %q: %t", test.scopes, test.program, got)
		}
	}
	var nothing scope.Set
	all := scope.All()
	if nothing.MayRun("") || nothing.Has(scope.Jobs) || !all.MayRun("") || !all.Has(scope.Run|scope.Manage) {
		t.Error("nothing may do something, or all cannot")
	}
}

// FuzzParse: what is read is written as something that is read as the same.
func FuzzParse(f *testing.F) {
	f.Add("run run:a manage")
	f.Add("run:a.b-c_d")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scope.Parse(strings.Split(text, " "))
		if err != nil {
			return
		}
		again, err := scope.Parse(s.Texts())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q was read as %q, and that as %q, %v", text, s.String(), again.String(), err)
		}
	})
}
