package job_test

import (
	"regexp"
	"strings"
	"testing"

	"ql/internal/job"
	"ql/internal/principal"
)

// TestReceiptNumbers: the number of an answer is what it was whenever it is shown.
func TestReceiptNumbers(t *testing.T) {
	seen := map[string]bool{}
	for _, prompt := range []string{"", "0c7d6ab0-3e0c-4f0e-9d4d-1f0f7e3c9a55", "0c7d6ab0-3e0c-4f0e-9d4d-1f0f7e3c9a56"} {
		n := job.ReceiptNumber(prompt)
		if !regexp.MustCompile(`^\d{4}-\d{4}-\d{4}$`).MatchString(n) || n != job.ReceiptNumber(prompt) || seen[n] {
			t.Errorf("the number of %q is %s", prompt, n)
		}
		seen[n] = true
	}
}

func TestTitle(t *testing.T) {
	for message, want := range map[string]string{
		"":                                  "",
		" Pay? \n":                          "Pay?",
		strings.Repeat("x", 200):            strings.Repeat("x", 200),
		strings.Repeat("x", 201):            strings.Repeat("x", 200),
		strings.Repeat("ä", 200):            strings.Repeat("ä", 200),
		strings.Repeat("ä", 201):            strings.Repeat("ä", 200),
		strings.Repeat("€", 10_000) + "end": strings.Repeat("€", 200),
	} {
		if got := job.Title(message); got != want {
			t.Errorf("the title of %.20q… has %d bytes, want %d", message, len(got), len(want))
		}
	}
}

func TestAnsweredBy(t *testing.T) {
	for want, by := range map[string]principal.Credential{"owner": principal.ByPassword, "key x": principal.ByNamedKey, "page x": principal.ByOrigin, "link": principal.ByNobody} {
		if got := job.AnsweredBy(by, "x"); got != want {
			t.Errorf("%s is %q, want %q", by, got, want)
		}
	}
	if got := job.AnsweredBy(principal.ByNamedKey, ""); got != "key" {
		t.Errorf("a key of an earlier version is %q", got)
	}
}
