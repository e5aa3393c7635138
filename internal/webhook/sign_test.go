package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"ql/internal/redacted"
)

// TestSpecificationVector is the one that the libraries of the Standard
// Webhooks specification test themselves by.
func TestSpecificationVector(t *testing.T) {
	const (
		id     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		body   = `{"test": 2432232314}`
		secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		want   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	at := time.Unix(1614265330, 999_999_999)
	h, err := sign(id, at, []byte(body), []redacted.Text{secret})
	if err != nil {
		t.Fatal(err)
	}
	if h[headerID][0] != id || h[headerTimestamp][0] != "1614265330" || h[headerSignature][0] != want {
		t.Errorf("got %v", h)
	}

	// While two secrets are valid each signs, in their order.
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret of 32 bytes......"))
	h, err = sign(id, at, []byte(body), []redacted.Text{redacted.Text(other), secret})
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte("another secret of 32 bytes......"))
	mac.Write([]byte(id + ".1614265330." + body))
	if got := h[headerSignature][0]; got != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+" "+want {
		t.Errorf("got %s", got)
	}
}

func TestBadSecrets(t *testing.T) {
	for _, secret := range []redacted.Text{"", "whsec_", "whsec_!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"} {
		_, err := sign("msg_x", time.Now(), nil, []redacted.Text{secret})
		if err == nil || err.Error() != "a webhook secret is not whsec_ and base64" { // and nothing of it
			t.Errorf("%q: %v", secret.Reveal(), err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"86400":                         24 * time.Hour,
		"86401":                         24 * time.Hour,
		"4294967295":                    24 * time.Hour,
		"99999999999999999999":          0,
		"-5":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Sun, 15 Nov 2026 13:00:00 GMT": time.Hour,
		"Sun, 15 Nov 2026 11:00:00 GMT": 0,
		"Sun, 15 Nov 2099 13:00:00 GMT": 24 * time.Hour,
		"Sun, 15 Nov 2026 13:00:00 CET": 0,
	} {
		if got := parseRetryAfter(text, now); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestJitter(t *testing.T) {
	least, most := 24*time.Hour, time.Duration(0)
	for range 2000 {
		d := jitter(10 * time.Hour)
		least, most = min(least, d), max(most, d)
	}
	if least < 8*time.Hour || least > 8*time.Hour+30*time.Minute || most > 12*time.Hour || most < 11*time.Hour+30*time.Minute {
		t.Errorf("from %s to %s", least, most)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"ok\n":                          "ok ",
		"\x1b[31mred\x00\x7f":           " [31mred  ",
		"a\u202eb\u200bc":               "a b c",
		"\xff\xfe":                      "\ufffd\ufffd",
		strings.Repeat("x", 300):        strings.Repeat("x", 256),
		strings.Repeat("ä", 300):        strings.Repeat("ä", 128),
		"x" + strings.Repeat("€", 9999): "x" + strings.Repeat("€", 85),
	} {
		if got := printable([]byte(text), maxAnswer); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
