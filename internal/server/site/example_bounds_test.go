package site_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ql/internal/apptest"
)

// deployExamples makes the example sites ada's.
func (w *world) deployExamples() {
	w.t.Helper()
	folder := os.DirFS("../../../examples/sites")
	if err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		w.put("ada", path, string(text))
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

// post sends the fields of a form, as pairs, to a page of ada's site.
func (w *world) post(path, cookie string, fields ...string) answer {
	w.t.Helper()
	values := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return w.call("POST", w.SiteURL("ada")+path, values.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie)
}

// query runs a script of ada's, and returns what it gives as JSON.
func (w *world) query(script string) string {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"query": script, "auth": map[string]string{"username": "ada", "password": apptest.Password}})
	if err != nil {
		w.t.Fatal(err)
	}
	var answer struct {
		Status string
		Result string
	}
	a := w.call("POST", w.URL()+"/v1/query", string(body), "Content-Type", "application/json")
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || answer.Status != "ok" {
		w.t.Fatalf("%s: %s, %v", script, a.body, err)
	}
	return answer.Result
}

// TestBoundsOfExamples: what strangers may put into the example sites is bounded, and what is within the bounds is shown whole.
func TestBoundsOfExamples(t *testing.T) {
	w := boot(t, lift)
	w.deployExamples()
	// Characters are counted, whatever bytes they have.
	of := func(n int) string { return strings.Repeat("😀", n) }
	mail := func(n int) string {
		return strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("b", 50)+".", 3)[:n-61-3] + ".de"
	}
	const password = "a long enough one"
	for _, test := range []struct {
		path   string
		fields []string
		status int
	}{
		{"/guestbook/", []string{"name", of(60), "text", of(1000)}, 303},
		{"/guestbook/", []string{"name", of(61), "text", "x"}, 422},
		{"/guestbook/", []string{"name", "x", "text", of(1001)}, 422},
		{"/guestbook/", []string{"name", " ", "text", "x"}, 422},
		{"/guestbook/", []string{"name", "x"}, 422},
		{"/guestbook/", nil, 422},
		{"/guestbook/", []string{"name", "a\x00b", "text", "x"}, 422},
		{"/contact/", []string{"name", of(60), "email", mail(200), "text", of(1000)}, 303},
		{"/contact/", []string{"name", of(61), "email", mail(100), "text", "x"}, 422},
		{"/contact/", []string{"name", "x", "email", mail(201), "text", "x"}, 422},
		{"/contact/", []string{"name", "x", "email", "a@b.de", "text", of(1001)}, 422},
		{"/shop/login", []string{"do", "register", "email", mail(199), "password", of(64)}, 303},
		{"/shop/login", []string{"do", "register", "email", mail(198), "password", of(65)}, 422},
		{"/shop/login", []string{"do", "register", "email", mail(201), "password", password}, 422},
		{"/shop/login", []string{"do", "register", "email", "x@example.com", "password", "too short"}, 422},
		{"/shop/login", []string{"do", "else", "email", "x@example.com", "password", password}, 422},
		{"/shop/cart", []string{"product", "1", "count", "99"}, 303},
		{"/shop/cart", []string{"product", "1", "count", "100"}, 422},
		{"/shop/cart", []string{"product", "1", "count", "1e9"}, 422},
		{"/shop/cart", []string{"add", "99999999999999999999"}, 422},
		{"/shop/cart", []string{"add", "4"}, 404},
		{"/shop/cart", nil, 404},
		{"/guestbook/", []string{"name", "x", "text", strings.Repeat("x", 12<<20)}, 413},
	} {
		if a := w.post(test.path, "", test.fields...); a.status != test.status {
			t.Errorf("%s %.120q: %d %.400s", test.path, test.fields, a.status, a.body)
		}
	}
	if a := w.get("/guestbook/"); !strings.Contains(a.body, of(60)) || !strings.Contains(a.body, of(1000)) || strings.ContainsAny(a.body, "\x00") {
		t.Errorf("%d %.2000s", a.status, a.body)
	}

	// More cannot be added to a cart than it holds.
	first := w.post("/shop/cart", "", "product", "3", "count", "98")
	cookie, _, _ := strings.Cut(first.header.Get("Set-Cookie"), ";")
	for range 3 {
		w.post("/shop/cart", cookie, "add", "3")
	}
	if a := w.get("/shop/cart", "Cookie", cookie); !strings.Contains(a.body, `value="99"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestQuestionsAtOnce: strangers who ask at the same time have no more questions stand than those who ask one by one.
func TestQuestionsAtOnce(t *testing.T) {
	w := boot(t, lift)
	w.deployExamples()
	w.get("/contact/")
	var kept, refused atomic.Int64
	var asking sync.WaitGroup
	for range 12 {
		asking.Go(func() {
			for n := 0; n < 3; {
				switch a := w.post("/contact/", "", "name", "Bob", "email", "bob@example.com", "text", "Spam"); {
				case a.status == 303:
					kept.Add(1)
					n++
				case a.status == 503 && strings.Contains(a.body, "was not kept"):
					refused.Add(1)
					n++
				case a.status != 503: // which is a service that is busy
					t.Errorf("%d %s", a.status, a.body)
					return
				}
			}
		})
	}
	asking.Wait()
	if n := w.query(`SELECT COUNT(*) FROM messages WHERE state = 'waiting' SET VALUE ?n EMIT ?n`); n != "20" || kept.Load() != 20 {
		t.Errorf("%s questions stand, %d were kept, %d refused", n, kept.Load(), refused.Load())
	}
}

// TestManyEntries: the guestbook holds a thousand entries, whoever writes how many, and shows them page by page.
func TestManyEntries(t *testing.T) {
	w := boot(t, lift)
	w.deployExamples()
	w.get("/guestbook/")
	w.query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO guestbook (name, text, at) SELECT 'N' || i, 'text', '2026-11-17T00:00:00Z' FROM n;`)
	if a := w.post("/guestbook/", "", "name", "last", "text", "x"); a.status != 303 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if n := w.query(`SELECT COUNT(*) FROM guestbook SET VALUE ?n EMIT ?n`); n != "1000" {
		t.Errorf("%s entries", n)
	}
	pages, at := 0, "/guestbook/"
	for ; at != "" && pages < 200; pages++ {
		a := w.get(at)
		_, rest, more := strings.Cut(a.body, `href="./?before=`)
		if a.status != 200 {
			t.Fatalf("%s: %d %s", at, a.status, a.body)
		}
		if at = ""; more {
			id, _, _ := strings.Cut(rest, `"`)
			at = "/guestbook/?before=" + id
		}
	}
	if pages != 100 {
		t.Errorf("there are %d pages", pages)
	}
	for _, before := range []string{"0", "-1", "1e308", "99999999999999999999", "'; DROP TABLE guestbook; --", "", "NaN"} {
		if a := w.get("/guestbook/?before=" + url.QueryEscape(before)); a.status != 200 {
			t.Errorf("%q: %d %s", before, a.status, a.body)
		}
	}
}

// TestDelaysOfLogIn is the table of how long a try at a password has to wait for the one before, and that it was
// counted before it was looked at.
func TestDelaysOfLogIn(t *testing.T) {
	w := boot(t, lift)
	w.deployExamples()
	try := func() answer {
		t.Helper()
		return w.post("/shop/login", "", "do", "login", "email", "eve@example.com", "password", "a wrong password")
	}
	try()
	w.query(`DELETE FROM login_tries;`)
	const who = "user eve@example.com"
	for n, want := range []int{0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		if a := try(); a.status != 422 || !strings.Contains(a.body, "Wrong e-mail address or password.") {
			t.Fatalf("try %d: %d %s", n+1, a.status, a.body)
		}
		// NOW is the service's clock: the table keeps when the next try may come.
		got := w.query(fmt.Sprintf(`SELECT n, next FROM login_tries WHERE who = '%s' SET ROW ?r SET ?now AS TO_UNIX(NOW()) EMIT ?r.n, " ", ?r.next - ?now`, who))
		var count, delay int
		if _, err := fmt.Sscan(got, &count, &delay); err != nil || count != n+1 || delay > want || delay < want-60 { // a slow machine's time has passed since
			t.Errorf("try %d waits %s, want %d (%v)", n+1, got, want, err)
		}
		if want > 100 { // too early, which is no try
			if a := try(); !strings.Contains(a.body, "Too many tries") {
				t.Errorf("try %d is looked at too early: %s", n+2, a.body)
			}
		}
		w.query(`SET ?past AS TO_UNIX(NOW()) - 1 UPDATE login_tries SET next = ?past; UPDATE login_tries SET n = 0 WHERE who != '` + who + `';`)
	}
	// A day later all is forgotten.
	w.query(`SET ?past AS TO_UNIX(NOW()) - 86500 UPDATE login_tries SET next = ?past;`)
	try()
	if n := w.query(`SELECT n FROM login_tries WHERE who = '` + who + `' SET VALUE ?n EMIT ?n`); n != "1" {
		t.Errorf("%s tries are counted", n)
	}
}
