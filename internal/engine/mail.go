package engine

import (
	"encoding/hex"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/form"
	"ql/lang/value"
)

// The arguments of MAIL.
const (
	mailTo = iota
	mailSubject
	mailText
	mailHTML
	mailFrom
	mailAttach
)

// mail hands a mail over to be sent. It is stored with its result, so that the mail of a step is
// sent by one attempt alone.
func mail(c *call) (value.Value, error) {
	if c.o.Mails == nil {
		return value.Null, missingMails()
	}
	m, err := c.mail()
	if err != nil {
		return value.Null, err
	}
	id, err := c.mailID()
	if err != nil {
		return value.Null, err
	}
	c.meter.Alloc(value.BlockSize(len(id)))
	result := value.Text(id)
	Yield(c.ctx)
	return result, c.o.Mails.Send(c.checkpointResult(result), id, m)
}

func missingMails() error {
	return value.Errorf("not_available", "no mail is sent from here: who runs the service may allow it by the setting mail_server")
}

// mailID makes the id of a mail: that of the step where there is a journal, so that whoever gets it
// twice can tell.
func (c *call) mailID() (string, error) {
	if c.o.Journal != nil {
		return c.o.Journal.MailKey(c.effect.Seq), nil
	}
	var random [16]byte
	if _, err := io.ReadFull(c.o.Rand, random[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(random[:]), nil
}

// mail reads what the script says of a mail.
func (c *call) mail() (m Mail, err error) {
	if m.To, err = c.mailTexts(mailTo, "TO", "an address such as \"ada@example.com\", or a list of them"); err != nil {
		return m, err
	}
	if m.Subject, err = c.text(mailSubject, "the SUBJECT of a MAIL"); err != nil {
		return m, err
	}
	body := mailText
	if c.args[mailText].IsNull() && !c.args[mailHTML].IsNull() {
		body, m.HTML = mailHTML, true
	}
	if m.Body, err = c.text(body, "what a MAIL says"); err != nil {
		return m, err
	}
	c.meter.WorkBytes(len(m.Body))
	c.meter.Alloc(2 * len(m.Body)) // as it is stored
	if !c.args[mailFrom].IsNull() {
		from, err := c.text(mailFrom, "the address that FROM takes")
		if err != nil {
			return m, err
		}
		m.From = &from
	}
	m.Attachments, err = c.attachments(c.args[mailAttach])
	return m, err
}

// mailTexts reads a text or a list of texts.
func (c *call) mailTexts(arg int, clause, fits string) (list []string, err error) {
	v := c.args[arg]
	if v.IsText() {
		return []string{v.Str()}, nil
	}
	if !v.IsList() {
		return nil, value.Errorf(value.WrongKind, "%s takes %s, not %s", clause, fits, value.Describe(v))
	}
	for i := range v.List().Len() {
		one := v.List().At(i)
		if !one.IsText() {
			return nil, value.Errorf(value.WrongKind, "%s takes %s, and member %d is %s", clause, fits, i, value.Describe(one))
		}
		if list = append(list, one.Str()); len(list) > MaxMailRecipients {
			return nil, value.Errorf(value.BadArgument, "a MAIL goes to %d addresses at most: send several", MaxMailRecipients)
		}
	}
	return list, nil
}

const (
	// MaxMailRecipients is how many addresses one mail goes to.
	MaxMailRecipients = 50
	// MaxMailAttachments is how many files go with it.
	MaxMailAttachments = 20
)

// attachments reads ATTACH: paths, or maps of a path and a name.
func (c *call) attachments(v value.Value) (list []MailAttachment, err error) {
	const fits = `ATTACH takes the path of a file, or a list of paths and of maps such as {path: "/a.pdf", name: "Invoice.pdf"}`
	switch {
	case v.IsNull():
		return nil, nil
	case v.IsText():
		return []MailAttachment{{Path: v.Str()}}, nil
	case !v.IsList():
		return nil, value.Errorf(value.WrongKind, "%s, not %s", fits, value.Describe(v))
	case v.List().Len() > MaxMailAttachments:
		return nil, value.Errorf(value.BadArgument, "%d files go with a MAIL at most, and ATTACH has %d", MaxMailAttachments, v.List().Len())
	}
	for i := range v.List().Len() {
		one := v.List().At(i)
		a := MailAttachment{}
		switch {
		case one.IsText():
			a.Path = one.Str()
		case one.IsMap():
			for key, entry := range one.Map().All {
				switch key := key.Str(); {
				case key == "path" && entry.IsText():
					a.Path = entry.Str()
				case key == "name" && entry.IsText():
					name := entry.Str()
					a.Name = &name
				default:
					return nil, value.Errorf(value.WrongKind, "%s, and %s of member %d does not fit", fits, value.Quote(key), i)
				}
			}
		}
		if a.Path == "" {
			return nil, value.Errorf(value.WrongKind, "%s, and member %d has no path", fits, i)
		}
		list = append(list, a)
	}
	return list, nil
}

// maxQuestionSubject is how much of a question is the subject of its mail, in code points.
const maxQuestionSubject = 120

// mailQuestion sends the link of the question that follows to the address that it is for.
func mailQuestion(c *call) (value.Value, error) {
	if c.o.Mails == nil {
		return value.Null, missingMails()
	}
	if c.o.Job == nil {
		return value.Null, value.Errorf("not_available", "this question has no page whose link could be sent")
	}
	text, err := questionText(c.args[0])
	if err != nil {
		return value.Null, err
	}
	to, err := c.text(1, "the address that TO takes with BY MAIL")
	if err != nil {
		return value.Null, err
	}
	about, err := c.o.Job(c.ctx, c.state.Asked)
	if err != nil {
		return value.Null, err
	}
	link, _ := about.Map().Get(FormURL)
	if !link.IsText() || link.Str() == "" {
		return value.Null, value.Errorf("not_available", "this question has no page whose link could be sent")
	}
	id, err := c.mailID()
	if err != nil {
		return value.Null, err
	}
	m := Mail{To: []string{to}, Subject: questionSubject(text), Body: text + "\n\n" + link.Str() + "\n", Question: true}
	c.meter.WorkBytes(len(m.Body))
	c.meter.Alloc(2 * len(m.Body))
	c.noteJobRead(nil)
	Yield(c.ctx)
	return value.Null, c.o.Mails.Send(c.checkpoint(), id, m)
}

// questionText is what a question asks: a message, or the title of a form.
func questionText(v value.Value) (string, error) {
	if v.IsMap() {
		if title, ok := v.Map().Get("title"); ok {
			f, err := form.Parse(v)
			if err != nil {
				return "", err
			}
			v = title
			if f.Title != "" {
				return f.Title, nil
			}
		}
	}
	if v.IsNull() {
		return "A question", nil
	}
	if (v.IsList() || v.IsMap()) && !value.FitsJSON(v, utf8.UTFMax*maxMessage) {
		return "", tooLong()
	}
	text, err := value.ToText(nil, v)
	if err != nil {
		return "", err
	}
	if utf8.RuneCountInString(text.Str()) > maxMessage {
		return "", tooLong()
	}
	return string(text.Raw()), nil
}

// questionSubject is the start of a question on one line.
func questionSubject(text string) string {
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(line); len(runes) > maxQuestionSubject {
		line = string(runes[:maxQuestionSubject]) + "…"
	}
	if line == "" {
		return "A question"
	}
	return line
}
