package formpage

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ql/internal/fault"
	"ql/lang/form"
	"ql/lang/value"
)

// field is a field as the page shows it.
type field struct {
	ID                int
	Name, Label, Help string
	Value             string // what stands in it
	Input             string // the type of its input element, or "area", "choice", "choices", "radios", "tick"
	Min, Max, Step    string // of an input element, "" for none
	Mode, Complete    string // the keyboard that fits, and what browsers may fill in, "" for theirs
	Counted           int    // characters that fit, where the page says so
	Bytes             int    // of a file that fits, 0 where the page does not say so
	Required          bool
	Wrong             string // what is wrong with what was sent
	Again             string // what a page shown again cannot hold
	First             bool   // the first one that is wrong
	Choices           []choice

	length int // characters that fit
}

// Described lists the elements of the page that say more about a field.
func (f field) Described() string {
	var ids []string
	if f.Wrong != "" || f.Again != "" {
		ids = append(ids, "w"+strconv.Itoa(f.ID))
	}
	if f.Help != "" {
		ids = append(ids, "h"+strconv.Itoa(f.ID))
	}
	if f.Counted > 0 || f.Bytes > 0 {
		ids = append(ids, "c"+strconv.Itoa(f.ID))
	}
	return strings.Join(ids, " ")
}

type choice struct {
	Value, Label string
	Chosen       bool
}

// inputs are the types of input elements for the formats of a schema, and for
// the patterns of kinds without one.
var inputs = map[string]string{
	"email": "email", "uri": "url", "date": "date", "password": "password", "binary": "file",
	form.TimePattern: "time", form.PhonePattern: "tel",
}

// completions are what browsers may fill in, by the types of input elements and by the names that
// fields usually have.
var completions = map[string]string{
	"email": "email", "url": "url", "tel": "tel", "password": "new-password",
	"name": "name", "full_name": "name", "first_name": "given-name", "last_name": "family-name", "company": "organization",
	"street": "street-address", "address": "street-address", "city": "address-level2", "zip": "postal-code", "postcode": "postal-code",
	"postal_code": "postal-code", "country": "country-name",
}

// mostRadios is how many choices are shown at once; more are a list to open.
const mostRadios = 6

// Texts of the language's own bounds may be as long as anybody likes, which is not worth saying.
const (
	longLine = 10_000
	longArea = 100_000
)

// onlyDigits matches the patterns of answers that are digits alone.
var onlyDigits = regexp.MustCompile(`\A\^\(\?:(?:(?:\[0-9\]|\\d)(?:[+*?]|\{[0-9,]+\})?)+\)\$\z`)

// fields reads the fields of a form from its schema, in their order.
func fields(schema value.Value, w *words) []field {
	var list []field
	required := map[string]bool{}
	if names := get(schema, "required"); names.IsList() {
		for i := range names.List().Len() {
			required[names.List().At(i).Str()] = true
		}
	}
	properties := get(schema, "properties")
	if !properties.IsMap() {
		return nil
	}
	for name, property := range properties.Map().All {
		f := readField(name.Str(), property, required[name.Str()], w)
		f.ID = len(list)
		list = append(list, f)
	}
	return list
}

func readField(name string, property value.Value, required bool, w *words) field {
	f := field{Name: name, Label: text(property, "title"), Help: text(property, "description"), Required: required, Input: "text"}
	if f.Label == "" {
		f.Label = name
	}
	preset := get(property, "default")
	f.Value = written(preset)
	if most := get(property, "maxLength"); most.IsNumber() {
		f.length = int(most.Int64())
	}
	switch kind := text(property, "type"); {
	case kind == "boolean" && required:
		f.Input, f.Choices = "radios", []choice{{Value: "true", Label: w.yes}, {Value: "false", Label: w.no}}
	case kind == "boolean":
		f.Input, f.Choices = "tick", []choice{{Value: "true", Label: f.Label, Chosen: preset.IsTrue()}}
	case kind == "number", kind == "integer":
		f.Input, f.Step = "number", "any"
		if kind == "integer" {
			f.Step = "1"
		}
		f.Min, f.Max = written(get(property, "minimum")), written(get(property, "maximum"))
	case kind == "array":
		f.Input, f.Choices = "choices", choices(get(property, "items"))
		if preset.IsList() {
			choose(f.Choices, texts(preset.List()))
		}
	case text(property, "contentMediaType") == form.SeveralLines:
		f.Input = "area"
	default:
		if list := choices(property); list != nil {
			f.Input, f.Choices = "choice", list
			if len(list) <= mostRadios {
				f.Input = "radios"
				if !required { // who has chosen can take it back
					f.Choices = append([]choice{{Label: w.NoAnswer}}, list...)
				}
			}
			choose(f.Choices, []string{f.Value})
		}
		for _, key := range []string{"format", "pattern"} {
			if input := inputs[text(property, key)]; input != "" {
				f.Input = input
			}
		}
	}
	f.assist(text(property, "pattern"))
	return f
}

// assist says what makes a field easier to fill in.
func (f *field) assist(pattern string) {
	switch f.Input {
	case "date":
		f.Max = "9999-12-31" // or browsers let a year have more digits
	case "time":
		f.Step = "any" // or they count in whole minutes from the default
	case "number":
		// A keyboard of digits has no sign.
		if least, err := strconv.ParseFloat(f.Min, 64); err == nil && least >= 0 {
			f.Mode = "decimal"
			if f.Step == "1" {
				f.Mode = "numeric"
			}
		}
	case "text":
		f.Complete = completions[strings.ToLower(f.Name)]
		switch {
		case onlyDigits.MatchString(pattern):
			f.Mode = "numeric"
		case pattern == form.DecimalPattern:
			f.Mode = "decimal"
		}
		if f.length < longLine {
			f.Counted = f.length
		}
	case "area":
		if f.length < longArea {
			f.Counted = f.length
		}
	case "file":
		f.Bytes = f.length
	default:
		f.Complete = completions[f.Input]
	}
}

// choose marks what is chosen.
func choose(list []choice, values []string) {
	for i := range list {
		list[i].Chosen = slices.Contains(values, list[i].Value)
	}
}

// choices reads what may be chosen: values alone, or with their labels.
func choices(property value.Value) []choice {
	var list []choice
	for _, key := range []string{"enum", "oneOf", "anyOf"} {
		all := get(property, key)
		if !all.IsList() {
			continue
		}
		for i := range all.List().Len() {
			c := all.List().At(i)
			one := choice{Value: written(c)}
			if c.IsMap() {
				one = choice{Value: text(c, "const"), Label: text(c, "title")}
			}
			if one.Label == "" {
				one.Label = one.Value
			}
			list = append(list, one)
		}
	}
	return list
}

// withErrors shows a form again with what was filled in and what is wrong with it.
func withErrors(v view, s submission, wrong form.FieldErrors) view {
	v.Title = v.W.correct + v.Title
	v.Wrong = v.W.notYet
	v.Note = s.Values.Get("note")
	first := true
	for i := range v.Fields {
		f := &v.Fields[i]
		s.fill(f, v.W)
		for _, w := range wrong {
			if w.Field == f.Name {
				f.Wrong, f.Again, f.First = v.W.wrong(w.Message), "", first
				first = false
			}
		}
	}
	return v
}

// withFault shows a form again whose answers fit, and were not taken for another reason.
func withFault(v view, f *fault.Error) view {
	if text, known := v.W.faults[f.Code]; known {
		v.Wrong, v.Detail = v.W.refused+text, f.Message
		return v
	}
	v.Wrong = v.W.refused + f.Message + "."
	return v
}

func get(v value.Value, key string) value.Value {
	if !v.IsMap() {
		return value.Null
	}
	found, _ := v.Map().Get(key)
	return found
}

func text(v value.Value, key string) string {
	if t := get(v, key); t.IsText() {
		return t.Str()
	}
	return ""
}

func texts(l *value.List) []string {
	var all []string
	for i := range l.Len() {
		all = append(all, written(l.At(i)))
	}
	return all
}

// written is a value as a field holds it, "" for null.
func written(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	return string(value.AppendText(nil, v))
}
