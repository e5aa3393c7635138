package vm_test

import (
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// oddRules refuse what has an x in its name, and write all values in capitals.
type oddRules struct{}

func (oddRules) Database(name string) *value.Error { return refuse(name) }

func (oddRules) SetEntry(_ *value.Meter, _ int32, set value.Value, name string, v value.Value) (value.Value, *value.Error) {
	if set.IsMap() && set.Map().Len() == 2 {
		return v, value.Errorf("full", "there are two")
	}
	return value.Text(strings.ToUpper(v.Str())), refuse(name)
}

func (oddRules) UnsetEntry(global int32, _ value.Value, name string) *value.Error {
	if global == bytecode.GlobalResponse {
		return nil
	}
	return refuse(name)
}

func (oddRules) IgnoresCase(name string) bool { return strings.HasPrefix(strings.ToLower(name), "any") }

func refuse(name string) *value.Error {
	if strings.Contains(name, "x") {
		return value.Errorf("refused", "%s has an x", name)
	}
	return nil
}

// TestRules checks where a machine asks the rules of its host, and that it takes
// anything without them.
func TestRules(t *testing.T) {
	tests := []struct{ script, want, without string }{
		{`USE DATABASE "a" USE DATABASE "x" EMIT "used"`, "refused: x has an x", "used"},
		{`SET "a" AS "v" OF !RESPONSE EMIT !RESPONSE`, `{"a":"V"}`, `{"a":"v"}`},
		{`SET "a" AS "v" OF !COOKIE EMIT !COOKIE`, `{"in":"1","a":"V"}`, `{"in":"1","a":"v"}`},
		{`SET "x" AS "v" OF !COOKIE`, "refused: x has an x", ""},
		{`SET "a" AS "v" OF !COOKIE SET "b" AS "v" OF !COOKIE SET "c" AS "v" OF !COOKIE`, "full: there are two", ""},
		{`UNSET "x" OF !COOKIE`, "refused: x has an x", ""},
		{`UNSET "x" OF !RESPONSE`, "", ""},
		{`EMIT !REQUEST('ANY-name'), !REQUEST('NAME') IS NULL`, "1true", "true"},
	}
	for _, test := range tests {
		for rules, want := range map[vm.Rules]string{oddRules{}: test.want, nil: test.without} {
			request, cookie := value.NewMap(nil, 0), value.NewMap(nil, 0)
			request.SetText("any-name", value.Text("1"))
			request.SetText("name", value.Text("2"))
			cookie.SetText("in", value.Text("1"))
			m := vm.New(compile(t, test.script), langtest.Limits(), vm.Input{Request: request.Value(), Cookie: cookie.Value()})
			m.SetRules(rules)
			m.Run(t.Context())
			got := string(m.Output())
			if e := m.Err(); e != nil {
				got += e.Code + ": " + e.Message
			}
			if got != want {
				t.Errorf("%s under %T gives %q, want %q", test.script, rules, got, want)
			}
		}
	}
}
