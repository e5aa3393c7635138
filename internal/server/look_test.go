package server_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"ql/internal/account"
)

// picture is a PNG of so many bytes.
func picture(t *testing.T, size int) string {
	t.Helper()
	var b bytes.Buffer
	check(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 2))))
	if size > b.Len() {
		b.WriteString(strings.Repeat("x", size-b.Len()))
	}
	return b.String()
}

// TestLookOfPages: an account says how its pages look, as far as people can still read them and tell
// whose they are.
func TestLookOfPages(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	files := w.filesOf(ada)
	files.call("PUT", "/brand/logo.png", picture(t, 0)).want(t, "the logo", 201, "")
	files.call("PUT", "/large.png", picture(t, 256<<10+1)).want(t, "a large one", 201, "")
	files.call("PUT", "/largest.png", picture(t, 256<<10)).want(t, "the largest one", 201, "")
	files.call("PUT", "/page.png", "<svg onload=alert(1)>").want(t, "a page", 201, "")
	patch := func(body string) response { return w.send("PATCH", "/v1/account", jsonType, body, owner...) }

	for body, why := range map[string]string{
		`{"logo":"/nothing.png"}`:       "logo: is no file of the account",
		`{"logo":"/brand"}`:             "logo: is no file of the account",
		`{"logo":"/../x"}`:              "logo: is no file of the account",
		`{"logo":"/large.png"}`:         "logo: has 262145 bytes: a picture of up to 262144 fits",
		`{"logo":"/page.png"}`:          "logo: is no picture that pages show: PNG, JPEG, GIF and WebP fit",
		`{"accent":"#ffcc00"}`:          "a contrast of 1.5",
		`{"display_name":"a\u202eb"}`:   "display_name: ",
		`{"display_name":5}`:            "display_name",
		`{"accent":"#1a56db","logo":1}`: "logo",
	} {
		patch(body).wantError(t, 400, "invalid_request")
		if r := patch(body); !strings.Contains(r.body, why) {
			t.Errorf("%s: %s", body, r.body)
		}
	}
	before := len(w.acts(ada))
	a := readAny(t, patch(`{"display_name":"Ada & <Co>","logo":"/brand/logo.png","accent":"#0A7D33"}`))
	if a["display_name"] != "Ada & <Co>" || a["logo"] != "/brand/logo.png" || a["accent"] != "#0a7d33" {
		t.Errorf("the account is %v", a)
	}
	if got := strings.Join(w.acts(ada)[before:], ", "); got != "password account_changed display_name, password account_changed logo, password account_changed accent" {
		t.Errorf("the log has %s", got)
	}

	token := w.formToken(ada)
	page := w.send("GET", "/form/"+token, "", "")
	for _, part := range []string{`dir="auto">Ada &amp; &lt;Co&gt;</strong>`, "<strong>ada</strong> asks", "(ql.example)", `src="/form/` + token + `/logo"`, "--accent: #0a7d33;", "prefers-color-scheme: dark"} {
		if !strings.Contains(page.body, part) {
			t.Errorf("%s is not on the page:\n%s", part, page.body)
		}
	}
	if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "'nonce-") || strings.Contains(csp, "unsafe") {
		t.Errorf("the policy is %s", csp)
	}
	logo := w.send("GET", "/form/"+token+"/logo", "", "")
	if logo.status != 200 || logo.header.Get("Content-Type") != "image/png" || logo.body != picture(t, 0) ||
		logo.header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || logo.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the logo: %d %v", logo.status, logo.header)
	}

	// What becomes of the file later breaks no page.
	files.call("PUT", "/brand/logo.png", "<svg onload=alert(1)>").want(t, "another content", 200, "")
	if r := w.send("GET", "/form/"+token+"/logo", "", ""); r.status != 404 || strings.Contains(r.body, "svg onload") {
		t.Errorf("a logo that is none any more: %d", r.status)
	}
	readAny(t, patch(`{"logo":"/largest.png"}`))
	if r := w.send("GET", "/form/"+token+"/logo", "", ""); r.status != 200 || len(r.body) != 256<<10 {
		t.Errorf("the largest logo: %d with %d bytes", r.status, len(r.body))
	}
	if a := readAny(t, patch(`{"display_name":null,"logo":null,"accent":null}`)); a["display_name"] != nil || a["logo"] != nil || a["accent"] != nil {
		t.Errorf("the account is %v", a)
	}
	if r := w.send("GET", "/form/"+token+"/logo", "", ""); r.status != 404 {
		t.Errorf("no logo: %d", r.status)
	}
	if r := w.send("GET", "/form/"+token, "", ""); strings.Contains(r.body, "<style") || strings.Contains(r.body, "<img") {
		t.Error("the page has a look of its own still")
	}
}
