package wire

import (
	"strconv"
	"time"
)

// Mail is a mail of an account's script.
type Mail struct {
	ID          string
	JobID       string // whose step it is; "" for that of a call
	From        string // "" for the service's sender
	To          []MailRecipient
	Subject     string
	Attachments []string // their names
	Question    bool     // it tells of a question of the script
	Status      string   // "pending", "sent" or "failed"
	Attempts    int
	Size        int64 // about
	CreatedAt   time.Time
	DueAt       time.Time // zero where it is settled
	SettledAt   time.Time // zero while it is not
	Error       string    // why the last attempt came to nothing
}

// MailRecipient is whom a mail goes to, and what became of it there.
type MailRecipient struct {
	Address string
	Status  string
	Error   string
}

// AppendMails appends the answer of GET /v1/mails. Next is where the following page begins, "" at the
// end.
func AppendMails(dst []byte, list []Mail, next string) []byte {
	dst = append(dst, `{"status":"ok","mails":[`...)
	for i := range list {
		dst = appendMail(appendComma(dst), &list[i])
	}
	return appendNext(dst, next)
}

// AppendMail appends the answer of GET /v1/mails/{id}.
func AppendMail(dst []byte, m *Mail) []byte {
	return append(appendMail(append(dst, `{"status":"ok","mail":`...), m), '}')
}

func appendMail(dst []byte, m *Mail) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendText(dst, m.ID)
	dst = appendTextOrNull(dst, "job_id", m.JobID)
	dst = appendTextOrNull(dst, "from", m.From)
	dst = append(appendName(dst, "to"), '[')
	for i := range m.To {
		dst = append(appendComma(dst), `{"address":`...)
		dst = appendText(dst, m.To[i].Address)
		dst = appendTextField(dst, "status", m.To[i].Status)
		dst = append(appendTextOrNull(dst, "error", m.To[i].Error), '}')
	}
	dst = appendTextField(append(dst, ']'), "subject", m.Subject)
	dst = append(appendName(dst, "attachments"), '[')
	for _, name := range m.Attachments {
		dst = appendText(appendComma(dst), name)
	}
	dst = strconv.AppendBool(appendName(append(dst, ']'), "question"), m.Question)
	dst = appendTextField(dst, "status", m.Status)
	dst = strconv.AppendInt(appendName(dst, "attempts"), int64(m.Attempts), 10)
	dst = strconv.AppendInt(appendName(dst, "size"), m.Size, 10)
	dst = appendTime(appendName(dst, "created_at"), m.CreatedAt)
	dst = appendOptionalTime(appendName(dst, "due_at"), m.DueAt)
	dst = appendOptionalTime(appendName(dst, "settled_at"), m.SettledAt)
	return append(appendTextOrNull(dst, "error", m.Error), '}')
}
