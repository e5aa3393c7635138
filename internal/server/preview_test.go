package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ql/internal/account"
)

// preview makes a link for a browser, and returns where it leads.
func (w *world) preview(body string, headers ...string) string {
	w.t.Helper()
	r := w.send("POST", "/v1/previews", jsonType, body, headers...)
	var made struct {
		URL string `json:"url"`
	}
	check(w.t, json.Unmarshal([]byte(r.body), &made))
	path, ok := strings.CutPrefix(made.URL, "http://ql.example")
	if r.status != 201 || !ok {
		w.t.Fatalf("%d %s", r.status, r.body)
	}
	return path
}

func TestPreviews(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	token := page(w.token(w.signIn(ada)))
	for name, kind := range map[string]string{"a.html": "text/html; charset=utf-8", "b.png": "image/png", "c.csv": "text/csv; charset=utf-8", "d.svg": "image/svg+xml", "e.pdf": "application/pdf"} {
		w.send("PUT", "/v1/files/"+name, "", "<b>"+name, token...)
		link := w.preview(`{"path":"/`+name+`"}`, token...)
		r := w.send("GET", link, "", "")
		if r.status != 200 || r.body != "<b>"+name || !strings.HasPrefix(r.header.Get("Content-Disposition"), `inline; filename="`+name) || !strings.EqualFold(r.header.Get("Content-Type"), kind) ||
			r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, r.status, r.header, r.body)
		}
		policy := r.header.Get("Content-Security-Policy")
		if name == "e.pdf" { // which a browser shows in a place of its own, and not in a sandbox
			policy = strings.Replace(policy, "frame-ancestors", "sandbox; default-src 'none'; frame-ancestors", 1)
		}
		if !strings.HasPrefix(policy, "sandbox; default-src 'none';") || strings.Contains(policy, "allow") || !strings.HasSuffix(policy, "frame-ancestors "+ownPage) {
			t.Errorf("%s: %s", name, policy)
		}
		if again := w.send("GET", link, "", ""); again.status != 410 {
			t.Errorf("%s, a second time: %d %s", name, again.status, again.body)
		}
	}
	// A download is as any, of whatever type.
	r := w.send("GET", w.preview(`{"path":"/a.html","download":true}`, token...), "", "")
	if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d %v", r.status, r.header)
	}
	// Neither is in a list.
	if r := w.send("GET", "/v1/shares", "", "", token...); strings.Contains(r.body, "a.html") {
		t.Errorf("%s", r.body)
	}
	for body, want := range map[string]int{`{"path":"/none"}`: 404, `{"path":"/"}`: 409, `{"path":"/../x"}`: 422, `{}`: 400, `{"path":""}`: 400, `{"path":"/a.html","download":1}`: 400, `{"path":"/a.html","times":2}`: 400} {
		if r := w.send("POST", "/v1/previews", jsonType, body, token...); r.status != want {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
}
