package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/mail"
	"ql/internal/mail/mailtest"
	"ql/internal/operator"
)

// mails is what GET /v1/mails shows an owner, once all of it is settled.
func mails(t *testing.T, base, name, password string) string {
	t.Helper()
	// No faster than an account may call.
	for look := time.NewTicker(100 * time.Millisecond); ; <-look.C {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/mails", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth(name, password)
		a := send(t, req)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if !strings.Contains(a.body, `"pending"`) {
			return a.body
		}
	}
}

// TestMail: a service sends mails of its accounts by a real server, each by its rules, and says nothing of
// them in its log.
func TestMail(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{NoTLS: true})
	server.OnRecipient = func(to string) error {
		if strings.HasPrefix(to, "nobody") {
			return mailtest.Refusal(550, "no such user")
		}
		return nil
	}
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		s.MailServer = &mail.Server{Host: server.Host, Port: server.Port, TLS: mail.TLSNone}
		s.MailFrom = &mail.Address{Name: "Service", Local: "ql", Domain: "service.example"}
		p := s.Plans[account.Standard]
		p.MailsPerDay, p.MailsPerMinute, p.MailBytes = 6, 6, 400_000
		s.Plans[account.Standard] = p
	})
	b.Account("ada", account.Standard)
	b.Account("bob", account.Standard)
	run := func(script, wantCode string) answer {
		t.Helper()
		a := query(t, b.URL(), "ada", apptest.Password, script)
		if a.Error.Code != wantCode {
			t.Errorf("%s: %d %s", script, a.status, a.body)
		}
		return a
	}
	a := run(`WRITE "an invoice" TO "/invoice.txt"
MAIL TO ["Zoë <zoe@example.org>", "nobody@example.org"] SUBJECT "Größe <x>" HTML "<p>{=1 + 1}</p>" ATTACH [{path: "/invoice.txt", name: "Rechnung.txt"}] SET ?id
WRITE "changed" TO "/invoice.txt"
EMIT ?id`, "")
	first := server.Wait(t, 1)[0]
	for _, want := range []string{"From: \"Service\" <ql@service.example>", "<" + a.Result + "@service.example>", "<p>2</p>", "filename=Rechnung.txt", "YW4gaW52b2ljZQ=="} {
		if !strings.Contains(first.Data, want) {
			t.Errorf("there is no %s in\n%s", want, first.Data)
		}
	}
	if first.From != "ql@service.example" || len(first.To) != 1 || first.To[0] != "zoe@example.org" {
		t.Errorf("the envelope is %+v", first)
	}
	list := mails(t, b.URL(), "ada", apptest.Password)
	for _, want := range []string{`"id":"` + a.Result + `"`, `"subject":"Größe <x>"`, `{"address":"Zoë <zoe@example.org>","status":"sent","error":null}`, `"status":"failed","error":"550 5.0.0 no such user"`, `"attachments":["Rechnung.txt"]`} {
		if !strings.Contains(list, want) {
			t.Errorf("there is no %s in %s", want, list)
		}
	}
	if other := mails(t, b.URL(), "bob", apptest.Password); other != `{"status":"ok","mails":[],"next":null}` {
		t.Errorf("another account sees %s", other)
	}
	run(`MAIL TO "zoe@example.org" SUBJECT "own" TEXT "x" FROM "Ada <ADA@example.com>"`, "")
	if m := server.Wait(t, 2)[1]; !strings.Contains(m.Data, "From: \"Ada\" <ADA@example.com>\r\nSender: \"Service\" <ql@service.example>\r\n") || m.From != "ql@service.example" {
		t.Errorf("a mail of the owner's address is %+v", m)
	}
	run(`MAIL TO "zoe@example.org" SUBJECT "x" TEXT "x" FROM "bob@example.com"`, "sender_not_verified")
	run(`MAIL TO "zoe@example.org" SUBJECT "x\nBcc: eve@example.org" TEXT "x"`, "bad_argument")
	run(`MAIL TO "zoe@example.org\nBcc: eve@example.org" SUBJECT "x" TEXT "x"`, "bad_argument")
	run(`MAIL TO [] SUBJECT "x" TEXT "x"`, "bad_argument")
	run(`MAIL TO "zoe@example.org" SUBJECT "x" TEXT "x" ATTACH "/none"`, "file_not_found")
	run(`WRITE REPEAT("x", 400000) TO "/large" MAIL TO "zoe@example.org" SUBJECT "x" TEXT "x" ATTACH "/large"`, "limit_exceeded")
	run(`MAIL TO MAP(RANGE(1, 4), ?i -> "a{?i}@example.org") SUBJECT "x" TEXT "x"`, "quota_exceeded")
	a = run(`CONFIRM "Pay the secret canary?" TO "boss@example.org" BY MAIL WITHIN 1 DAYS SET ?ok EMIT ?ok`, "")
	question := server.Wait(t, 3)[2]
	if a.Status != "paused" || question.To[0] != "boss@example.org" || !strings.Contains(question.Data, b.URL()+"/form/") {
		t.Errorf("the question is %+v, %s", question, a.body)
	}
	for _, secret := range []string{"canary", "zoe@", "boss@", "Größe"} {
		if b.Log.Has(secret) {
			t.Errorf("the log tells of %s", secret)
		}
	}
	b.Operate(func(o *operator.Operator) error {
		m, err := o.Mails.List(t.Context(), 1, mail.Query{Limit: 9})
		for _, one := range m {
			if strings.Contains(string(one.Head), "zoe") {
				t.Error("whom a mail is for is stored readable")
			}
		}
		return err
	})
}

// TestMailWithoutServer: a service without a mail server says so.
func TestMailWithoutServer(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("ada", account.Standard)
	if a := query(t, b.URL(), "ada", apptest.Password, `MAIL TO "zoe@example.org" SUBJECT "x" TEXT "x"`); a.Error.Code != "not_available" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestMailInDevelopment: mails are files in the data folder.
func TestMailInDevelopment(t *testing.T) {
	b := apptest.Boot(t)
	a := query(t, b.URL(), "dev", "dev", `MAIL TO "zoe@example.org" SUBJECT "Hello" TEXT "there" SET ?id EMIT ?id`)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	mails(t, b.URL(), "dev", "dev")
	if !b.Log.Has("a mail was put into the data folder") {
		t.Error("the log does not tell of it")
	}
	files, err := filepath.Glob(filepath.Join(b.Settings.Data, "mail", "*.eml"))
	if err != nil || len(files) != 1 || !strings.Contains(files[0], a.Result) {
		t.Fatalf("the folder has %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(text), "To: zoe@example.org\r\nSubject: Hello\r\n") {
		t.Errorf("the file is %s, %v", text, err)
	}
}
