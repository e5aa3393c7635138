package formpage

import (
	"cmp"
	"strings"

	"ql/internal/service"
)

// effect is a line of what may follow an answer: words with names in their middle.
type effect struct {
	Before string
	Names  []string
	After  string
}

// effectWords are the words of one kind of effect: where all names are known, where none is, and where
// there are others beside those that are. {names} stands for them.
type effectWords struct{ known, any, both string }

// follows says what a job may do after its question is answered, a line for each kind.
func (w *words) follows(a *service.Prospect) (lines []effect) {
	add := func(text string, names ...string) {
		before, after, _ := strings.Cut(text, "{names}")
		lines = append(lines, effect{before, names, after})
	}
	for _, d := range a.Databases {
		by := strings.Join(d.By, ", ")
		if d.Any {
			add(strings.ReplaceAll(w.changes.any, "{by}", by))
			continue
		}
		add(strings.ReplaceAll(w.changes.known, "{by}", by), cmp.Or(d.Name, "main"))
	}
	for _, one := range []struct {
		w     effectWords
		known []string
		any   bool
	}{
		{w.writes, a.Writes.Known, a.Writes.Any}, {w.removes, a.Removes.Known, a.Removes.Any},
		{w.calls, a.Hosts.Known, a.Hosts.Any}, {w.commands, a.Machines.Known, a.Machines.Any}, {w.mails, a.Mails.Known, a.Mails.Any},
		{w.scripts, a.Scripts.Known, a.Scripts.Any},
	} {
		switch {
		case len(one.known) > 0 && one.any:
			add(one.w.both, one.known...)
		case len(one.known) > 0:
			add(one.w.known, one.known...)
		case one.any:
			add(one.w.any)
		}
	}
	for _, one := range []struct {
		is   bool
		text string
	}{{a.Shares, w.shares}, {a.Sessions, w.sessions}, {a.Asks, w.asks}, {a.Partial, w.partial}} {
		if one.is {
			add(one.text)
		}
	}
	if lines == nil {
		add(w.changesNothing)
	}
	return lines
}
