package engine

import (
	"time"

	"ql/lang/value"
)

// The decisions of answers.
const (
	DecisionApproved = "approved" // of a CONFIRM
	DecisionDeclined = "declined" // likewise
	DecisionAnswered = "answered" // of a GATHER
)

// Answered is what a script reads of the last answer that it got, as !JOB('answer'). It is recorded
// with the answer, so that a replayed run reads the same.
type Answered struct {
	Decision string    `json:"decision"`
	Audience string    `json:"audience,omitempty"` // whom the question was for
	By       string    `json:"by"`
	Note     string    `json:"note,omitempty"`
	Receipt  string    `json:"receipt,omitempty"` // the number that whoever answered was given
	At       time.Time `json:"at"`
}

// SetAnswerer says who gives the next answer, when, and what they say beside it. What was decided,
// and whom the question was for, the run knows by itself.
func (r *Run) SetAnswerer(a Answered) { r.answerer = a }

// value is the entry of !JOB: null before any answer.
func (a *Answered) value() value.Value {
	if a == nil {
		return value.Null
	}
	m := value.NewMap(nil, 6)
	m.SetText("decision", value.Text(a.Decision))
	m.SetText("note", optional(a.Note))
	m.SetText("by", value.Text(a.By))
	m.SetText("at", value.Text(a.At.UTC().Format(time.RFC3339)))
	m.SetText("receipt", optional(a.Receipt))
	m.SetText("audience", optional(a.Audience))
	return m.Value()
}

// optional is null for an empty text.
func optional(text string) value.Value {
	if text == "" {
		return value.Null
	}
	return value.Text(text)
}
