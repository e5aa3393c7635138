package form

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"
)

// Parse makes a Form of the machine's form argument: a map {title, fields:
// [{name, kind, required, min, max, default, label, help, pattern, choices}]}.
// What is wrong with it is a *value.Error with the code bad_form.
func Parse(v value.Value) (*Form, error) { return ParseUnder(v, Env{}) }

// ParseUnder is Parse that charges env.
func ParseUnder(v value.Value, env Env) (*Form, error) {
	f, _, err := ParseLocated(v, env)
	return f, err
}

// ParseLocated is ParseUnder, and says which field an error is about: its number, -1 for
// none of them.
func ParseLocated(v value.Value, env Env) (f *Form, field int, err error) {
	p := parser{env: env, tally: &tally{Env: env}, at: -1}
	f = p.form(v)
	if p.err != nil {
		return nil, p.at, p.err
	}
	return f, -1, nil
}

// parser keeps the first error.
type parser struct {
	env    Env
	tally  *tally
	err    *value.Error
	instrs int // of all patterns
	at     int // the field being read, -1 before the first
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = value.Errorf(BadForm, format, args...)
	}
}

func (p *parser) form(v value.Value) *Form {
	if !v.IsMap() {
		p.fail("a form is a map, not %s", value.Describe(v))
		return nil
	}
	f := &Form{Title: p.words(get(v, "title"), "the form's title")}
	fields := get(v, "fields")
	if !fields.IsList() || fields.List().Len() == 0 {
		p.fail("a form needs at least one field")
		return nil
	}
	l := fields.List()
	if l.Len() > maxFields {
		p.fail("a form has at most %d fields, not %d", maxFields, l.Len())
		return nil
	}
	for i := range l.Len() {
		p.at = i
		p.tally.work(parseWork + i/2)
		field := p.field(l.At(i))
		if p.err != nil {
			return nil
		}
		if f.Field(field.Name) != nil {
			p.fail("the form has two fields named %s", value.Quote(field.Name))
			return nil
		}
		f.Fields = append(f.Fields, field)
	}
	return f
}

// get returns the value of a key of the map v, null where it is missing.
func get(v value.Value, key string) value.Value {
	e, _ := v.Map().Get(key)
	return e
}

func (p *parser) field(v value.Value) *Field {
	if !v.IsMap() {
		p.fail("a field is a map, not %s", value.Describe(v))
		return nil
	}
	name := get(v, "name")
	if !name.IsText() || !goodName(name.Str()) {
		p.fail("a field's name is a text of 1 to %d visible characters, not %s", maxName, value.Describe(name))
		return nil
	}
	f := &Field{Name: strings.Clone(name.Str()), Required: get(v, "required").Truthy()}
	kind := get(v, "kind")
	if kind.IsText() {
		f.Kind = Kind(kind.Str())
	}
	t, ok := kinds[f.Kind]
	if !ok {
		p.fail("%s: %s is no kind of field", f, value.Describe(kind))
		return nil
	}
	f.Kind = Kind(strings.Clone(string(f.Kind)))
	f.Label = p.words(get(v, "label"), fmt.Sprintf("%s: LABEL", f))
	f.Help = p.words(get(v, "help"), fmt.Sprintf("%s: HELP", f))
	if f.Kind == OneOf || f.Kind == SomeOf {
		f.Choices = p.choices(f, get(v, "choices"))
	}
	f.min = p.bound(f, "MIN", get(v, "min"))
	f.max = p.bound(f, "MAX", get(v, "max"))
	if p.err == nil && !f.min.IsNull() && !f.max.IsNull() && value.Order(nil, f.min, f.max) > 0 {
		p.fail("%s: MIN %s is greater than MAX %s", f, show(f.min), show(f.max))
	}
	if p.err == nil && f.Kind == File && f.least() > f.most() {
		p.fail("%s: MIN %d is more than FILE takes without MAX, which is %d at most", f, f.least(), f.most())
	}
	if text := get(v, "pattern"); !text.IsNull() {
		switch {
		case !t.pattern:
			p.fail("%s: PATTERN has no meaning for %s", f, t.word)
		case !text.IsText():
			p.fail("%s: PATTERN takes a text, not %s", f, value.Describe(text))
		default:
			f.pattern = p.compile(f, text.Str())
		}
	}
	if def := get(v, "default"); !def.IsNull() && p.err == nil {
		f.Default = p.preset(f, t, def)
	}
	return f
}

// String names the field in an error.
func (f *Field) String() string { return "the field " + value.Quote(f.Name) }

func goodName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxName && strings.TrimSpace(s) == s && strings.IndexFunc(s, invisible) < 0
}

func invisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// words takes a text that people shall read; numbers are written out.
func (p *parser) words(v value.Value, what string) string {
	if v.IsContainer() || v.Kind() == value.KindBytes {
		p.fail("%s must be a text, not %s", what, value.Describe(v))
		return ""
	}
	if v.IsText() {
		p.tally.read(v.Str())
		p.tally.Meter.Alloc(len(v.Str()))
	}
	s := string(value.AppendText(nil, v))
	if utf8.RuneCountInString(s) > maxWords {
		p.fail("%s has more than %d characters", what, maxWords)
	}
	return s
}

func (p *parser) choices(f *Field, v value.Value) []Choice {
	word := kinds[f.Kind].word
	var list []Choice
	switch v.Kind() {
	case value.KindList:
		l := v.List()
		for i := range min(l.Len(), maxChoices+1) {
			e := l.At(i)
			if !e.IsText() {
				p.fail("%s: the choices must be texts, not %s", f, value.Describe(e))
				return nil
			}
			list = append(list, Choice{Value: p.words(e, fmt.Sprintf("%s: a choice", f))})
		}
	case value.KindMap:
		for k, label := range v.Map().All {
			list = append(list, Choice{Value: p.words(k, fmt.Sprintf("%s: a choice", f)), Label: p.words(label, fmt.Sprintf("%s: the label of %s", f, value.Quote(k.Str())))})
			if len(list) > maxChoices {
				break
			}
		}
	default:
		p.fail("%s: %s takes a list of texts, or a map of values and their labels, not %s", f, word, value.Describe(v))
		return nil
	}
	switch {
	case len(list) == 0:
		p.fail("%s: %s has nothing to choose from: its list is empty", f, word)
	case len(list) > maxChoices:
		p.fail("%s: %s takes at most %d choices", f, word, maxChoices)
	}
	p.tally.work(choiceWork * len(list))
	p.tally.Meter.Alloc(choiceSize * len(list))
	seen := make(map[string]bool, len(list))
	for _, c := range list {
		switch {
		case c.Value == "":
			p.fail(`%s: "" cannot be a choice: an empty answer is no answer`, f)
		case seen[c.Value]:
			p.fail("%s: the choice %s stands there twice", f, value.Quote(c.Value))
		}
		seen[c.Value] = true
	}
	return list
}

// bound takes the value of MIN or MAX.
func (p *parser) bound(f *Field, word string, v value.Value) value.Value {
	if v.IsNull() || p.err != nil {
		return value.Null
	}
	t := kinds[f.Kind]
	switch t.bounds {
	case "":
		p.fail("%s: %s has no meaning for %s", f, word, t.word)
	case "value":
		bare := &Field{Name: f.Name, Kind: f.Kind}
		answer, why := bare.check(v, p.tally)
		if why != "" {
			p.fail("%s: %s %s", f, word, why)
		}
		return answer
	default:
		if !v.IsInt() || v.Int64() < 0 {
			p.fail("%s: %s bounds the %s and takes a whole number from 0 on, not %s", f, word, t.bounds, value.Describe(v))
			return value.Null
		}
		if most := mostBound(f); v.Int64() > most && (word == "MIN" || t.bounds != "count") {
			p.fail("%s: %s %d is more than %s takes, which is %d at most", f, word, v.Int64(), t.word, most)
		}
	}
	return v
}

// mostBound is the most that MIN and MAX may say of a size, a length or a number of choices.
func mostBound(f *Field) int64 {
	if f.Kind == File {
		return largeFile
	}
	return int64(f.most())
}

// preset takes the value of DEFAULT, which must be a good answer.
func (p *parser) preset(f *Field, t traits, v value.Value) value.Value {
	if !t.def {
		p.fail("%s: DEFAULT has no meaning for %s", f, t.word)
		return value.Null
	}
	answer, why := f.check(v, p.tally)
	if why != "" {
		p.fail("%s: DEFAULT %s, and %s does not fit", f, why, value.Describe(v))
	}
	return answer
}

// show writes a bound in an error.
func show(v value.Value) string { return string(value.AppendText(nil, v)) }
