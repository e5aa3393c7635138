package app_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
)

// fileCall calls for a file over HTTP, as an account whose password is
// apptest.Password, and returns the status, the headers and the body.
func fileCall(t *testing.T, b *apptest.Service, username, method, path string, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.URL()+"/v1/files"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(username, apptest.Password)
	a := send(t, req)
	return a.status, a.header, []byte(a.body)
}

// TestFilesOverHTTP: scripts and callers work on the same files, in the same
// room.
func TestFilesOverHTTP(t *testing.T) {
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.StorageBytes, l.FileBytes = 1<<20, 1<<20
		s.Plans[account.Free] = l
	})
	b.Account("ada", account.Free)
	b.Account("bob", account.Free)
	if a := query(t, b.URL(), "ada", apptest.Password, `WRITE "by a script" TO "/notes/a.txt" CREATE TABLE t (x); INSERT INTO t SELECT zeroblob(300000); EMIT "done"`); a.Result != "done" {
		t.Fatal(a.body)
	}
	if status, _, text := fileCall(t, b, "ada", "GET", "/notes/a.txt", nil); status != 200 || string(text) != "by a script" {
		t.Errorf("what a script wrote: %d %s", status, text)
	}
	if status, _, text := fileCall(t, b, "bob", "GET", "/notes/a.txt", nil); status != 404 {
		t.Errorf("another's file: %d %s", status, text)
	}
	if status, _, text := fileCall(t, b, "ada", "PUT", "/notes/b.txt", strings.NewReader("by a caller")); status != 201 {
		t.Errorf("%d %s", status, text)
	}
	if a := query(t, b.URL(), "ada", apptest.Password, `READ "/notes/b.txt" SET ?text EMIT ?text`); a.Result != "by a caller" {
		t.Errorf("what a caller wrote: %s", a.body)
	}
	// The database takes room that a file alone would have.
	for _, length := range []int{-1, 1} { // unknown, and known
		body := io.Reader(bytes.NewReader(make([]byte, 900_000)))
		if length < 0 {
			body = struct{ io.Reader }{body}
		}
		if status, _, text := fileCall(t, b, "ada", "PUT", "/large", body); status != 429 || !bytes.Contains(text, []byte("quota_exceeded")) {
			t.Errorf("more than there is room for: %d %s", status, text)
		}
		if status, _, text := fileCall(t, b, "bob", "PUT", "/large", bytes.NewReader(make([]byte, 900_000))); status != 201 && status != 200 {
			t.Errorf("as much in an empty account: %d %s", status, text)
		}
	}
}
