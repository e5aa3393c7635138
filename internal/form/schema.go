package form

import (
	"slices"

	"ql/lang/value"
)

// Schema returns the form as a flat JSON Schema object, in the subset that MCP
// elicitation uses: clients can show it without knowing anything of scripts.
// What it cannot say (bounds of dates and times) Validate still checks.
func (f *Form) Schema() value.Value {
	properties := value.NewMap(nil, len(f.Fields))
	var required []value.Value
	for _, field := range f.Fields {
		properties.SetText(field.Name, field.schema())
		// A default answers for the person who leaves the field out.
		if field.Required && field.Default.IsNull() {
			required = append(required, value.Text(field.Name))
		}
	}
	s := value.NewMap(nil, 4)
	s.SetText("type", value.Text("object"))
	if f.Title != "" {
		s.SetText("title", value.Text(f.Title))
	}
	s.SetText("properties", properties.Value())
	if len(required) > 0 {
		s.SetText("required", value.ListOf(required...))
	}
	return s.Value()
}

// formats are the schema's formats of kinds that are texts.
var formats = map[Kind]string{
	Email:  "email",
	URL:    "uri",
	Date:   "date",
	Time:   "time",
	Secret: "password",
	File:   "binary",
}

func (f *Field) schema() value.Value {
	s := value.NewMap(nil, 8)
	s.SetText("type", value.Text(f.schemaType()))
	if f.Label != "" {
		s.SetText("title", value.Text(f.Label))
	}
	if f.Help != "" {
		s.SetText("description", value.Text(f.Help))
	}
	if format := formats[f.Kind]; format != "" {
		s.SetText("format", value.Text(format))
	}
	switch t := kinds[f.Kind]; {
	case t.bounds == "length":
		f.bounds(s, "minLength", "maxLength")
	case t.bounds == "count":
		f.bounds(s, "minItems", "maxItems")
		if f.Required && f.min.IsNull() {
			s.SetText("minItems", value.Int(1))
		}
	case f.Kind == Number || f.Kind == Integer:
		f.bounds(s, "minimum", "maximum")
	}
	if f.pattern != nil {
		s.SetText("pattern", value.Text("^(?:"+f.pattern.text+")$"))
	}
	switch f.Kind {
	case OneOf:
		f.enumerate(s, "oneOf")
	case SomeOf:
		items := value.NewMap(nil, 2)
		if !f.labelled() {
			items.SetText("type", value.Text("string"))
		}
		f.enumerate(items, "anyOf")
		s.SetText("items", items.Value())
	}
	if !f.Default.IsNull() {
		s.SetText("default", f.Default.Share())
	}
	return s.Value()
}

func (f *Field) schemaType() string {
	switch f.Kind {
	case Number, Integer, Boolean:
		return string(f.Kind)
	case SomeOf:
		return "array"
	}
	return "string"
}

func (f *Field) bounds(s *value.Map, low, high string) {
	if !f.min.IsNull() {
		s.SetText(low, f.min)
	}
	if !f.max.IsNull() {
		s.SetText(high, f.max)
	}
}

// enumerate adds the choices: as an enum, or where they have labels as a list
// of constants with titles under the keyword.
func (f *Field) enumerate(s *value.Map, keyword string) {
	labelled := f.labelled()
	list := make([]value.Value, len(f.Choices))
	for i, c := range f.Choices {
		list[i] = value.Text(c.Value)
		if labelled {
			m := value.NewMap(nil, 2)
			m.SetText("const", list[i])
			m.SetText("title", value.Text(c.Caption()))
			list[i] = m.Value()
		}
	}
	if !labelled {
		keyword = "enum"
	}
	s.SetText(keyword, value.ListOf(list...))
}

func (f *Field) labelled() bool {
	return slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Label != "" })
}

// Caption returns what people see of a choice.
func (c Choice) Caption() string {
	if c.Label != "" {
		return c.Label
	}
	return c.Value
}
