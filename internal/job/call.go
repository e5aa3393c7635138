package job

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Call is what a job was called with, as its history shows it.
type Call struct {
	// Name is what listings call the job: that of the published script, else the first
	// comment line of its text; "" for none.
	Name   string
	Source *Source // nil where there is none
	// Request is what the caller sent beside the script, without credentials, sealed; nil
	// where that was nothing.
	Request []byte
	// Origin is the Ref of the job that this one repeats, 0 for none.
	Origin int64
	// Schedule is what started the job, "" for a caller.
	Schedule string
}

// Bytes is how much room a call counts in the record of its job. The text of the script is
// counted once for an account, however many jobs have it: see Source.Bytes.
func (c *Call) Bytes() int64 { return int64(len(c.Request)) }

// Held is about how much memory a call holds.
func (c *Call) Held() int64 {
	n := int64(len(c.Name) + len(c.Request))
	if c.Source != nil {
		n += c.Source.Bytes()
	}
	return n
}

// Source is the text of a script with all that it includes. An account has each once.
type Source struct {
	// Hash tells it from others: that of the program, and for a text that does not compile
	// that of the text.
	Hash  [32]byte
	Text  string
	Files []SourceFile // that it includes, in the order in which they were read
}

// SourceFile is a file that a script includes.
type SourceFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Bytes is how much room a source counts in a store.
func (s *Source) Bytes() int64 {
	n := int64(len(s.Text))
	for i := range s.Files {
		n += int64(len(s.Files[i].Path) + len(s.Files[i].Text))
	}
	return n
}

// MaxName is how many characters the name of a job has at most.
const MaxName = 100

// NameOf returns what a job is called whose script has a text: its first comment line where
// that comes before any statement, "" for none.
func NameOf(text string) string {
	const looked = 4 << 10 // what comes later is no heading
	text = text[:min(len(text), looked)]
	inside := false // a comment of several lines
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		switch {
		case inside:
		case strings.HasPrefix(line, "--"):
			line = line[2:]
		case strings.HasPrefix(line, "/*"):
			inside, line = true, line[2:]
		case line != "":
			return ""
		}
		if inside {
			var rest string
			var ended bool
			if line, rest, ended = strings.Cut(line, "*/"); ended {
				inside = false
				text = rest + "\n" + text
			}
		}
		if name := plainName(strings.Trim(line, "-=*#! \t")); name != "" {
			return name
		}
	}
	return ""
}

// plainName returns a name without what does not show, and no longer than MaxName.
func plainName(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, s)
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n++; n > MaxName {
			return strings.TrimSpace(s[:i])
		}
	}
	return s
}

// History is what a job is replayed from. All of it is sealed.
type History struct {
	Spec []byte // what it was run with; nil where that is stored already
	Part []byte // the last part, or the only one
}

// Bytes is how much room it counts in a store.
func (h *History) Bytes() int64 { return int64(len(h.Spec) + len(h.Part)) }

// HistoryPart is a part of the history of a job that goes on.
type HistoryPart struct {
	Step    int64 // of its first entry; a job's history has no two of the same
	Entries []byte
}

// Cost is what a job has used; its output is its result's length.
type Cost struct {
	Fuel    int64
	Memory  int64 // bytes, as they were counted at its end: what was live then, or more
	Fetches int64 // calls to other servers
}

// Listed is a job in a listing.
type Listed struct {
	Summary
	// Ref is the job's number, by which its owner names it: an id opens the job to
	// whoever knows it, and does not belong into addresses of pages.
	Ref       int64
	Name      string        // see Call
	ErrorCode string        // of its error, "" where it has none
	Ran       time.Duration // all attempts together
	Origin    int64         // see Call
	Schedule  string        // see Call
}
