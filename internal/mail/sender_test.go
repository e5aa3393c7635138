package mail_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/mail"
	"ql/internal/mail/mailtest"
	"ql/internal/network"
	"ql/internal/redacted"
	"ql/internal/store"
	"ql/internal/store/sqlite"
)

// plainSealer seals nothing.
type plainSealer struct{}

func (plainSealer) Open(_ account.ID, name string, sealed []byte) ([]byte, error) {
	plain, ok := strings.CutPrefix(string(sealed), name+"\n")
	if !ok {
		return nil, errors.New("sealed under another name")
	}
	return []byte(plain), nil
}

func seal(name, plain string) []byte { return []byte(name + "\n" + plain) }

// desk is a store with an account, and a sender on it.
type desk struct {
	t       *testing.T
	store   store.Store
	account account.ID
	now     atomic.Int64
	options mail.Options
	sender  *mail.Sender
	tried   chan string
}

func dialer() *network.Dialer {
	return network.NewDialer(network.Policy{Private: true, AnyPort: true}, network.DialOptions{})
}

// by is a transport to a server of a test.
func by(s *mailtest.Server, way mail.TLS, change ...func(*mail.SMTPOptions)) *mail.SMTP {
	o := mail.SMTPOptions{
		Server: mail.Server{Host: s.Host, Port: s.Port, TLS: way, User: s.User, Password: redacted.Text(s.Password)}, Dialer: dialer(), Roots: s.Roots, Idle: time.Minute, Total: time.Minute,
	}
	for _, c := range change {
		c(&o)
	}
	return mail.NewSMTP(o)
}

func openDesk(t *testing.T, transport mail.Transport) *desk {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), sqlite.Options{Folder: filepath.Join(t.TempDir(), "data"), Own: true})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, store: opened.Aggregate(), tried: make(chan string, 1000)}
	d.now.Store(time.Now().UnixMicro())
	t.Cleanup(func() {
		d.stop()
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	if d.account, err = d.store.Accounts.Create(t.Context(), account.Account{Username: "ada", Plan: account.Standard, Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	d.options = mail.Options{
		Outbox: d.store.Mails, Transport: transport, Sealer: plainSealer{}, Sender: mail.Address{Name: "ql", Local: "ql", Domain: "service.example"},
		Open: func(mail.Content) io.ReadSeekCloser { return nil }, Poll: 20 * time.Millisecond, Pause: time.Millisecond,
		Clock:     func() time.Time { return time.UnixMicro(d.now.Load()) },
		OnAttempt: func(outcome string) { d.tried <- outcome },
	}
	return d
}

func (d *desk) later(by time.Duration) { d.now.Add(by.Microseconds()) }

func (d *desk) start() { d.sender = mail.NewSender(d.options); d.sender.Start() }

func (d *desk) stop() {
	if d.sender != nil {
		if err := d.sender.Stop(context.Background()); err != nil {
			d.t.Error(err)
		}
		d.sender = nil
	}
}

// post stores a mail.
func (d *desk) post(id, body string, to ...string) {
	d.t.Helper()
	head, err := json.Marshal(mail.Head{To: to, Subject: "Hello " + id})
	if err != nil {
		d.t.Fatal(err)
	}
	err = d.store.Mails.Create(d.t.Context(), mail.CreateParams{
		ID: id, Account: d.account, Made: time.UnixMicro(d.now.Load()).UTC(), Recipients: len(to), BodySize: int64(len(body)),
		Head: seal(mail.SealHead(id), string(head)), Body: seal(mail.SealBody(id), body), Bounds: mail.Bounds{Size: 1 << 30, Waiting: 1 << 30},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if d.sender != nil {
		d.sender.Wake()
	}
}

func (d *desk) mail(id string) mail.Mail {
	d.t.Helper()
	m, err := d.store.Mails.ByID(context.Background(), d.account, id)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// attempt waits for the next attempt, which must come to something, and until the store has it.
func (d *desk) attempt(want string) {
	d.t.Helper()
	select {
	case got := <-d.tried:
		if got != want {
			d.t.Errorf("an attempt came to %s, want %s", got, want)
		}
	case <-time.After(2 * time.Minute):
		d.t.Fatalf("no attempt that comes to %s", want)
	}
}

func TestSend(t *testing.T) {
	for name, c := range map[string]struct {
		o   mailtest.Options
		tls mail.TLS
	}{
		"plain":                {mailtest.Options{NoTLS: true}, mail.TLSNone},
		"STARTTLS":             {mailtest.Options{}, mail.TLSStart},
		"TLS":                  {mailtest.Options{ImplicitTLS: true}, mail.TLSImplicit},
		"STARTTLS with log-in": {mailtest.Options{User: "ql", Password: "s3cret"}, mail.TLSStart},
		"TLS with log-in":      {mailtest.Options{ImplicitTLS: true, User: "ql", Password: "s3cret"}, mail.TLSImplicit},
	} {
		t.Run(name, func(t *testing.T) {
			server := mailtest.Start(t, c.o)
			d := openDesk(t, by(server, c.tls))
			d.start()
			d.post("one", "Dear Ada,\n.\n..\nwith love", "Ada <ada@example.com>", "bob@example.com")
			d.attempt("sent")
			got := server.Mails()
			if len(got) != 1 || got[0].From != "ql@service.example" || fmt.Sprint(got[0].To) != "[ada@example.com bob@example.com]" || got[0].TLS != (c.tls != mail.TLSNone) || got[0].User != c.o.User {
				t.Errorf("the server has %+v", got)
			}
			for _, want := range []string{"Message-ID: <one@service.example>\r\n", "Subject: Hello one\r\n", "To: \"Ada\" <ada@example.com>,\r\n bob@example.com\r\n", "\r\n\r\nDear Ada,\r\n.\r\n..\r\nwith love\r\n"} {
				if !strings.Contains(got[0].Data, want) {
					t.Errorf("there is no %q in\n%s", want, got[0].Data)
				}
			}
			if m := d.mail("one"); m.State != mail.Sent || m.Attempts != 1 || len(m.Outcomes) != 2 || m.Outcomes[1].State != mail.Sent || m.Error != "" {
				t.Errorf("the mail stands at %+v", m)
			}
		})
	}
}

// TestUnusableServers: where the server cannot be asked, mails wait without an attempt, and nothing is
// said that others could read.
func TestUnusableServers(t *testing.T) {
	plain, secure := mailtest.Start(t, mailtest.Options{NoTLS: true}), mailtest.Start(t, mailtest.Options{User: "ql", Password: "right"})
	for name, c := range map[string]struct {
		by   mail.Transport
		says string
	}{
		"no STARTTLS":       {by(plain, mail.TLSStart), "offers no STARTTLS"},
		"a wrong password":  {by(secure, mail.TLSStart, func(o *mail.SMTPOptions) { o.Server.Password = "wrong" }), "wrong user or password"},
		"no log-in":         {by(secure, mail.TLSStart, func(o *mail.SMTPOptions) { o.Server.User = "" }), "502"},
		"an unknown signer": {by(secure, mail.TLSStart, func(o *mail.SMTPOptions) { o.Roots = nil }), "certificate is not valid"},
		"nobody listens":    {by(plain, mail.TLSNone, func(o *mail.SMTPOptions) { o.Server.Port = 1 }), "refused the connection"},
		"another protocol":  {by(plain, mail.TLSImplicit), "broke the connection off"},
	} {
		t.Run(name, func(t *testing.T) {
			d := openDesk(t, c.by)
			d.post("one", "x", "ada@example.com")
			d.start()
			d.attempt("unreached")
			d.stop()
			if m := d.mail("one"); m.State != mail.Pending || m.Attempts != 0 || !strings.Contains(m.Error, c.says) {
				t.Errorf("the mail stands at %+v", m)
			}
			// After three days it is given up.
			d.later(mail.MaxAge + time.Hour)
			d.start()
			for got := ""; got != "failed"; {
				got = <-d.tried
			}
			if m := d.mail("one"); m.State != mail.Failed || m.Outcomes[0].State != mail.Failed {
				t.Errorf("the mail stands at %+v", m)
			}
		})
	}
	if n := len(plain.Mails()) + len(secure.Mails()); n > 0 {
		t.Errorf("%d mails were sent", n)
	}
}

// TestRefusals: what is refused for good is, and what is refused for now is sent again to those alone
// who did not get it.
func TestRefusals(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true, NoUTF8: true, MaxBytes: 100_000})
	var busy atomic.Bool
	busy.Store(true)
	server.OnRecipient = func(to string) error {
		switch {
		case strings.HasPrefix(to, "nobody"):
			return mailtest.Refusal(550, "no such user\x1b[2J here")
		case strings.HasPrefix(to, "busy") && busy.Load():
			return mailtest.Refusal(450, "mailbox busy")
		}
		return nil
	}
	var graylisted atomic.Int32
	server.OnData = func(m mailtest.Mail) error {
		switch {
		case strings.Contains(m.Data, "SPAM"):
			return mailtest.Refusal(554, "spam")
		case strings.Contains(m.Data, "GRAY") && graylisted.Add(1) <= 2:
			return mailtest.Refusal(451, "try again later")
		}
		return nil
	}
	d := openDesk(t, by(server, mail.TLSNone))
	d.start()
	check := func(id string, state mail.State, attempts int, outcomes ...string) {
		t.Helper()
		m := d.mail(id)
		var got []string
		for _, o := range m.Outcomes {
			got = append(got, strings.TrimSpace(string(o.State)+" "+o.Error))
		}
		if m.State != state || m.Attempts != attempts || strings.Join(got, "; ") != strings.Join(outcomes, "; ") {
			t.Errorf("%s stands at %s after %d: %s", id, m.State, m.Attempts, strings.Join(got, "; "))
		}
	}
	d.post("refused", "x", "nobody@example.com")
	d.attempt("failed")
	check("refused", mail.Failed, 1, "failed 550 5.0.0 no such user [2J here")
	d.post("letters", "x", "用户@example.com")
	d.attempt("failed")
	check("letters", mail.Failed, 1, "failed 553 the mail server takes no addresses with letters beyond ASCII")
	d.post("spam", "SPAM", "ada@example.com")
	d.attempt("failed")
	check("spam", mail.Failed, 1, "failed 554 5.0.0 spam")
	d.post("large", strings.Repeat("a", 120_000), "ada@example.com")
	d.attempt("failed")
	if m := d.mail("large"); m.State != mail.Failed || !strings.Contains(m.Error, "the mail server takes mails of 100000 bytes at most") {
		t.Errorf("the large one stands at %+v", m)
	}
	d.post("gray", "GRAY", "ada@example.com")
	d.attempt("retry")
	d.later(2 * time.Minute)
	d.attempt("retry")
	d.later(10 * time.Minute)
	d.attempt("sent")
	check("gray", mail.Sent, 3, "sent")
	before := len(server.Mails())
	d.post("mixed", "x", "ada@example.com", "nobody@example.com", "busy@example.com")
	d.attempt("retry")
	check("mixed", mail.Pending, 1, "sent", "failed 550 5.0.0 no such user [2J here", "pending 450 4.0.0 mailbox busy")
	busy.Store(false)
	d.later(2 * time.Minute)
	d.attempt("failed")
	check("mixed", mail.Failed, 2, "sent", "failed 550 5.0.0 no such user [2J here", "sent")
	if got := server.Mails()[before:]; len(got) != 2 || fmt.Sprint(got[0].To, got[1].To) != "[ada@example.com] [busy@example.com]" {
		t.Errorf("the server has %+v", got)
	}
	_, _, err := d.store.Mails.Body(t.Context(), d.mail("mixed"))
	if !errors.Is(err, mail.ErrNotFound) {
		t.Errorf("what it said is still there: %v", err)
	}
}

// TestHangingServers: a server that says nothing, or goes away in the middle, is left, and the mail is
// sent again under the same id.
func TestHangingServers(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true})
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	var n atomic.Int32
	server.OnData = func(mailtest.Mail) error {
		if n.Add(1) == 1 {
			<-ended
		}
		return nil
	}
	d := openDesk(t, by(server, mail.TLSNone, func(o *mail.SMTPOptions) { o.Idle = 100 * time.Millisecond }))
	d.start()
	d.post("one", "x", "ada@example.com")
	d.attempt("retry")
	if m := d.mail("one"); m.Error != "the mail server took too long to answer" {
		t.Errorf("the mail stands at %+v", m)
	}
	d.later(2 * time.Minute)
	d.attempt("sent")
	got := server.Mails()
	if !strings.Contains(got[len(got)-1].Data, "Message-ID: <one@service.example>") {
		t.Errorf("the server has %+v", got)
	}
}

// TestStop: a stop breaks off an attempt that hangs, which is no attempt then.
func TestStop(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true})
	came, ended := make(chan struct{}, 8), make(chan struct{})
	t.Cleanup(func() { close(ended) })
	server.OnRecipient = func(string) error { came <- struct{}{}; <-ended; return nil }
	d := openDesk(t, by(server, mail.TLSNone))
	d.start()
	d.post("one", "x", "ada@example.com")
	<-came
	d.stop()
	if m := d.mail("one"); m.State != mail.Pending || m.Attempts != 0 || m.Due.After(time.UnixMicro(d.now.Load())) {
		t.Errorf("the mail stands at %+v", m)
	}
}

// TestManyMails: each of many mails, of several accounts, arrives once while two senders work.
func TestManyMails(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true})
	d := openDesk(t, by(server, mail.TLSNone))
	const count = 60
	for i := range count {
		d.post(fmt.Sprintf("m%02d", i), "x", "ada@example.com")
	}
	other := mail.NewSender(d.options)
	other.Start()
	d.start()
	server.Wait(t, count)
	for range count {
		d.attempt("sent")
	}
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	d.stop()
	seen := map[string]bool{}
	for _, m := range server.Mails() {
		_, id, _ := strings.Cut(m.Data, "Message-ID: <")
		id, _, _ = strings.Cut(id, "@")
		if seen[id] {
			t.Errorf("%s came twice", id)
		}
		seen[id] = true
	}
	if len(seen) != count {
		t.Errorf("%d mails came", len(seen))
	}
}

// TestMemoryOfMails: a mail for which there is no memory waits, which is no attempt, and what one takes
// does not grow with its attachments.
func TestMemoryOfMails(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true})
	d := openDesk(t, by(server, mail.TLSNone))
	asked, granted, released := make(chan int64), make(chan bool), make(chan struct{}, 1)
	d.options.Hold = func(_ context.Context, _ account.ID, bytes int64) (func(), error) {
		asked <- bytes
		if !<-granted {
			return nil, errors.New("all is taken")
		}
		return func() { released <- struct{}{} }, nil
	}
	d.post("one", strings.Repeat("x", 10<<20), "zoe@example.org")
	d.start()
	if n := <-asked; n < 1<<20 || n > 8<<20 {
		t.Errorf("for a large mail %d bytes are reserved", n)
	}
	granted <- false
	for again := false; !again; {
		select {
		case <-asked:
			again = true
		case <-time.After(time.Millisecond):
			d.later(time.Second)
		}
	}
	if m := d.mail("one"); m.Attempts != 0 || m.State != mail.Pending {
		t.Errorf("without memory it is %+v", m)
	}
	granted <- true
	d.attempt("sent")
	<-released
}
