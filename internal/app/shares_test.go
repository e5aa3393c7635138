package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"ql/internal/apptest"
	"ql/internal/config"
)

// shared runs a script on a service and returns its result and the code of its
// error.
func shared(t *testing.T, b *apptest.Service, script string) (result, code string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "dev", "password": "dev"}, "query": script})
	if err != nil {
		t.Fatal(err)
	}
	_, text := exchange(t, http.MethodPost, "http://"+b.Address()+"/v1/query", string(body))
	var answer struct {
		Result string
		Error  struct{ Code string }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Result, answer.Error.Code
}

func load(t *testing.T, url string) (int, string) {
	t.Helper()
	return exchange(t, http.MethodGet, url, "")
}

func exchange(t *testing.T, method, url, content string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	a := send(t, req)
	return a.status, a.body
}

// TestSharing shares files from scripts, and loads them as anybody may.
func TestSharing(t *testing.T) {
	b := apptest.Boot(t)
	link, code := shared(t, b, `WRITE "june" TO "/report.txt" SHARE "/report.txt" SET ?url WRITE "july" TO "/report.txt" EMIT ?url`)
	if code != "" || !strings.HasPrefix(link, b.URL()+"/files/") {
		t.Fatalf("the link is %q, the error %q", link, code)
	}
	if status, body := load(t, link); status != 200 || body != "june" {
		t.Errorf("%d %q", status, body)
	}
	if status, _ := load(t, link); status != 410 {
		t.Errorf("a second time: %d", status)
	}
	link, _ = shared(t, b, `SHARE "/report.txt" UNLIMITED FOR 30 DAYS SET ?url EMIT ?url`)
	for range 3 {
		if status, body := load(t, link); status != 200 || body != "july" {
			t.Errorf("%d %q", status, body)
		}
	}
	if _, code := shared(t, b, `UNSHARE "`+link+`"`); code != "" {
		t.Errorf("UNSHARE: %s", code)
	}
	if status, _ := load(t, link); status != 410 {
		t.Errorf("after UNSHARE: %d", status)
	}
	for script, want := range map[string]string{
		`SHARE "/none.txt" SET ?url`:                   "file_not_found",
		`SHARE "/../etc/passwd" SET ?url`:              "invalid_path",
		`SHARE "/report.txt" FOR 31 DAYS SET ?url`:     "limit_exceeded",
		`SHARE "/report.txt" TIMES 0 SET ?url`:         "bad_argument",
		`SHARE "/report.txt" TIMES "many" SET ?url`:    "wrong_kind",
		`SHARE "/report.txt" NAMED "../x" SET ?url`:    "bad_argument",
		`UNSHARE "https://example.com/files/x"`:        "file_not_found",
		`UNSHARE 5`:                                    "wrong_kind",
		`TRANSACTION SHARE "/report.txt" SET ?url END`: "syntax_error",
	} {
		if _, code := shared(t, b, script); code != want {
			t.Errorf("%s: %q, want %q", script, code, want)
		}
	}
	if strings.Contains(b.Log.String(), link[len(b.URL()+"/files/"):]) {
		t.Error("a token stands in the log")
	}
}

// TestSharedDevelopment: the account that everybody knows shares little, and
// not for long.
func TestSharedDevelopment(t *testing.T) {
	b := apptest.Boot(t, func(s *config.Settings) {
		s.Dev = false
		s.FileURL = "https://files.example.com"
	})
	for script, want := range map[string]string{
		`WRITE "x" TO "/a.txt" SHARE "/a.txt" FOR 1 HOUR SET ?url EMIT ?url`:                                                  "",
		`WRITE "x" TO "/a.txt" SHARE "/a.txt" SET ?url EMIT ?url`:                                                             "",
		`WRITE "x" TO "/a.txt" SHARE "/a.txt" FOR 2 HOURS SET ?url`:                                                           "limit_exceeded",
		`WRITE "x" TO "/b.txt" FOR ?i FROM 1 TO 2 DO APPEND REPEAT("x", 600000) TO FILE "/b.txt" END SHARE "/b.txt" SET ?url`: "limit_exceeded",
	} {
		link, code := shared(t, b, script)
		if code != want || (code == "") != strings.HasPrefix(link, "https://files.example.com/files/") {
			t.Errorf("%.60s: %q %q, want %q", script, link, code, want)
		}
	}
}
