package service

import (
	"runtime"
	"strings"
	"testing"

	"ql/lang/ide"
)

// TestLookMemory holds what looking at a script allocates to what is reserved for it, for texts that cost
// much for their length.
func TestLookMemory(t *testing.T) {
	const n = 64 << 10
	for name, text := range map[string]string{
		"numbers":    "SET ?a AS [" + strings.Repeat("1,", n/2) + "1]",
		"variables":  "SET ?b AS 1 SET ?a AS [" + strings.Repeat("?b,", n/3) + "1]",
		"statements": strings.Repeat("EMIT 1\n", n/7),
		"insertions": strings.Repeat("EMIT \"a{=1}\"\n", n/13),
		"maps":       "SET ?a AS [" + strings.Repeat("{a:1},", n/6) + "1]",
		"sql":        "SELECT " + strings.Repeat("1,", n/2) + "1;",
		"wrong":      strings.Repeat("EMIT )\n", n/7),
		"stops":      strings.Repeat("STOP ", n/5),
		"comments":   strings.Repeat("--\n", n/3),
		"texts":      "EMIT [" + strings.Repeat("\"\"\"\na\n\"\"\",\n", n/12) + "1]",
		"fields":     strings.Repeat("CHECK ?a FIELDS a TEXT ", n/23),
		"calls":      strings.Repeat("EMIT F(1,{a:1})\n", n/16),
		"deep maps":  strings.Repeat("EMIT "+strings.Repeat("{a:", 40)+"1"+strings.Repeat("}", 40)+"\n", n/167),
		"deep calls": strings.Repeat("EMIT "+strings.Repeat("F(", 150)+"1"+strings.Repeat(")", 150)+"\n", n/457),
		"deep texts": strings.Repeat("EMIT "+strings.Repeat("\"{=", 40)+"1"+strings.Repeat("}\"", 40)+"\n", n/207),
		"deep block": strings.Repeat("IF 1 THEN ", 190) + strings.Repeat("STOP ", n/10) + strings.Repeat("--\n", n/6) + strings.Repeat("END ", 190),
	} {
		for what, look := range map[string]func(){
			"check":    func() { ide.Diagnostics(text, nil) },
			"effects":  func() { ide.Effects(text, nil) },
			"complete": func() { ide.Complete(text, n/2, nil) },
			"hover":    func() { ide.Hover(text, n/2, nil) },
			"format":   func() { ide.Format(text) },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			look()
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%s of %s: %d for each byte", what, name, took/n)
			reserved := lookMemory(int64(len(text)))
			if what == "format" {
				reserved = formatMemory(text)
			}
			if took > reserved {
				t.Errorf("%s of %s: %d bytes were allocated and %d reserved", what, name, took, reserved)
			}
		}
	}
}
