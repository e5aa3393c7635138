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
