package config

import (
	"fmt"
	"net/url"
	"strings"

	"ql/internal/hostname"
	"ql/internal/mail"
)

// parseMailServer takes the address of a mail server: smtps://host for TLS from the first byte,
// smtp://host for STARTTLS, and smtp://host?tls=none for none.
func parseMailServer(text string) (*mail.Server, error) {
	wrong := fmt.Errorf("%q is no mail server such as smtp://user@smtp.example.com:587, smtps://smtp.example.com or smtp://127.0.0.1:25?tls=none", withoutPassword(text))
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, wrong
	}
	s := &mail.Server{}
	switch u.Scheme {
	case "smtp":
		s.TLS, s.Port = mail.TLSStart, 587
	case "smtps":
		s.TLS, s.Port = mail.TLSImplicit, 465
	default:
		return nil, wrong
	}
	host, err := hostname.Parse(u.Hostname())
	if err != nil {
		return nil, wrong
	}
	s.Host = host.String()
	if host.IsAddr() {
		s.Host = host.Addr.String()
	}
	if u.Port() != "" {
		if s.Port, err = hostname.ParsePort(u.Port()); err != nil {
			return nil, wrong
		}
	}
	switch q := u.Query(); {
	case len(q) == 0:
	case len(q) == 1 && q.Get("tls") == "none" && u.Scheme == "smtp":
		s.TLS = mail.TLSNone
	default:
		return nil, wrong
	}
	if u.User != nil {
		s.User = u.User.Username()
		if _, ok := u.User.Password(); ok {
			return nil, fmt.Errorf("the password stands in mail_password, or QL_MAIL_PASSWORD, where other users of the machine do not see it")
		}
		if s.User == "" || strings.ContainsAny(s.User, "\x00\r\n") {
			return nil, wrong
		}
	}
	return s, nil
}

// withoutPassword is an address as a message may show it.
func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "…" + text[i:]
	}
	return text
}

func parseSender(text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return nil, err
	}
	if !a.IsASCII() {
		return nil, fmt.Errorf("%q has letters beyond ASCII before the @, which not every server takes", text)
	}
	return &a, nil
}

// checkMail refuses settings of mail that do not go together.
func (s *Settings) checkMail() (wrong []error) {
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if s.MailServer == nil {
		if s.MailPassword != "" {
			refuse("mail-password: it is used with mail-server, and there is none")
		}
		if s.MailFrom != nil && !s.Dev {
			refuse("mail-from: it is used with mail-server, and there is none")
		}
		return wrong
	}
	if s.MailFrom == nil {
		refuse("mail-from: mail-server is set, and mails need a sender such as ql@example.com")
	}
	if (s.MailServer.User == "") != (s.MailPassword == "") {
		refuse("mail-server and mail-password: a log-in needs a user, as in smtp://user@host, and a password, and one is missing")
	}
	if s.MailServer.User != "" && s.MailServer.TLS == mail.TLSNone && !isLoopback(s.MailServer.Host+":1") {
		refuse("mail-server: a password would go to %s unencrypted: leave tls=none out", s.MailServer.Host)
	}
	return wrong
}
