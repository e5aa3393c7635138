package server_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
)

// TestHeadersAreSpelledAsDocumented looks at the bytes of answers: clients and
// servers of HTTP in Go spell headers their own way.
func TestHeadersAreSpelledAsDocumented(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	tests := []struct {
		name, key, script string
		want              []string
	}{
		{"ok", ada.key, `SET "status" AS 201 OF !RESPONSE`, []string{"QL-Job-Id", "QL-Response", "QL-Status"}},
		{"failed", ada.key, `EMIT 1 / 0`, []string{"QL-Error", "QL-Job-Id", "QL-Status"}},
		{"refused", "qlk_wrong", `EMIT 1`, []string{"QL-Error"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			form := url.Values{"identity": {"ada"}, "password": {test.key}, "q": {test.script}}.Encode()
			head := w.raw(t, fmt.Sprintf("POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(form), form))
			var got []string
			for line := range strings.Lines(head) {
				if name, _, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(strings.ToLower(name), "ql-") {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("the headers are spelled %q, not %q", got, test.want)
			}
		})
	}
}

// raw sends bytes and returns the head of what comes back.
func (w *world) raw(t *testing.T, request string) string {
	t.Helper()
	u, err := url.Parse(w.url)
	check(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
	check(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	check(t, err)
	answer, err := io.ReadAll(conn)
	check(t, err)
	head, _, _ := strings.Cut(string(answer), "\r\n\r\n")
	return head
}
