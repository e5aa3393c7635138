package mail

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"ada@example.com":                      {Local: "ada", Domain: "example.com"},
		" Ada.L+x@Example.COM ":                {Local: "Ada.L+x", Domain: "example.com"},
		"Ada Lovelace <ada@example.com>":       {Name: "Ada Lovelace", Local: "ada", Domain: "example.com"},
		`"Ada Lovelace" <ada@example.com>`:     {Name: "Ada Lovelace", Local: "ada", Domain: "example.com"},
		"Zoë Müller <zoe@bücher.example>":      {Name: "Zoë Müller", Local: "zoe", Domain: "xn--bcher-kva.example"},
		"用户@例え.jp":                             {Local: "用户", Domain: "xn--r8jz45g.jp"},
		"<ada@example.com>":                    {Local: "ada", Domain: "example.com"},
		"o'brien@example.com":                  {Local: "o'brien", Domain: "example.com"},
		strings.Repeat("a", 64) + "@b.example": {Local: strings.Repeat("a", 64), Domain: "b.example"},
	} {
		got, err := ParseAddress(text)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		again, err := ParseAddress(got.String())
		if err != nil || again != got {
			t.Errorf("%q written again is %+v, %v", text, again, err)
		}
	}
}

// hostile are texts that would change a header, an envelope or what a reader sees where they came through.
func hostile() []string {
	ends := []string{"\r\n", "\n", "\r", "\x00", "\x0b", "\x0c", "\x85", "\u0085", "\u2028", "\u2029", "\x1b[2J", "\u202e", "\u2066", "\xff"}
	injected := []string{"Bcc: eve@evil.example", "To: eve@evil.example", "Subject: x", "Content-Type: text/html", "\r\n<script>", ".\r\nMAIL FROM:<eve@evil.example>", "RCPT TO:<eve@evil.example>", "DATA", "X-A: b", " folded", "\tfolded"}
	var list []string
	for _, e := range ends {
		for _, i := range injected {
			list = append(list, "x"+e+i)
		}
	}
	for _, e := range ends {
		list = append(list, e, e+"a", "a"+e, strings.Repeat(e, 50))
	}
	return list
}

func TestHostileAddresses(t *testing.T) {
	list := []string{
		"", " ", "ada", "@example.com", "ada@", "ada@@example.com", "a b@example.com", "ada@localhost", "ada@127.0.0.1", "ada@[127.0.0.1]", ".ada@example.com", "ada.@example.com", "a..b@example.com",
		`"ada"@example.com`, `"a b"@example.com`, "ada@example.com, eve@evil.example", "ada@example.com;eve@evil.example", "ada@example.com eve@evil.example", "<ada@example.com> <eve@evil.example>",
		"Ada <eve@evil.example> <ada@example.com>", "ada@example.com>", "<ada@example.com", "Group: ada@example.com;", "ada(comment)@example.com", "ada@example.com(comment)", "<@evil.example:ada@example.com>",
		"a\\b@example.com", "ada@exa mple.com", "ada@example..com", "ada@-example.com", "ada@example.com.", "mailto:ada@example.com", "Ada\\\" <ada@example.com>", "Ada \"x\" <ada@example.com>", "eve@evil.example <ada@example.com>",
		"Ada, Eve <ada@example.com>", strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("b.", 130) + "example", strings.Repeat("n", 201) + " <ada@example.com>", "=?utf-8?q?ada=40example.com?=", "a%0d%0aBcc:b@example.com\r\n",
	}
	for _, h := range hostile() {
		if strings.TrimSpace(h) == "" {
			continue
		}
		list = append(list, "ada"+h+"@example.com", "ada@example.com"+h, h+" <ada@example.com>", "ada@exam"+h+"ple.com")
	}
	if len(list) < 200 {
		t.Errorf("there are %d", len(list))
	}
	for _, text := range list {
		a, err := ParseAddress(text)
		if err == nil {
			t.Errorf("%q is %+v", text, a)
			continue
		}
		if strings.ContainsAny(err.Error(), "\r\n\x00\x1b") || !utf8.ValidString(err.Error()) || len(err.Error()) > 1000 {
			t.Errorf("the message about %q is %q", text, err)
		}
	}
}

// parts are the headers and the body of a message as another program reads them.
func parts(t *testing.T, m *Message) (*mail.Message, string) {
	t.Helper()
	var b strings.Builder
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	read, err := mail.ReadMessage(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v\n%q", err, b.String())
	}
	return read, b.String()
}

// TestHostileTexts: what CheckSubject lets through, and names and texts of any kind, change no header.
func TestHostileTexts(t *testing.T) {
	base := Message{ID: "1", Date: time.Unix(1, 0), Sender: Address{Local: "ql", Domain: "example.com"}, From: Address{Local: "ql", Domain: "example.com"}, To: []Address{{Local: "ada", Domain: "example.com"}}}
	refused := 0
	texts := append(hostile(), "plain", "Zoë", strings.Repeat("ü", 250), strings.Repeat("a", 250), "=?utf-8?q?=0D=0ABcc:_eve?=", "日本語の件名です", "a\tb", "\"quoted\" <x>", "🙂🙂🙂", "")
	for _, text := range texts {
		m := base
		m.Subject, m.Body = text, text
		if CheckSubject(text) != nil {
			refused++
			m.Subject = "fine"
		}
		read, raw := parts(t, &m)
		want := "Auto-Submitted Content-Transfer-Encoding Content-Type Date From Message-Id Mime-Version Subject To"
		if got := names(read.Header); got != want {
			t.Errorf("%q: the headers are %s", text, got)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
		if err != nil || subject != m.Subject {
			t.Errorf("the subject %q came as %q, %v", m.Subject, subject, err)
		}
		to, err := read.Header.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != "ada@example.com" {
			t.Errorf("%q: it is for %v, %v", text, to, err)
		}
		for _, line := range strings.Split(raw, "\r\n") {
			if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") || !isASCII(line) {
				t.Errorf("%q: a line is %q", text, line)
			}
		}
		body, err := io.ReadAll(read.Body)
		if err != nil || strings.Contains(string(body), "\x00") {
			t.Errorf("the body is %q, %v", body, err)
		}
	}
	if refused < 150 {
		t.Errorf("%d subjects were refused", refused)
	}
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func names(h mail.Header) string {
	var all []string
	for name := range h {
		all = append(all, name)
	}
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			if all[j] < all[i] {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	return strings.Join(all, " ")
}

func TestMessage(t *testing.T) {
	sender := Address{Name: "The service", Local: "ql", Domain: "example.com"}
	m := &Message{
		ID: "abc", Date: time.Date(2026, 11, 18, 3, 0, 0, 0, time.UTC), Sender: sender, From: Address{Name: "Zoë", Local: "zoe", Domain: "example.org"},
		To: []Address{{Name: "Ada, no", Local: "a", Domain: "b.example"}, {Local: "c", Domain: "d.example"}}, Subject: "Größe", Body: "Hello\r\n.\nüber\rend =", HTML: true,
		Attachments: []Attachment{
			{Name: "Rechnung ü.pdf", Type: "application/pdf", Size: 5, Open: func() io.ReadCloser { return io.NopCloser(strings.NewReader("12345")) }},
			{Name: `a"b.bin`, Size: 200, Open: func() io.ReadCloser { return io.NopCloser(strings.NewReader(strings.Repeat("x", 200))) }},
		},
	}
	m.To[0].Name = "Ada no"
	_, first := parts(t, m)
	read, second := parts(t, m)
	if first != second {
		t.Error("two attempts send different messages")
	}
	if got := read.Header.Get("Message-ID"); got != "<abc@example.com>" {
		t.Errorf("the id is %s", got)
	}
	if got := read.Header.Get("Sender"); got != `"The service" <ql@example.com>` {
		t.Errorf("the sender is %s", got)
	}
	from, err := read.Header.AddressList("From")
	if err != nil || from[0].Name != "Zoë" || from[0].Address != "zoe@example.org" {
		t.Errorf("it is from %v, %v", from, err)
	}
	kind, params, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("the type is %s, %v", kind, err)
	}
	got := ""
	r := multipart.NewReader(read.Body, params["boundary"])
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%s %q %d\n", p.Header.Get("Content-Type"), p.FileName(), len(content))
	}
	want := "text/html; charset=utf-8 \"\" 22\napplication/pdf \"Rechnung ü.pdf\" 8\napplication/octet-stream \"a\\\"b.bin\" 274\n"
	if got != want {
		t.Errorf("the parts are\n%s, want\n%s", got, want)
	}
	if n := int64(len(first)); m.Size() < n-600 || m.Size() > n+3000 {
		t.Errorf("the size is %d of %d", m.Size(), n)
	}
	m.Attachments[1].Size = 199
	if _, err := m.WriteTo(io.Discard); err == nil {
		t.Error("a file of another size was sent")
	}
	if _, err := textproto.NewReader(bufio.NewReader(strings.NewReader(first))).ReadMIMEHeader(); err != nil {
		t.Error(err)
	}
}
