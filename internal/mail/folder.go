package mail

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// Folder puts mails into a folder in place of sending them, as a developer wants to see them.
type Folder struct {
	Path string
	// OnWritten is called with each file that was written; nil for nobody.
	OnWritten func(m *Message, file string)
}

// LongestAttempt implements Transport.
func (Folder) LongestAttempt() time.Duration { return time.Minute }

// Send implements Transport.
func (f Folder) Send(_ context.Context, m *Message, recipients []int) Result {
	file, err := f.write(m)
	if err != nil {
		return Result{Unreached: true, Failure: "the mail could not be written into the data folder"}
	}
	if f.OnWritten != nil {
		f.OnWritten(m, file)
	}
	r := Result{Outcomes: make([]Outcome, len(recipients))}
	for i := range r.Outcomes {
		r.Outcomes[i].State = Sent
	}
	return r
}

func (f Folder) write(m *Message) (name string, err error) {
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return "", err
	}
	name = filepath.Join(f.Path, m.Date.UTC().Format("20060102-150405")+"-"+m.ID+".eml")
	temporary, err := os.CreateTemp(f.Path, ".eml-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = m.WriteTo(temporary)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	return name, os.Rename(temporary.Name(), name)
}
