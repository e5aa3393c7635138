package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
)

// answerer is an account whose room is small.
type answerer struct {
	t    *testing.T
	url  string
	name string
}

func (a answerer) call(method, to, kind, body string, answer any) (status int, text string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if !strings.HasSuffix(to, "/v1/query") { // which has them in its body
		req.SetBasicAuth(a.name, apptest.Password)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	got := send(a.t, req)
	if answer != nil {
		if err := json.Unmarshal([]byte(got.body), answer); err != nil {
			a.t.Fatalf("%d %s: %v", got.status, got.body, err)
		}
	}
	return got.status, got.body
}

// put makes a file of so many bytes.
func (a answerer) put(path string, size int) {
	a.t.Helper()
	if status, text := a.call("PUT", a.url+"/v1/files"+path, "", strings.Repeat("x", size), nil); status != 201 {
		a.t.Fatalf("%s: %d %s", path, status, text)
	}
}

// TestFilesThatDoNotFit: a file of an answer that the account cannot take is
// refused by its name and with its limit, as a file of its own is. The question
// stays open, and nothing of the answer is kept.
func TestFilesThatDoNotFit(t *testing.T) {
	const storage, file, files = 300_000, 100_000, 6
	s := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.StorageBytes, l.FileBytes, l.Files = storage, file, files
		s.Plans[account.Free] = l
	})
	for _, test := range []struct {
		name    string
		before  func(answerer)
		first   int // bytes of the one file
		second  int // and of the other
		status  int
		code    string
		limit   string
		most    int64
		message string
	}{
		{"larger", func(answerer) {}, 10, file + 1, 413, "too_large", "file_bytes", file, "a file has 100000 at most"},
		{"full", func(a answerer) {
			for _, path := range []string{"/a", "/b", "/c"} {
				a.put(path, file-20)
			}
		}, 10, 1000, 429, "quota_exceeded", "storage", storage, "300000"},
		{"many", func(a answerer) { a.put("/a/b/c/d", 1) }, 10, 10, 429, "quota_exceeded", "files", files, "files and folders, and may have 6"},
		{"taken", func(a answerer) { a.put("/uploads", 1) }, 10, 10, 409, "not_a_folder", "", 0, "is a file, not a folder"},
		{"capital", func(a answerer) { a.put("/Uploads", 1) }, 10, 10, 422, "invalid_path", "", 0, "which is the same name on some systems"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Account(test.name, account.Free)
			a := answerer{t, s.URL(), test.name}
			test.before(a)
			var j struct {
				Status     string
				ConfirmURL string `json:"confirm_url"`
				FormURL    string `json:"form_url"`
				PollURL    string `json:"poll_url"`
			}
			a.call("POST", s.URL()+"/v1/query", "application/json", `{"auth":{"username":"`+test.name+`","password":"`+apptest.Password+`"},
				"query":"GATHER 'Two' FIELDS note TEXT, one FILE, two FILE SET ?f"}`, &j)
			sent := func(size int) string {
				return `{"name":"f.txt","base64":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), size)) + `"}`
			}
			var e struct {
				Error struct {
					Code, Message, Limit string
					Value                int64
				}
			}
			status, text := a.call("POST", j.ConfirmURL, "application/json", `{"fields":{"one":`+sent(test.first)+`,"two":`+sent(test.second)+`}}`, &e)
			if got := e.Error; status != test.status || got.Code != test.code || got.Limit != test.limit || got.Value != test.most || !strings.Contains(got.Message, test.message) {
				t.Errorf("by /v1/confirm: %d %s", status, text)
			}
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			_ = form.WriteField("note", "as it was")
			for name, size := range map[string]int{"one": test.first, "two": test.second} {
				part, _ := form.CreateFormFile(name, "f.txt")
				_, _ = part.Write(bytes.Repeat([]byte("x"), size))
			}
			_ = form.Close()
			status, text = a.call("POST", j.FormURL, form.FormDataContentType(), body.String(), nil)
			if status != test.status || !strings.Contains(text, test.message) || !strings.Contains(text, `value="as it was"`) {
				t.Errorf("by the page: %d %s", status, text)
			}
			if a.call("GET", j.PollURL, "", "", &j); j.Status != "paused" {
				t.Errorf("the job is %s", j.Status)
			}
			if _, text = a.call("GET", s.URL()+"/v1/files/uploads", "", "", nil); strings.Contains(text, "f.txt") {
				t.Errorf("what is left of the answers: %s", text)
			}
			if status, text = a.call("POST", j.ConfirmURL, "application/json", `{"fields":{"note":"no files"}}`, &j); j.Status == "paused" || status >= 300 {
				t.Errorf("an answer that fits: %d %s", status, text)
			}
		})
	}
	if s.Log.Has(`"level":"ERROR"`) || s.Log.Has("level=ERROR") {
		t.Errorf("faults of the service:\n%s", s.Log)
	}
}

// TestQuotaOfScripts: a script that passes what its account may keep says which
// limit that is, by the name that GET /v1/limits has.
func TestQuotaOfScripts(t *testing.T) {
	const storage, files, databases = 300_000, 3, 1
	s := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.StorageBytes, l.Files, l.Databases = storage, files, databases
		s.Plans[account.Free] = l
	})
	s.Account("ada", account.Free)
	a := answerer{t, s.URL(), "ada"}
	for _, test := range []struct {
		script, limit string
		most          int64
	}{
		{"WRITE REPEAT('x', 300001) TO '/x'", "storage", storage},
		{"WRITE 'x' TO '/a/b/c/d'", "files", files},
		{"CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(400000));", "storage", storage},
		{"CREATE TABLE one(a); USE DATABASE \"other\" CREATE TABLE t(a);", "databases", databases},
	} {
		query, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "ada", "password": apptest.Password}, "query": test.script})
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Error struct {
				Code, Limit string
				Value       int64
			}
		}
		status, text := a.call("POST", s.URL()+"/v1/query", "application/json", string(query), &e)
		if got := e.Error; status != 422 || got.Code != "quota_exceeded" || got.Limit != test.limit || got.Value != test.most {
			t.Errorf("%s: %d %s", test.script, status, text)
		}
	}
}
