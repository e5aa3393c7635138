package config

import (
	"strings"
	"testing"

	"ql/internal/mail"
)

func TestMailServer(t *testing.T) {
	for text, want := range map[string]mail.Server{
		"smtp://smtp.example.com":             {Host: "smtp.example.com", Port: 587, TLS: mail.TLSStart},
		"smtps://ql@smtp.example.com":         {Host: "smtp.example.com", Port: 465, TLS: mail.TLSImplicit, User: "ql"},
		"smtp://127.0.0.1:25?tls=none":        {Host: "127.0.0.1", Port: 25, TLS: mail.TLSNone},
		"smtp://a%40b.example@h.example:2525": {Host: "h.example", Port: 2525, TLS: mail.TLSStart, User: "a@b.example"},
	} {
		if got, err := parseMailServer(text); err != nil || *got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "smtp.example.com", "http://smtp.example.com", "smtp://", "smtp://h/path", "smtp://h?tls=some", "smtps://h?tls=none", "smtp://h:0", "smtp://user:s3cret@h.example", "smtp://@h.example"} {
		if got, err := parseMailServer(text); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
}
