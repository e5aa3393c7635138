package value

import "testing"

func TestBytesForPeople(t *testing.T) {
	for n, want := range map[int64][2]string{
		0:         {"0 bytes", "0 bytes"},
		1:         {"1 byte", "1 byte"},
		2:         {"2 bytes", "2 bytes"},
		1025:      {"1 025 bytes", "1025 bytes"},
		100 << 20: {"100 MiB", "104857600 bytes"},
	} {
		if got := [2]string{FormatSize(n), FormatByteCount(n)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
