package formpage

import (
	"slices"
	"strconv"
	"strings"

	"ql/lang/form"
	"ql/lang/value"
)

// field is a field as the page shows it.
type field struct {
	ID                int
	Name, Label, Help string
	Value             string // what stands in it
	Input             string // the type of its input element, or "area", "choice", "choices", "tick", "yesno"
	Min, Max, Step    string // of an input element, "" for none
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

// fields reads the fields of a form from its schema, in their order.
func fields(schema value.Value) []field {
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
		f := readField(name.Str(), property, required[name.Str()])
		f.ID = len(list)
		list = append(list, f)
	}
	return list
}

func readField(name string, property value.Value, required bool) field {
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
		f.Input, f.Choices = "yesno", []choice{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}
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
			choose(f.Choices, []string{f.Value})
		}
		for _, key := range []string{"format", "pattern"} {
			if input := inputs[text(property, key)]; input != "" {
				f.Input = input
			}
		}
	}
	switch f.Input {
	case "date":
		f.Max = "9999-12-31" // or browsers let a year have more digits
	case "time":
		f.Step = "any" // or they count in whole minutes from the default
	}
	return f
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
	v.Title = "Please correct: " + v.Title
	v.Wrong = "Your answers were not taken yet. Please look at those that are marked."
	v.Note = s.Values.Get("note")
	first := true
	for i := range v.Fields {
		f := &v.Fields[i]
		s.fill(f)
		for _, w := range wrong {
			if w.Field == f.Name {
				f.Wrong, f.Again, f.First = sentence(w.Message), "", first
				first = false
			}
		}
	}
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
