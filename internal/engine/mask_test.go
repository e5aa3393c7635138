package engine

import (
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/lang/value"
	"ql/lang/vm"
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
		{"cut in a long text", "0123456789abcdef", "0123…0123456…", "•••…•••…"},
		{"cut at its own dots", "abcd...efgh", "abcd... abcd...ef...", "•••... •••..."},
		{"over itself", "abab", "xababaBABx", "x•••x"},
		{"next to itself", "abcd", "abcdabcd", "••••••"},
		{"not there", "secret", "nothing to see", "nothing to see"},
	}
	for _, tt := range tests {
		r := &Run{}
		r.addSecret(tt.secret)
		if got := mask(tt.message, r.spellings()); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}

	// Of a long one, what follows its beginning is hidden.
	long := strings.Repeat("äbc", 20_000)
	for _, tt := range []struct{ message, want string }{
		{"key " + long + " is wrong", "key •••"},
		{"key " + long[:maxSought+1] + "x", "key •••"},
		{"key " + long[:maxSought-2] + "… is wrong", "key •••… is wrong"},
		{"key " + long[:maxSought-2] + " is wrong", "key " + long[:maxSought-2] + " is wrong"},
		{"https://x?" + url.QueryEscape(long), "https://x?•••"},
		{strconv.Quote(strings.ToUpper(long)) + " is wrong", `"•••`},
	} {
		r := &Run{}
		r.addSecret(long)
		if got := mask(tt.message, r.spellings()); got != tt.want {
			t.Errorf("a long secret: %.100q, want %.100q", got, tt.want)
		}
	}

	// One secret may begin with another.
	r := &Run{}
	r.addSecret("abcd")
	r.addSecret("abcd-the-rest")
	if got := mask("abcd-the-rest, abcd", r.spellings()); got != "•••, •••" {
		t.Errorf("two secrets: %q", got)
	}

	// Or stand half in another.
	r = &Run{}
	r.addSecret("abcdef")
	r.addSecret("efghijklm")
	if got := mask("xabcdefghijklmx abcdefghi", r.spellings()); got != "x•••x •••ghi" {
		t.Errorf("two secrets that overlap: %q", got)
	}
}

func TestMaskError(t *testing.T) {
	tests := []struct {
		name      string
		err, want vm.Error
	}{
		{
			"all that a script may write",
			vm.Error{Code: "abc-s3cr3t-KEY", Message: "m s3cr3t-key", Step: "s s3cr3t-key", File: "f s3cr3t-key"},
			vm.Error{Code: "script_failed", Message: "m •••", Step: "s •••", File: "f •••"},
		},
		{"a code without one", vm.Error{Code: "out_of_stock", Message: "m"}, vm.Error{Code: "out_of_stock", Message: "m"}},
		{
			"a code of the machine's own",
			vm.Error{Code: "limit_exceeded", Limit: &value.LimitError{Name: "fuel"}},
			vm.Error{Code: "limit_exceeded", Limit: &value.LimitError{Name: "fuel"}},
		},
		{"a fault", vm.Error{Code: "internal"}, vm.Error{Code: "internal"}},
	}
	r := &Run{}
	r.addSecret("s3cr3t-key")
	r.addSecret("limit")
	r.addSecret("internal")
	for _, tt := range tests {
		if r.maskError(&tt.err); !reflect.DeepEqual(tt.err, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, tt.err, tt.want)
		}
	}
}

// TestPromiseMask checks that masking takes little time, whatever the secrets
// and the message are: nothing meters it.
func TestPromiseMask(t *testing.T) {
	const secrets, length = 40, 10_000 // the longest message
	for name, alphabet := range map[string]string{"a": "a", "ä": "ä", "quoted": "\"\x01", "like a URL": "%2F", "cut": "a..."} {
		r := &Run{}
		for i := range secrets {
			r.addSecret(strings.Repeat(alphabet, 100+i) + "b")
			r.addSecret(strings.Repeat(alphabet, 100+i) + "ä b")
		}
		e := vm.Error{Message: string([]rune(strings.Repeat(alphabet, length))[:length])}
		before := e.Message
		start := time.Now()
		r.maskError(&e)
		took := time.Since(start)
		t.Logf("%s: %v", name, took)
		if name != "cut" && e.Message != before {
			t.Errorf("%s: %.100q is masked", name, before)
		}
		if os.Getenv("QL_PROMISES") != "" && took > 200*time.Millisecond {
			t.Errorf("%s: masking takes %v", name, took)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("TopSecret", "calls to topsecret… failed")
	f.Add("é\xff\u212a", "a\xffb")
	f.Fuzz(func(t *testing.T, secret, message string) {
		r := &Run{}
		r.addSecret(secret)
		if len(secret) < minMasked || strings.Contains(hidden, secret) || strings.ContainsAny(secret, hidden) {
			return
		}
		if len(fold(message)) != len(message) {
			t.Fatalf("%q is folded to %q", message, fold(message))
		}
		got := mask(message+secret+message, r.spellings())
		if strings.Contains(fold(got), fold(secret)) {
			t.Errorf("%q shows %q", got, secret)
		}
	})
}

// TestMaskFields hides secrets in what an error says of fields, and leaves the machine's
// own error as it is.
func TestMaskFields(t *testing.T) {
	r := &Run{}
	r.addSecret("s3cr3t-Key")
	own := []vm.Field{{Name: "s3cr3t-key", Message: `must be "s3cr3t-Key" or "b"`}}
	e := vm.Error{Fields: own}
	r.maskError(&e)
	if want := []vm.Field{{Name: "•••", Message: `must be "•••" or "b"`}}; !reflect.DeepEqual(e.Fields, want) {
		t.Errorf("%v", e.Fields)
	}
	if own[0].Name != "s3cr3t-key" {
		t.Error("the machine's own error has changed")
	}
}
