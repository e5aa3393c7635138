package engine

import (
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	tests := []struct {
		name, secret, message, want string
	}{
		{"as it is", "s3cr3t-Key", `"s3cr3t-Key" is no method`, `"•••" is no method`},
		{"in capitals", "TopSecret", `"TOPSECRET" is no method`, `"•••" is no method`},
		{"in small letters", "TopSecret", `calls to topsecret.local are not allowed`, `calls to •••.local are not allowed`},
		{"as a header", "tOP-sECRET", `the header Top-Secret has control characters in it`, `the header ••• has control characters in it`},
		{"other letters", "GEHEIMNIS-ÄÖ", "geheimnis-äö and Geheimnis-Äö", "••• and •••"},
		{"quoted", "a\"b\nC", `"A\"B\nc" is wrong`, `"•••" is wrong`},
		{"in a URL", "a b/C", `https://x?k=A+B%2fc`, `https://x?k=•••`},
		{"cut", "0123456789abcdef", `"0123456789AB…" and "01234..."`, `"•••…" and "•••..."`},
		{"cut to little", "0123456789", `"012…"`, `"012…"`},
		{"twice", "abcd", "abcd ABCD xabcdx", "••• ••• x•••x"},
		{"letters of other lengths", "KELVIN", "\u212aELVIN kelvin", "\u212aELVIN •••"},
		{"bytes", "secret", "\xffSECRET\xff\xc3", "\xff•••\xff\xc3"},
		{"not there", "secret", "nothing to see", "nothing to see"},
	}
	for _, tt := range tests {
		r := &Run{}
		r.remember(tt.secret)
		if got := r.mask(tt.message); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}

	// One secret may begin with another.
	r := &Run{}
	r.remember("abcd")
	r.remember("abcd-the-rest")
	if got := r.mask("abcd-the-rest, abcd"); got != "•••, •••" {
		t.Errorf("two secrets: %q", got)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("TopSecret", "calls to topsecret… failed")
	f.Add("é\xff\u212a", "a\xffb")
	f.Fuzz(func(t *testing.T, secret, message string) {
		r := &Run{}
		r.remember(secret)
		if len(secret) < minMasked || strings.Contains(hidden, secret) || strings.ContainsAny(secret, hidden) {
			return
		}
		if len(fold(message)) != len(message) {
			t.Fatalf("%q is folded to %q", message, fold(message))
		}
		got := r.mask(message + secret + message)
		if strings.Contains(fold(got), fold(secret)) {
			t.Errorf("%q shows %q", got, secret)
		}
	})
}
