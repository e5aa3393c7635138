package wire

import (
	"strconv"
	"time"
)

// QuestionEntry is a question in an account's list of them.
type QuestionEntry struct {
	ID            string // of the prompt
	State         string
	Kind          string // "confirm" or "gather", "" for an answer of an earlier version
	To            string // whom it is for, "" where the script does not say
	Title         string // the start of its words
	Schema        Raw    // of an open gather
	SchemaOmitted bool   // it is too large for a list
	JobID         string
	Ref           int64  // the number of the job, for its owner alone
	Program       string // the published program, "" for a script that was sent
	AskedAt       time.Time
	ExpiresAt     time.Time // zero for never
	EndedAt       time.Time // zero while it is open
	ConfirmURL    string    // where it is answered, while it is open
	FormURL       string    // the page of it, likewise

	// Of one that was answered:
	Decision, Note, By, Receipt string
}

// AppendQuestions appends the answer of GET /v1/questions. Next is where the following page begins,
// "" at the end.
func AppendQuestions(dst []byte, list []QuestionEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","questions":[`...)
	for i := range list {
		dst = list[i].append(appendComma(dst))
	}
	return appendNext(dst, next)
}

func (q *QuestionEntry) append(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendText(dst, q.ID)
	dst = appendTextField(dst, "state", q.State)
	dst = appendTextOrNull(dst, "kind", q.Kind)
	dst = appendTextOrNull(dst, "to", q.To)
	dst = appendTextField(dst, "title", q.Title)
	dst = appendTextField(dst, "job_id", q.JobID)
	dst = appendName(dst, "ref")
	dst = strconv.AppendInt(dst, q.Ref, 10)
	dst = appendTextOrNull(dst, "program", q.Program)
	dst = appendOptionalTime(appendName(dst, "asked_at"), q.AskedAt)
	dst = appendOptionalTime(appendName(dst, "expires_at"), q.ExpiresAt)
	dst = appendOptionalTime(appendName(dst, "ended_at"), q.EndedAt)
	if q.Schema != nil {
		dst = append(appendName(dst, "schema"), q.Schema...)
	}
	if q.SchemaOmitted {
		dst = append(dst, `,"schema_omitted":true`...)
	}
	dst = appendOptional(dst, "confirm_url", q.ConfirmURL)
	dst = appendOptional(dst, "form_url", q.FormURL)
	if q.Receipt != "" {
		dst = appendTextOrNull(dst, "decision", q.Decision)
		dst = appendTextOrNull(dst, "note", q.Note)
		dst = appendTextField(dst, "by", q.By)
		dst = appendTextField(dst, "receipt", q.Receipt)
	}
	return append(dst, '}')
}
