// Package mailtest starts a real mail server for tests, which keeps what it is given and refuses what it
// is told to.
package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Mail is what the server was given.
type Mail struct {
	From string
	To   []string
	Data string
	User string // who was logged in
	TLS  bool
}

// Server is a mail server. Its hooks are set before it is used.
type Server struct {
	Host  string
	Port  uint16
	Roots *x509.CertPool // that trust it

	User, Password string // that it asks for; "" for none
	// OnFrom, OnRecipient and OnData may refuse, by an *smtp.SMTPError, or hang; nil for never. OnData is
	// called when all was read, before it is kept.
	OnFrom, OnRecipient func(address string) error
	OnData              func(m Mail) error

	mu     sync.Mutex
	mails  []Mail
	conns  int
	came   chan struct{}
	server *smtp.Server
}

// Options are how a server is started.
type Options struct {
	ImplicitTLS, NoTLS bool
	User, Password     string
	MaxBytes           int64
	NoUTF8             bool
}

// Refusal is an answer of a server.
func Refusal(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: text}
}

// Start starts a server, and ends it with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	certificate, roots := newCertificate(t)
	s := &Server{Host: "127.0.0.1", Roots: roots, User: o.User, Password: o.Password, came: make(chan struct{}, 100_000)}
	s.server = smtp.NewServer(s)
	s.server.Domain = "mail.example"
	s.server.AllowInsecureAuth = false
	s.server.EnableSMTPUTF8 = !o.NoUTF8
	s.server.MaxMessageBytes = o.MaxBytes
	s.server.MaxLineLength = 998
	s.server.ErrorLog = log.New(io.Discard, "", 0)
	secure := &tls.Config{Certificates: []tls.Certificate{certificate}}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = uint16(listener.Addr().(*net.TCPAddr).Port)
	switch {
	case o.ImplicitTLS:
		listener = tls.NewListener(listener, secure)
	case !o.NoTLS:
		s.server.TLSConfig = secure
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.server.Serve(listener) }()
	t.Cleanup(func() { _ = s.server.Close(); <-done })
	return s
}

// Mails returns what the server has taken.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail{}, s.mails...)
}

// Connections is how many there were.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Wait waits until the server has taken so many mails.
func (s *Server) Wait(t testing.TB, n int) []Mail {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		if mails := s.Mails(); len(mails) >= n {
			return mails
		}
		select {
		case <-s.came:
		case <-late:
			t.Fatalf("the server has %d mails of %d", len(s.Mails()), n)
		}
	}
}

// NewSession implements smtp.Backend.
func (s *Server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	return &session{s: s, conn: c}, nil
}

type session struct {
	s    *Server
	conn *smtp.Conn
	mail Mail
}

func (n *session) AuthMechanisms() []string {
	if n.s.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (n *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != n.s.User || password != n.s.Password {
			return errors.New("wrong user or password")
		}
		n.mail.User = user
		return nil
	}), nil
}

func (n *session) Mail(from string, _ *smtp.MailOptions) error {
	if n.s.User != "" && n.mail.User == "" {
		return smtp.ErrAuthRequired
	}
	_, n.mail.TLS = n.conn.TLSConnectionState()
	n.mail.From, n.mail.To = from, nil
	if n.s.OnFrom != nil {
		return n.s.OnFrom(from)
	}
	return nil
}

func (n *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if n.s.OnRecipient != nil {
		if err := n.s.OnRecipient(to); err != nil {
			return err
		}
	}
	n.mail.To = append(n.mail.To, to)
	return nil
}

func (n *session) Data(r io.Reader) error {
	var data strings.Builder
	if _, err := io.Copy(&data, r); err != nil {
		return err
	}
	n.mail.Data = data.String()
	if n.s.OnData != nil {
		if err := n.s.OnData(n.mail); err != nil {
			return err
		}
	}
	n.s.mu.Lock()
	n.s.mails = append(n.s.mails, n.mail)
	n.s.mu.Unlock()
	n.s.came <- struct{}{}
	return nil
}

func (n *session) Reset()        {}
func (n *session) Logout() error { return nil }

func newCertificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
