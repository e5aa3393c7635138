package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/smtp"
	"net/textproto"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ql/internal/guard"
	"ql/internal/network"
	"ql/internal/redacted"
)

// TLS says when a connection to the server is encrypted.
type TLS string

// The ways.
const (
	TLSImplicit TLS = "implicit" // from its first byte
	TLSStart    TLS = "starttls" // before anything else is said
	TLSNone     TLS = "none"     // never
)

// Server is the operator's mail server.
type Server struct {
	Host     string
	Port     uint16
	TLS      TLS
	User     string // "" for none
	Password redacted.Text
}

// Dialer opens connections; *network.Dialer is one.
type Dialer interface {
	Dial(ctx context.Context, host string, port uint16) (network.Conn, error)
}

// SMTPOptions are what an SMTP transport is made of. A zero field below the first two means its
// default.
type SMTPOptions struct {
	Server Server
	Dialer Dialer
	Guard  *guard.Guard   // recovers panics; nil tells nobody of them
	Hello  string         // what the node calls itself; localhost
	Roots  *x509.CertPool // of whom certificates are trusted; those of the system
	Idle   time.Duration  // that the server may say nothing; 1 minute
	Total  time.Duration  // that a mail may take; 10 minutes
}

// SMTP sends mails by a server, each by a connection of its own.
type SMTP struct{ o SMTPOptions }

// NewSMTP returns a transport.
func NewSMTP(o SMTPOptions) *SMTP {
	if o.Hello == "" {
		o.Hello = "localhost"
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	if o.Total <= 0 {
		o.Total = 10 * time.Minute
	}
	return &SMTP{o}
}

// LongestAttempt implements Transport.
func (s *SMTP) LongestAttempt() time.Duration { return s.o.Total }

// maxTalk is how many bytes a server may say in one connection.
const maxTalk = 256 << 10

// conn is a connection that waits for its server only so long, and hears only so much of it.
type conn struct {
	network.Conn
	idle time.Duration
	left int
	ctx  context.Context
}

var (
	errTalk  = errors.New("the mail server says too much")
	errNoTLS = errors.New("the mail server offers no STARTTLS")
)

func (c *conn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTalk
	}
	if err := c.wait(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) wait() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(c.idle)
	if end, ok := c.ctx.Deadline(); ok && end.Before(until) {
		until = end
	}
	return c.SetDeadline(until)
}

// Send implements Transport.
func (s *SMTP) Send(ctx context.Context, m *Message, recipients []int) Result {
	ctx, cancel := context.WithTimeout(ctx, s.o.Total)
	defer cancel()
	client, hangUp, err := s.connect(ctx)
	if err != nil {
		return Result{Unreached: true, Failure: explain(ctx, err)}
	}
	defer hangUp()
	r := s.deliver(ctx, client, m, recipients)
	if !r.Unreached && r.broken == nil {
		_ = client.Quit()
	}
	return r
}

// connect brings a connection to where it takes mails.
func (s *SMTP) connect(ctx context.Context) (client *smtp.Client, hangUp func(), err error) {
	server := s.o.Server
	raw, err := s.o.Dialer.Dial(ctx, server.Host, server.Port)
	if err != nil {
		return nil, nil, err
	}
	over := make(chan struct{})
	s.o.Guard.Go("mail", func() {
		select {
		case <-ctx.Done():
			_ = raw.SetDeadline(time.Unix(1, 0))
		case <-over:
		}
	})
	end := func() { close(over); _ = raw.Close() }
	defer func() {
		if err != nil {
			end()
		}
	}()
	secure := &tls.Config{ServerName: server.Host, MinVersion: tls.VersionTLS12, RootCAs: s.o.Roots}
	var c network.Conn = &conn{Conn: raw, idle: s.o.Idle, left: maxTalk, ctx: ctx}
	if server.TLS == TLSImplicit {
		c = tls.Client(c, secure)
	}
	if client, err = smtp.NewClient(c, server.Host); err != nil {
		return nil, nil, err
	}
	if err = client.Hello(s.o.Hello); err != nil {
		return nil, nil, err
	}
	if server.TLS == TLSStart {
		if ok, _ := client.Extension("STARTTLS"); !ok {
			return nil, nil, errNoTLS
		}
		if err = client.StartTLS(secure); err != nil {
			return nil, nil, err
		}
	}
	if server.User != "" {
		auth, err := s.auth(client)
		if err == nil {
			err = client.Auth(auth)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the mail server refused the log-in: %w", err)
		}
	}
	return client, end, nil
}

// auth chooses a way to log in that the server offers.
func (s *SMTP) auth(client *smtp.Client) (smtp.Auth, error) {
	server := s.o.Server
	_, ways := client.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(ways))
	for _, way := range offered {
		if way == "PLAIN" {
			return plainAuth{server}, nil
		}
	}
	for _, way := range offered {
		if way == "LOGIN" {
			return &loginAuth{server: server}, nil
		}
	}
	return nil, errors.New("it offers neither PLAIN nor LOGIN")
}

// plainAuth is PLAIN. Settings see to it that a password goes over no connection that others could
// read.
type plainAuth struct{ server Server }

func (a plainAuth) Start(*smtp.ServerInfo) (string, []byte, error) {
	return "PLAIN", []byte("\x00" + a.server.User + "\x00" + a.server.Password.Reveal()), nil
}

func (a plainAuth) Next(_ []byte, more bool) ([]byte, error) {
	if more {
		return nil, errors.New("it asks for more than PLAIN has")
	}
	return nil, nil
}

type loginAuth struct {
	server Server
	asked  int
}

func (a *loginAuth) Start(*smtp.ServerInfo) (string, []byte, error) { return "LOGIN", nil, nil }

func (a *loginAuth) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	a.asked++
	switch a.asked {
	case 1:
		return []byte(a.server.User), nil
	case 2:
		return []byte(a.server.Password.Reveal()), nil
	}
	return nil, errors.New("it asks for more than LOGIN has")
}

// deliver hands a message over for some of its recipients, by their numbers.
func (s *SMTP) deliver(ctx context.Context, client *smtp.Client, m *Message, recipients []int) Result {
	r := Result{Outcomes: make([]Outcome, len(recipients))}
	all := func(err error) Result {
		for i := range r.Outcomes {
			if r.Outcomes[i].State == "" {
				r.Outcomes[i] = outcomeOf(ctx, err)
			}
		}
		r.Failure = explain(ctx, err)
		var content *ContentError
		var said *textproto.Error
		if !errors.As(err, &said) || errors.As(err, &content) {
			r.broken = err
		}
		return r
	}
	if most, ok := sizeOf(client); ok && most < m.Size() {
		err := &textproto.Error{Code: 552, Msg: fmt.Sprintf("the mail server takes mails of %d bytes at most, and this one has about %d", most, m.Size())}
		return all(err)
	}
	if err := client.Mail(m.Sender.Mailbox()); err != nil {
		// It wants a log-in, or another sender: that is the operator's to mend, and nothing of this mail.
		if code := codeOf(err); code >= 500 && code != 552 {
			return Result{Unreached: true, Failure: explain(ctx, err)}
		}
		return all(err)
	}
	utf8, _ := client.Extension("SMTPUTF8")
	accepted := 0
	for i, n := range recipients {
		to := m.To[n]
		err := error(&textproto.Error{Code: 553, Msg: "the mail server takes no addresses with letters beyond ASCII"})
		if utf8 || to.IsASCII() {
			err = client.Rcpt(to.Mailbox())
		}
		switch {
		case err == nil:
			accepted++
		case codeOf(err) == 0 || codeOf(err) == 421:
			return all(err)
		default:
			r.Outcomes[i] = outcomeOf(ctx, err)
			r.Failure = r.Outcomes[i].Error
		}
	}
	if accepted == 0 {
		return r
	}
	w, err := client.Data()
	if err != nil {
		return all(err)
	}
	if _, err := m.WriteTo(w); err != nil {
		return all(err) // hanging up before the end, so that the server has no half of a mail
	}
	if err := w.Close(); err != nil {
		return all(err)
	}
	for i := range r.Outcomes {
		if r.Outcomes[i].State == "" {
			r.Outcomes[i].State = Sent
		}
	}
	return r
}

// sizeOf is how large a mail the server takes.
func sizeOf(client *smtp.Client) (int64, bool) {
	ok, text := client.Extension("SIZE")
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ok && err == nil && n > 0
}

func codeOf(err error) int {
	var said *textproto.Error
	if errors.As(err, &said) {
		return said.Code
	}
	return 0
}

// outcomeOf is what an error means for a recipient: a refusal is final, and all else is tried again.
func outcomeOf(ctx context.Context, err error) Outcome {
	var content *ContentError
	o := Outcome{State: Pending, Error: explain(ctx, err)}
	if code := codeOf(err); code >= 500 && code <= 599 || errors.As(err, &content) {
		o.State = Failed
	}
	return o
}

// maxFailure bounds what is stored of what a server said.
const maxFailure = 300

// explain says what went wrong, for the account's owner. What a server says is made printable.
func explain(ctx context.Context, err error) string {
	var said *textproto.Error
	var call *network.Error
	var content *ContentError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &content):
		return "an attachment could not be read"
	case errors.As(err, &said):
		return printable(strconv.Itoa(said.Code)+" "+said.Msg, maxFailure)
	case errors.As(err, &call):
		return "the mail server: " + printable(call.Message, maxFailure)
	case errors.As(err, &untrusted):
		return "the mail server's certificate is not valid"
	case errors.Is(err, errTalk), errors.Is(err, errNoTLS):
		return err.Error()
	case isTimeout(err) || ctx.Err() != nil:
		return "the mail server took too long to answer"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the mail server ended the connection"
	}
	return "the mail server broke the connection off, or what it said was no SMTP"
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// printable returns the start of a text without what could confuse a terminal or a page.
func printable(text string, most int) string {
	var b bytes.Buffer
	for _, r := range text {
		if !unicode.IsPrint(r) {
			r = ' '
		}
		if b.Len() >= most {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
