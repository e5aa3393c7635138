package site

import (
	"strings"

	"ql/internal/server/exchange"
	"ql/internal/service"
	"ql/internal/wire"
)

// mistake is what a developer is told of a page that failed.
type mistake struct {
	Excerpt string      // the lines that are wrong, as ql check shows them
	Steps   []wire.Step // the last ones
	Request []wire.Pair
}

// What of a run and of a request is shown at most.
const (
	mostSteps   = 100
	mostEntries = 100
	mostText    = 500
)

// mistake returns the notice of a page that failed, for who wrote it.
func (v *visit) mistake(e *wire.Error, page, reference string) notice {
	n := notice{Title: "This page has failed", Words: e.Code + ": " + e.Message, Reference: reference, Mistake: &mistake{}}
	if page != "" {
		n.Mistake.Excerpt = v.site.Explain(v.r.Context(), page, e)
	}
	return n
}

// addRun adds what was run, and for which request.
func (m *mistake) addRun(q *exchange.Request, a *service.Answer) {
	if a.Job.Output != nil {
		steps, _ := wire.ReadTrace(a.Job.Output.Trace) // that we wrote
		m.Steps = steps[max(0, len(steps)-mostSteps):]
	}
	m.add("", q.Entries)
	m.addFields("GET ", q.Get)
	m.addFields("POST ", q.Post)
}

func (m *mistake) addFields(kind string, fields []wire.Field) {
	for i := range fields {
		m.add(kind, []wire.Pair{{Name: fields[i].Name, Value: fields[i].Value}})
	}
}

func (m *mistake) add(kind string, entries []wire.Pair) {
	for _, e := range entries {
		if len(m.Request) == mostEntries {
			return
		}
		if len(e.Value) > mostText {
			e.Value = strings.ToValidUTF8(e.Value[:mostText], "") + "\u2026"
		}
		m.Request = append(m.Request, wire.Pair{Name: kind + e.Name, Value: e.Value})
	}
}
