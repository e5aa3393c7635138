package form

import (
	"slices"

	"ql/lang/value"
)

// Schema returns the form as a flat JSON Schema object, in the subset that MCP
// elicitation uses: clients can show it without knowing anything of scripts.
// What it cannot say (bounds of dates, times and decimals) Validate still checks.
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

// SchemaText returns the schema of a form, by its definition, as JSON; "" for null, which
// is no form. Patterns are shown as they are: whoever accepted the definition has read
// them.
func SchemaText(definition value.Value) (string, error) {
	if definition.IsNull() {
		return "", nil
	}
	f, err := ParseUnder(definition, Env{Compile: func(string) (Matcher, *value.Error) { return unread{}, nil }})
	if err != nil {
		return "", err
	}
	s := f.Schema()
	// Only here: elicitation has no word for it.
	s.Map().SetText("additionalProperties", value.False)
	return string(value.AppendJSON(nil, s)), nil
}

// unread is a pattern that is only shown.
type unread struct{}

func (unread) Instructions() int { return 0 }
func (unread) Match(string) bool { return true }

// formats are the schema's formats of kinds that are texts.
var formats = map[Kind]string{
	Email:  "email",
	URL:    "uri",
	Date:   "date",
	Secret: "password",
	File:   "binary",
}

// What PHONE, TIME and DECIMAL take, in what RE2 and every dialect of JavaScript share.
const (
	PhonePattern = `^\+?([ .\/\(\)\-]*[0-9]){4,15}[ .\/\(\)\-]*$`
	TimePattern  = `^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$`
	// DecimalPattern does not say how many digits there may be in all.
	DecimalPattern = `^[+\-]?[0-9]+(\.[0-9]+)?$`
)

// patterns are the schema's patterns of kinds that have no format, or one that
// lets more through than the kind takes: the format "time" wants an offset from
// UTC, "email" knows hosts without a dot and quoted names, "uri" every scheme.
var patterns = map[Kind]string{
	Email: `^[^\s@"]{1,64}@([^\s@.\[\]]{1,63}\.)+[^\s@.\[\]]{1,63}$`,
	URL:   `^https?:\/\/([^\s\/?#@]*@)?(\[[0-9A-Fa-f:.]+\]|[^\s\/?#@:\[\]]+)(:[0-9]*)?([\/?#]|$)`,
	Phone: PhonePattern,
	Time:  TimePattern,

	Decimal: DecimalPattern,
}

// SeveralLines is the media type by which the schema tells LONG TEXT, whose
// answers have lines, from TEXT.
const SeveralLines = "text/plain"

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
	if f.Kind == LongText {
		s.SetText("contentMediaType", value.Text(SeveralLines))
	}
	switch t := kinds[f.Kind]; {
	case t.bounds == "length":
		least := f.least()
		if f.Required {
			least = max(least, 1)
		}
		if least > 0 {
			s.SetText("minLength", value.Int(int64(least)))
		}
		s.SetText("maxLength", value.Int(int64(f.most())))
	case t.bounds == "size" && !f.max.IsNull():
		s.SetText("maxLength", value.Int(int64(f.most()))) // in bytes
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
	} else if pattern := patterns[f.Kind]; pattern != "" {
		s.SetText("pattern", value.Text(pattern))
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
