// Package form holds the fields of GATHER, CHECK and INPUT: their definition as
// a script gives it, the JSON Schema by which clients show them, and the check of
// what comes back. It neither shows forms nor stores files: an uploaded file is
// handed to its caller's Sink. What a script has checked is charged to its meter.
package form

import (
	"ql/lang/value"
)

// BadForm is the code of a script's error in a form's definition.
const BadForm = "bad_form"

// Kind is what a field asks for.
type Kind string

// The kinds, as the machine names them.
const (
	Text     Kind = "text"
	LongText Kind = "long_text"
	Email    Kind = "email"
	URL      Kind = "url"
	Phone    Kind = "phone"
	Secret   Kind = "secret"
	Number   Kind = "number"
	Integer  Kind = "integer"
	Decimal  Kind = "decimal"
	Boolean  Kind = "boolean"
	Date     Kind = "date"
	Time     Kind = "time"
	File     Kind = "file"
	OneOf    Kind = "choice"
	SomeOf   Kind = "choices"
)

// traits says which attributes have a meaning for a kind, and how large its
// answers may be.
type traits struct {
	word    string // as scripts write it
	bounds  string // what MIN and MAX bound: "length", "value", "count", "size" or "" for nothing
	pattern bool
	def     bool
	most    int // code points of a text, where the form sets no smaller MAX
}

var kinds = map[Kind]traits{
	Text:     {word: "TEXT", bounds: "length", pattern: true, def: true, most: 10_000},
	LongText: {word: "LONG TEXT", bounds: "length", pattern: true, def: true, most: 100_000},
	Email:    {word: "EMAIL", bounds: "length", pattern: true, def: true, most: 254},
	URL:      {word: "URL", bounds: "length", pattern: true, def: true, most: 2048},
	Phone:    {word: "PHONE", bounds: "length", pattern: true, def: true, most: 40},
	Secret:   {word: "SECRET", bounds: "length", pattern: true, most: 10_000},
	Number:   {word: "NUMBER", bounds: "value", def: true},
	Integer:  {word: "INTEGER", bounds: "value", def: true},
	Decimal:  {word: "DECIMAL", bounds: "value", def: true},
	Boolean:  {word: "BOOLEAN", def: true},
	Date:     {word: "DATE", bounds: "value", def: true},
	Time:     {word: "TIME", bounds: "value", def: true},
	File:     {word: "FILE", bounds: "size"},
	OneOf:    {word: "CHOICE", def: true},
	SomeOf:   {word: "CHOICES", bounds: "count", def: true},
}

// Bounds of a form as a whole.
const (
	maxFields  = 100
	maxChoices = 1000
	maxName    = 100     // code points of a field's name
	maxWords   = 10_000  // code points of a title, label, help or choice
	largeFile  = 1 << 40 // bytes of a file that MAX may say; accounts have limits of their own
)

// FileBytes is how large an uploaded file may be, unless MAX says more.
const FileBytes = 8 << 20

// Form is a form, checked.
type Form struct {
	Title  string
	Fields []*Field
}

// Field is one question of a form.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Label    string
	Help     string
	Default  value.Value // null where there is none, else as an answer would be
	Choices  []Choice

	min, max value.Value // null where there is none; a number, or the text of a date or time
	pattern  *pattern
}

// Choice is one of the answers that CHOICE and CHOICES take.
type Choice struct {
	Value string
	Label string // "" where the value itself is shown
}

// Caption returns what people see in front of a field.
func (f *Field) Caption() string {
	if f.Label != "" {
		return f.Label
	}
	return f.Name
}

// Field returns the field of that name, or nil.
func (f *Form) Field(name string) *Field {
	for _, field := range f.Fields {
		if field.Name == name {
			return field
		}
	}
	return nil
}
