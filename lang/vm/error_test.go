package vm_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// TestErrorsAreBounded checks that nothing a script writes into an error that
// ends it is longer than whoever shows it reckons with.
func TestErrorsAreBounded(t *testing.T) {
	const most = 10_000
	for _, text := range []string{
		`FAIL REPEAT("ä", 10001)`,
		`FAIL {message: REPEAT("ä", 100000), step: REPEAT("ä", 100000), file: REPEAT("ä", 100000)}`,
		`TRY FAIL REPEAT("ä", 100000) CATCH ?e FAIL ?e END`,
		`EMIT !SECRET("x")`,
	} {
		m := vm.New(compile(t, text), langtest.Limits(), vm.Input{})
		if m.Run(context.Background()) == vm.Pending {
			m.ResumeError(value.Errorf("failed", "%s", strings.Repeat("ä", 100_000)))
		}
		e := m.Err()
		if e == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if n := utf8.RuneCountInString(e.Message); n != most || !strings.HasSuffix(e.Message, "ä…") {
			t.Errorf("%s: the message has %d characters, want %d with … at the end", text, n, most)
		}
		for _, part := range []string{e.Step, e.File} {
			if n := utf8.RuneCountInString(part); n > most {
				t.Errorf("%s: %.20s… has %d characters, want at most %d", text, part, n, most)
			}
		}
	}
}

// TestFieldsOfErrors: an error that nobody catches says what is wrong with the fields of a
// map, also where it was raised again, and not without bounds.
func TestFieldsOfErrors(t *testing.T) {
	for text, want := range map[string]string{
		`CHECK {b: 1} FIELDS a TEXT REQUIRED`:                                                       "a must be answered; b is not one of the fields",
		`TRY CHECK {} FIELDS a TEXT REQUIRED CATCH ?e FAIL ?e END`:                                  "a must be answered",
		`FAIL {message: "x", code: "invalid_fields", fields: {a: "no", b: 1}}`:                      "a no",
		`FAIL {message: "x", code: "invalid_fields", fields: 1}`:                                    "",
		`FAIL {message: "x", fields: {a: "no"}}`:                                                    "",
		`FAIL {message: "x", code: "invalid_fields", fields: {a: "no", b: REPEAT("x", 20000)}}`:     "a no",
		`SET ?m AS {} SET ?m[REPEAT("k", 20000)] AS 1 CHECK ?m FIELDS a TEXT REQUIRED`:              "a must be answered",
		`DEFINE f() CHECK {} FIELDS a TEXT REQUIRED END TRY CALL f() CATCH EMIT 1 END FAIL "after"`: "",
	} {
		m := vm.New(compile(t, text), langtest.Limits(), vm.Input{})
		if m.Run(context.Background()) != vm.Failed {
			t.Fatalf("%s: it does not fail", text)
		}
		var got []string
		for _, f := range m.Err().Fields {
			got = append(got, f.Name+" "+f.Message)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s: %.200s, want %s", text, got, want)
		}
	}
}
