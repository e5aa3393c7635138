package engine

import (
	"context"
	"fmt"
	"testing"
)

// logShares writes down what it is asked for.
type logShares struct {
	log  []string
	made int
}

func (l *logShares) Link() string {
	l.made++
	return fmt.Sprintf("https://files.example.com/files/%d", l.made)
}

func (l *logShares) Share(_ context.Context, link string, s Share) error {
	line := link + " " + s.Path
	if s.Times != nil {
		line += fmt.Sprintf(" %d times", *s.Times)
	}
	if s.Unlimited {
		line += " unlimited"
	}
	if s.For != nil {
		line += fmt.Sprintf(" for %s", *s.For)
	}
	if s.Name != nil {
		line += " named " + *s.Name
	}
	l.log = append(l.log, line)
	return nil
}

func (l *logShares) Unshare(_ context.Context, link string) error {
	l.log = append(l.log, "not "+link)
	return nil
}

func TestShares(t *testing.T) {
	const at = "https://files.example.com/files/"
	for _, tt := range []struct{ script, want, log string }{
		{`SHARE "/a" SET ?u EMIT ?u`, at + "1", at + "1 /a"},
		{`SHARE "/a" TIMES 2 + 3 FOR 7 DAYS NAMED "b" SET ?u`, "", at + "1 /a 5 times for 168h0m0s named b"},
		{`SHARE "/a" UNLIMITED SET ?u SHARE "/b" SET ?v UNSHARE ?u EMIT ?v`, at + "2", at + "1 /a unlimited; " + at + "2 /b; not " + at + "1"},
		{`SHARE 5 SET ?u`, `|wrong_kind: the path that SHARE takes is a text, not the number 5`, ""},
		{`SHARE "/a" TIMES 1.5 SET ?u`, `|wrong_kind: TIMES takes a whole number, not the number 1.5`, ""},
		{`SHARE "/a" TIMES "x" SET ?u`, `|wrong_kind: TIMES takes a whole number, not the text "x"`, ""},
		{`SHARE "/a" NAMED 5 SET ?u`, `|wrong_kind: the name that NAMED takes is a text, not the number 5`, ""},
		{`UNSHARE NULL`, `|wrong_kind: the link that UNSHARE takes is a text, not null`, ""},
	} {
		w, shares := newWorld(t), &logShares{}
		w.o.Shares = shares
		if got := w.result(w.start(tt.script)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.script, got, tt.want)
		}
		log := ""
		for i, line := range shares.log {
			if i > 0 {
				log += "; "
			}
			log += line
		}
		if log != tt.log {
			t.Errorf("%s\n did %s\nwant %s", tt.script, log, tt.log)
		}
	}
}
