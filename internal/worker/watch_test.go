package worker

import "testing"

// TestSoFar checks what a running job shows of a trace that was stored where it
// stood.
func TestSoFar(t *testing.T) {
	const step = `"duration_ms":0,"exec_class":"Cpu","line":1,"start_ms":0,"duration_us":0`
	tests := []struct{ name, stored, want string }{
		{"nothing", ``, ``},
		{"at a question", `[{"step":"EMIT","status":"Ok",` + step + `},{"step":"CONFIRM","status":"Paused",` + step + `}]`, `[{"step":"EMIT","status":"Ok",` + step + `}]`},
		{
			"in a function", `[{"step":"SET","status":"Ok",` + step + `,"order":3,"open":true},{"step":"EMIT","status":"Ok",` + step + `,"order":1},{"step":"WAIT","status":"Ok",` + step + `,"order":2,"open":true}]`,
			`[{"step":"EMIT","status":"Ok",` + step + `}]`,
		},
	}
	for _, tt := range tests {
		var stored []byte
		if tt.stored != "" {
			stored = []byte(tt.stored)
		}
		if got, err := soFar(stored); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, err, tt.want)
		}
	}
}
