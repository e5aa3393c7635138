package formpage_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"ql/internal/apptest"
	"ql/internal/operator"
	"ql/internal/server/pagetest"
)

// TestTextsMakeNoElements: whatever texts a script, or whoever answers, puts on a page, in any place of it, it is
// made of the same elements and attributes, and leads nowhere else.
func TestTextsMakeNoElements(t *testing.T) {
	s := apptest.Boot(t)
	s.Operate(func(o *operator.Operator) error {
		return o.Accounts.SetFlag(t.Context(), "user_test", "show_effects", true)
	})
	call := func(method, url, kind string, body []byte) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	// A question has many places, and so a text of its own for each: all texts come through all of them.
	const places = 12
	const script = `SET ?x AS !GET("x") GATHER ?x[0] + "\n" + ?x[1] FIELDS
		a TEXT LABEL ?x[2] HELP ?x[3] DEFAULT ?x[4], b LONG TEXT DEFAULT ?x[5] LABEL ?x[6], c CHOICE [?x[7], "other"] LABEL ?x[8],
		d CHOICE [?x[9], "1", "2", "3", "4", "5", "6"], e CHOICES {x: ?x[10], y: "y"}, f BOOLEAN LABEL ?x[11], g TEXT MAX 2, i FILE SET ?f`
	ask := func(texts []string) (form string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{
			"auth": map[string]string{"username": "dev", "password": "dev"}, "query": script, "request": map[string]any{"get": map[string]any{"x": texts}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var q struct {
			FormURL string `json:"form_url"`
		}
		if _, text := call(http.MethodPost, s.URL()+"/v1/query", "application/json", body); json.Unmarshal([]byte(text), &q) != nil || q.FormURL == "" {
			t.Fatal(text)
		}
		return q.FormURL
	}
	// answer sends a text in each field, as the name of a file, and too long a one in g, so that the page is shown again.
	answer := func(form, text string) string {
		t.Helper()
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "no such field"} {
			if err := w.WriteField(name, text); err != nil {
				t.Fatal(err)
			}
		}
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="i"; filename="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`}, "Content-Type": {"text/html"}})
		if err == nil {
			_, err = io.WriteString(part, "x")
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		status, page := call(http.MethodPost, form, w.FormDataContentType(), b.Bytes())
		if status != http.StatusUnprocessableEntity {
			t.Fatalf("%s: %d %s", text, status, page)
		}
		return page
	}
	skeleton := func(page string) string {
		t.Helper()
		made, err := pagetest.Skeleton(page)
		if err != nil {
			t.Fatal(err)
		}
		if leads, err := pagetest.Leads(page); err != nil || len(leads) > 0 {
			t.Errorf("the page leads to %q, %v", leads, err)
		}
		return made
	}
	harmless := make([]string, places)
	for i := range harmless {
		harmless[i] = pagetest.Harmless
	}
	form := ask(harmless)
	_, page := call(http.MethodGet, form, "", nil)
	asked, again := skeleton(page), skeleton(answer(form, "as "+pagetest.Harmless))
	if !strings.Contains(asked, "textarea") || !strings.Contains(again, "aria-invalid") {
		t.Fatalf("%s\n%s", asked, again)
	}
	list := pagetest.Hostile()
	for i := 0; i < len(list); i += places {
		texts := make([]string, places)
		for k := range texts {
			texts[k] = list[(i+k)%len(list)]
		}
		form := ask(texts)
		status, page := call(http.MethodGet, form, "", nil)
		if made := skeleton(page); status != http.StatusOK || made != asked {
			t.Errorf("%q: %d, the page is made of\n%s\nand not of\n%s", texts, status, made, asked)
		}
		for k := range texts {
			text := list[(i+places+k)%len(list)] // which is none of the choices
			if made := skeleton(answer(form, text)); made != again {
				t.Errorf("%q was sent, and the page is made of\n%s\nand not of\n%s", text, made, again)
			}
		}
	}
}
