package mail

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is a mail as it is sent.
type Message struct {
	ID      string
	Date    time.Time
	From    Address
	Sender  Address // the operator's
	To      []Address
	Subject string
	Body    string
	HTML    bool
	// Attachments are read when they are written, and never held.
	Attachments []Attachment
}

// Attachment is a file that goes with a message.
type Attachment struct {
	Name string
	Type string // of its content, as HTTP names it
	Size int64
	Open func() io.ReadCloser
}

// MessageID is what servers and readers know the message by, the same at each attempt.
func (m *Message) MessageID() string { return "<" + m.ID + "@" + m.Sender.Domain + ">" }

// boundary parts the message. It has what neither quoted-printable nor Base64 can write, so that no
// part holds it, and is the same at each attempt.
func (m *Message) boundary() string {
	sum := sha256.Sum256([]byte(m.ID))
	return "=_" + hex.EncodeToString(sum[:12])
}

// encodeWords writes a text as a header may have it: plain where it is, otherwise as words by
// RFC 2047, on lines of their own.
func encodeWords(text string) string {
	plain := !strings.Contains(text, "=?") && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if plain {
		return text
	}
	const most = 42 // bytes of one, so that a word has at most 75 characters
	var words []string
	for len(text) > 0 {
		n := 0
		for n < len(text) {
			_, size := utf8.DecodeRuneInString(text[n:])
			if n+size > most {
				break
			}
			n += size
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(text[:n]))+"?=")
		text = text[n:]
	}
	return strings.Join(words, "\r\n ")
}

// WriteTo writes the message, with line ends as mail has them.
func (m *Message) WriteTo(to io.Writer) (int64, error) {
	counted := &countWriter{w: to}
	w := bufio.NewWriterSize(counted, 32<<10)
	err := m.write(w)
	if err == nil {
		err = w.Flush()
	}
	return counted.n, err
}

type countWriter struct {
	w io.Writer
	n int64
}

func (c *countWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (m *Message) write(w *bufio.Writer) error {
	header := func(name, value string) { fmt.Fprintf(w, "%s: %s\r\n", name, value) }
	header("Message-ID", m.MessageID())
	header("Date", m.Date.UTC().Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	header("From", m.From.header())
	if !m.From.Equal(m.Sender) {
		header("Sender", m.Sender.header())
	}
	to := make([]string, len(m.To))
	for i, a := range m.To {
		to[i] = a.header()
	}
	header("To", strings.Join(to, ",\r\n "))
	header("Subject", encodeWords(m.Subject))
	header("MIME-Version", "1.0")
	header("Auto-Submitted", "auto-generated")
	if len(m.Attachments) == 0 {
		if err := m.writeBody(w); err != nil {
			return err
		}
		_, err := w.WriteString("\r\n")
		return err
	}
	b := m.boundary()
	header("Content-Type", `multipart/mixed; boundary="`+b+`"`)
	fmt.Fprintf(w, "\r\n--%s\r\n", b)
	if err := m.writeBody(w); err != nil {
		return err
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(w, "\r\n--%s\r\n", b)
		if err := a.write(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\r\n--%s--\r\n", b)
	return err
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (m *Message) writeBody(w *bufio.Writer) error {
	kind := "plain"
	if m.HTML {
		kind = "html"
	}
	fmt.Fprintf(w, "Content-Type: text/%s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", kind)
	q := quotedprintable.NewWriter(w)
	if _, err := io.WriteString(q, lineEnds.Replace(m.Body)); err != nil {
		return err
	}
	return q.Close()
}

func (a *Attachment) write(w *bufio.Writer) error {
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": a.Name})
	if disposition == "" {
		disposition = "attachment"
	}
	kind := a.Type
	if kind == "" {
		kind = "application/octet-stream"
	}
	fmt.Fprintf(w, "Content-Type: %s\r\nContent-Disposition: %s\r\nContent-Transfer-Encoding: base64\r\n\r\n", kind, disposition)
	content := a.Open()
	defer content.Close() //nolint:errcheck // it is read
	lines := &lineWriter{w: w}
	b := base64.NewEncoder(base64.StdEncoding, lines)
	source := &sourceReader{r: content}
	n, err := io.Copy(b, source)
	switch {
	case source.err != nil:
		return &ContentError{source.err}
	case err != nil:
		return err
	case n != a.Size:
		return &ContentError{fmt.Errorf("an attachment has %d bytes in place of %d", n, a.Size)}
	}
	return b.Close()
}

// sourceReader tells an error of what is read from one of where it is written to.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// ContentError says that what a mail says cannot be read: it would not help to try again soon.
type ContentError struct{ cause error }

func (e *ContentError) Error() string { return "the mail's content cannot be read: " + e.cause.Error() }
func (e *ContentError) Unwrap() error { return e.cause }

// lineWriter breaks Base64 into lines.
type lineWriter struct {
	w      *bufio.Writer
	column int
}

const lineLength = 76

func (l *lineWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if l.column == lineLength {
			if _, err := l.w.WriteString("\r\n"); err != nil {
				return n, err
			}
			l.column = 0
		}
		part := b[:min(len(b), lineLength-l.column)]
		if _, err := l.w.Write(part); err != nil {
			return n, err
		}
		l.column, n, b = l.column+len(part), n+len(part), b[len(part):]
	}
	return n, nil
}

// EncodedSize is how many bytes an attachment has in a message, about.
func EncodedSize(size int64) int64 { return (size+2)/3*4*(lineLength+2)/lineLength + 512 }

// Size is how many bytes the message has, about.
func (m *Message) Size() int64 {
	size := BodySize(m.Body)
	for _, a := range m.Attachments {
		size += EncodedSize(a.Size)
	}
	return size
}

// BodySize is how many bytes a message without attachments has, about: quoted-printable makes three of
// what is not ASCII.
func BodySize(body string) int64 {
	size := int64(1024)
	for i := range len(body) {
		if c := body[i]; c >= 0x80 || c == '=' || c < ' ' && c != '\n' {
			size += 2
		}
	}
	return size + int64(len(body))*78/75
}
