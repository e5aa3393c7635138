// Package lib is the language's library of functions: pure Go functions over
// values, each with the line of documentation and the example that the
// reference shows. What a function allocates or reads is charged to the meter
// of its call. Functions that take a lambda are compiled to loops by package
// compile; functions whose result is not computed (NOW, RANDOM, …) are
// answered by the host. Both are listed here, without a Go function.
//
// # Null
//
// A function that is given null for something it needs gives null; an optional
// argument that is null counts as left out; a list that is null counts as the
// empty list; COUNT and LENGTH of null are 0. Where null is a value like any
// other (TYPE, TO_JSON, the value of INDEX_OF) it is taken as one.
//
// # Errors and limits
//
// The code of an error tells what is wrong:
// wrong_kind for an argument of another kind, bad_argument for one that does
// not fit, and codes of their own for numbers, times, patterns, JSON and CSV.
// Fuel is charged for all work before or while it is done, in parts where it
// is much; memory before it is allocated.
package lib

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// Call is the context of one call of a built-in.
type Call struct {
	Meter    *value.Meter
	Patterns *Patterns
	// paid are the patterns that the run has paid to compile since it last asked
	// its host for something.
	paid map[payment]bool
	// recent are some of those, used last: a loop finds its patterns here.
	recent     [4]recent
	nextRecent int
	// price is what a byte of the text costs that is searched now; places is room for where a match stands.
	price  int
	places [16]int
	// built is room for a short text that is being replaced in.
	built [256]byte
}

type recent struct {
	payment
	p *pattern
}

// payment is for a pattern, to find its first match or all of them.
type payment struct {
	pattern string
	all     bool
}

// maxPaid is how many patterns a run need not pay for again.
const maxPaid = 64

// pays reports whether the run has yet to pay for that, and notes that it does. It
// depends on what the run did, and on nothing else in its process: a replay uses the
// same fuel.
func (c *Call) pays(p payment) bool {
	if c.paid[p] {
		return false
	}
	if c.paid == nil {
		c.paid = make(map[payment]bool)
	} else if len(c.paid) == maxPaid {
		c.ResetPaid()
	}
	c.paid[p] = true
	return true
}

// ResetPaid has the run pay for all again, as one does that goes on elsewhere from
// here.
func (c *Call) ResetPaid() {
	clear(c.paid)
	c.recent = [len(c.recent)]recent{}
}

// usedRecently returns a pattern that has been paid for, nil where it is not at hand.
func (c *Call) usedRecently(p payment) *pattern {
	for i := range c.recent {
		if r := &c.recent[i]; r.payment == p && r.p != nil {
			return r.p
		}
	}
	return nil
}

// remember has a pattern that has been paid for at hand, unless it is large: the run holds it as long as it goes on.
func (c *Call) remember(p *pattern, all bool) {
	if p.weight > ordinaryWeight {
		return
	}
	c.recent[c.nextRecent] = recent{payment{p.text, all}, p}
	c.nextRecent = (c.nextRecent + 1) % len(c.recent)
}

// Func computes a built-in. Its arguments are borrowed: whatever container of
// theirs ends up in the result must be Shared. Errors are *value.Error; limits
// are raised by the meter.
type Func func(c *Call, args []value.Value) (value.Value, error)

// Loop says how a built-in uses its lambda. The loop itself is compiled; with
// LoopKeys it computes the list of keys, and Fn then takes (list, keys) and what
// else the call has.
type Loop uint8

// The loops.
const (
	NoLoop Loop = iota
	LoopMap
	LoopFilter
	LoopReduce
	LoopKeys
	LoopAny
	LoopAll
	LoopFirst
	LoopLast
	LoopEntries // as LoopKeys, over the entries of a map
)

// Builtin describes one function of the library.
type Builtin struct {
	Name     string
	Min, Max int  // arguments; Max -1: any number
	Fn       Func // nil where the host answers or the loop is all
	Host     bool // the host answers
	Loop     Loop
	// Plain says that its second argument may be a value in place of a lambda: then it is
	// no loop.
	Plain bool
	// Signature, Summary, Example and Result make the line of the reference:
	// EMIT of Example prints Result.
	Signature string
	Summary   string
	Example   string
	Result    string
	Group     string // Text, Patterns, Numbers, Lists, Maps, Kinds, Formats, Hashing, Time
}

// Lookup returns the number of the built-in of that name, in any case. Names
// are ASCII: dotless ı is no I.
func Lookup(name string) (int, bool) {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return 0, false
		}
	}
	i, ok := byName[strings.ToUpper(name)]
	return i, ok
}

// At returns the built-in of that number.
func At(i int) *Builtin { return &all[i] }

// Len returns how many there are. Numbers are not stable between releases:
// compiled programs name built-ins by name.
func Len() int { return len(all) }

// Reference returns all functions, group by group, in the order in which the
// reference shows them.
func Reference() []Builtin { return slices.Clone(all) }

// all holds the groups one after the other.
var all = slices.Concat(
	group("Text", textFunctions),
	group("Patterns", patternFunctions),
	group("Numbers", numberFunctions),
	group("Lists", listFunctions),
	group("Maps", mapFunctions),
	group("Kinds", kindFunctions),
	group("Formats", slices.Concat(formatFunctions, xmlFunctions, yamlFunctions, archiveFunctions)),
	group("Hashing", hashFunctions),
	group("Time", timeFunctions),
)

// group returns the functions as those of the group of that name.
func group(name string, functions []Builtin) []Builtin {
	fs := slices.Clone(functions)
	for i := range fs {
		fs[i].Group = name
	}
	return fs
}

var byName = func() map[string]int {
	m := make(map[string]int, len(all))
	for i := range all {
		m[all[i].Name] = i
	}
	return m
}()
