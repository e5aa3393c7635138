package form

import "ql/lang/value"

// Env is on whose account a form is read and checked. The zero Env charges
// nobody and compiles patterns by itself.
type Env struct {
	// Meter is charged for all that is done and made; nil charges nothing.
	Meter *value.Meter
	// Compile returns a compiled pattern. Whoever gives it charges for compiling
	// and for matching.
	Compile func(pattern string) (Matcher, *value.Error)
}

// Matcher is a compiled pattern.
type Matcher interface {
	Instructions() int
	Match(text string) bool
}

// What is charged, in fuel, whatever the lengths of texts are.
const (
	parseWork  = 120 // for a field of a definition
	fieldWork  = 60  // for a field of a reply
	choiceWork = 15  // for a choice
	choiceSize = 128 // bytes that a choice of a definition takes
)

// tally counts what one check costs.
type tally struct {
	Env
	unknown  string                              // what is said of an entry that is no field
	yield    func() error                        // called before each field, or nil
	attached func(field string) (Attached, bool) // files beside the answers, or nil
	patterns int                                 // instructions × bytes of the patterns matched so far
}

func (t *tally) work(n int) { t.Meter.Work(n) }

// read charges for looking at a text several times.
func (t *tally) read(s string) { t.Meter.Work(len(s) / 4) }

// text returns a text of our own as a value.
func (t *tally) text(s string) value.Value {
	if t.Meter == nil || s == "" {
		return value.Text(s)
	}
	b := value.NewBuilder(t.Meter, value.KindText, len(s))
	b.Add(s)
	return b.Value()
}

// keep returns v, which is one of the reply's, as a part of the answers. Where
// nothing is counted they are a copy, which holds on to nothing of the reply.
func (t *tally) keep(v value.Value) value.Value {
	if t.Meter == nil {
		return value.Text(v.Str())
	}
	return v.Share()
}

// part returns s, which is v or a part of it.
func (t *tally) part(v value.Value, s string) value.Value {
	if len(s) == len(v.Str()) {
		return t.keep(v)
	}
	return t.text(s)
}
