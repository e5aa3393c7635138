package form

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"
)

// check takes one answer, which is not empty, and returns it in its own kind.
// why says in plain words what would fit, where it does not.
func (f *Field) check(v value.Value, t *tally) (answer value.Value, why string) {
	switch f.Kind {
	case Number, Integer:
		return f.number(v)
	case Decimal:
		return f.decimal(v, t)
	case Boolean:
		return boolean(v)
	case OneOf:
		return f.choice(v, t)
	case SomeOf:
		return f.choices(v, t)
	}
	if !v.IsText() {
		return value.Null, "must be a text"
	}
	s := v.Str()
	if f.Kind == LongText && strings.Contains(s, "\r") {
		s = lineEnds.Replace(s)
		v = t.text(s)
	}
	if f.Kind != Text && f.Kind != LongText && f.Kind != Secret {
		s = strings.TrimSpace(s)
	}
	if why := f.length(s); why != "" {
		return value.Null, why
	}
	switch f.Kind {
	case Text, Secret:
		why = plain(s, "\t")
	case LongText:
		why = plain(s, "\t\n")
	case Email:
		why = email(s)
	case URL:
		why = address(s)
	case Phone:
		why = phone(s)
	case Date:
		s, why = date(s)
	case Time:
		s, why = clock(s)
	}
	if why == "" && (f.Kind == Date || f.Kind == Time) {
		why = f.inRange(value.Text(s), "must be a "+string(f.Kind))
	}
	if why == "" && f.pattern != nil {
		switch matched, ok := f.pattern.matches(s, t); {
		case !ok:
			why = "is too long for its pattern"
		case !matched:
			why = "does not have the form that is asked for"
		}
	}
	if why != "" {
		return value.Null, why
	}
	return t.part(v, s), ""
}

// lineEnds makes the ends of lines what they are in scripts, whatever browsers send: as the value is
// that a page's own script reads of a textarea.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// most returns how large an answer may be: code points of a text, members of
// a list, bytes of a file.
func (f *Field) most() int {
	switch t := kinds[f.Kind]; {
	case f.max.IsInt() && f.Kind == File:
		return int(min(f.max.Int64(), math.MaxInt))
	case f.max.IsInt() && t.bounds != "value":
		return int(min(f.max.Int64(), math.MaxInt32))
	case f.Kind == SomeOf:
		return len(f.Choices)
	case f.Kind == File:
		return FileBytes
	default:
		return t.most
	}
}

func (f *Field) least() int {
	if f.min.IsInt() && f.Kind == File {
		return int(min(f.min.Int64(), math.MaxInt))
	}
	if f.min.IsInt() && kinds[f.Kind].bounds != "value" {
		return int(min(f.min.Int64(), math.MaxInt32))
	}
	return 0
}

// length checks how long a text is, for the kinds that bound it.
func (f *Field) length(s string) string {
	if kinds[f.Kind].bounds != "length" {
		return ""
	}
	least, most := f.least(), f.most()
	if n := utf8.RuneCountInString(s); n < least || n > most {
		if f.max.IsNull() && n < least {
			return fmt.Sprintf("must have at least %s", plural(least, "character"))
		}
		return fmt.Sprintf("must have %s", span(least, most, "character"))
	}
	return ""
}

// span says "3 to 5 characters", "at most 5 characters", "exactly 3
// characters".
func span(least, most int, unit string) string {
	switch {
	case least == most:
		return "exactly " + plural(least, unit)
	case least == 0:
		return "at most " + plural(most, unit)
	}
	return fmt.Sprintf("%d to %s", least, plural(most, unit))
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// inRange checks an ordered answer against MIN and MAX; must starts the
// sentence that says what would fit.
func (f *Field) inRange(v value.Value, must string) string {
	low := !f.min.IsNull() && value.Order(nil, v, f.min) < 0
	high := !f.max.IsNull() && value.Order(nil, v, f.max) > 0
	if low || high {
		return f.expect(must)
	}
	return ""
}

// expect completes "must be a whole number" by the range that holds.
func (f *Field) expect(must string) string {
	switch {
	case !f.min.IsNull() && !f.max.IsNull():
		return must + " from " + show(f.min) + " to " + show(f.max)
	case !f.min.IsNull():
		return must + " from " + show(f.min) + " on"
	case !f.max.IsNull():
		return must + " up to " + show(f.max)
	}
	return must
}

// decimal takes an amount: a text keeps the digits that it is written with.
func (f *Field) decimal(v value.Value, t *tally) (value.Value, string) {
	const must = "must be a decimal number"
	var d value.Value
	var err *value.Error
	switch {
	case v.IsText():
		d, err = value.ParseDecimal(t.Meter, strings.TrimSpace(v.Str()))
	case v.IsNumeric():
		d, err = value.ToDecimal(t.Meter, v)
	default:
		return value.Null, f.expect(must)
	}
	switch {
	case err != nil && err.Code == value.NumberRange:
		return value.Null, fmt.Sprintf("must have at most %d digits", value.MaxDigits)
	case err != nil:
		return value.Null, f.expect(must)
	}
	if why := f.inRange(d, must); why != "" {
		return value.Null, why
	}
	return d, ""
}

// longestNumber is how many bytes numeral takes at most.
const longestNumber = 810

// numeral is how people and JSON write a number.
var numeral = regexp.MustCompile(`\A[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?\z`)

func (f *Field) number(v value.Value) (value.Value, string) {
	must := "must be a number"
	if f.Kind == Integer {
		must = "must be a whole number"
	}
	n := v
	if v.IsText() {
		n = parseNumber(v.Str())
	}
	if !n.IsNumber() || f.Kind == Integer && !n.IsInt() {
		return value.Null, f.expect(must)
	}
	if why := f.inRange(n, must); why != "" {
		return value.Null, why
	}
	return n, ""
}

// parseNumber returns null for what is no number.
func parseNumber(s string) value.Value {
	s = strings.TrimSpace(s)
	if len(s) > longestNumber || !numeral.MatchString(s) {
		return value.Null
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return value.Int(i)
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return value.Null
	}
	n, _ := value.Number(x)
	return n
}

func boolean(v value.Value) (value.Value, string) {
	if v.IsBool() {
		return v, ""
	}
	if v.IsText() {
		switch strings.ToLower(strings.TrimSpace(v.Str())) {
		case "true", "on", "yes", "1":
			return value.True, ""
		case "false", "off", "no", "0":
			return value.False, ""
		}
	}
	return value.Null, "must be yes or no (true or false)"
}

// plain refuses control characters other than those of but, which no form field
// can hold.
func plain(s, but string) string {
	for _, r := range s {
		switch {
		case !unicode.IsControl(r) || strings.ContainsRune(but, r):
		case r == '\n' || r == '\r':
			return "must be a single line"
		default:
			return "must not have control characters in it"
		}
	}
	return ""
}

// email accepts what mail servers do in practice, in any script.
func email(s string) string {
	const why = "must be an e-mail address such as ada@example.com"
	local, host, ok := strings.Cut(s, "@")
	if !ok || local == "" || len(local) > 64 || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return why
	}
	for _, r := range local {
		if r <= unicode.MaxASCII && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", r)) {
			return why
		}
		if r > unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			return why
		}
	}
	if !hostname(host) {
		return why
	}
	return ""
}

// hostname reports whether s is a domain name of at least two labels.
func hostname(s string) bool {
	labels := strings.Split(s, ".")
	if len(labels) < 2 || len(s) > 253 {
		return false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for _, r := range l {
			if r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
				return false
			}
		}
	}
	return true
}

func address(s string) string {
	const why = "must be an address such as https://example.com/page"
	if strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || invisible(r) }) >= 0 {
		return why
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return why
	}
	return ""
}

// phoneDigits are the digits of the shortest and the longest phone number.
const (
	minPhoneDigits = 4
	maxPhoneDigits = 15
)

func phone(s string) string {
	const why = "must be a phone number such as +1 202 555 0143"
	digits := 0
	for i, r := range s {
		switch {
		case '0' <= r && r <= '9':
			digits++
		case r == '+' && i == 0, strings.ContainsRune(" -./()", r):
		default:
			return why
		}
	}
	if digits < minPhoneDigits || digits > maxPhoneDigits {
		return why
	}
	return ""
}

func date(s string) (string, string) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return "", "must be a date such as 2026-12-31"
	}
	return s, ""
}

// clock takes HH:MM and HH:MM:SS and keeps the form that was given.
func clock(s string) (string, string) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if len(s) != len(layout) {
			continue
		}
		if _, err := time.Parse(layout, s); err == nil {
			return s, ""
		}
	}
	return "", "must be a time such as 09:30"
}

func (f *Field) choice(v value.Value, t *tally) (value.Value, string) {
	if v.IsText() {
		for i, c := range f.Choices {
			if c.Value == v.Str() {
				t.work(i / 2)
				return t.keep(v), ""
			}
		}
		t.work(len(f.Choices) / 2)
	}
	return value.Null, "must be " + f.among("or")
}

func (f *Field) choices(v value.Value, t *tally) (value.Value, string) {
	// A form sends a single mark as one text.
	if v.IsText() {
		v = value.ListOf(v)
	}
	if !v.IsList() {
		return value.Null, "must be a list of " + f.among("and")
	}
	l := v.List()
	chosen := make(map[string]bool)
	answer := value.NewList(t.Meter, 0)
	for i := range l.Len() {
		t.work(choiceWork)
		c, why := f.choice(l.At(i), t)
		if why != "" {
			return value.Null, "must be a list of " + f.among("and")
		}
		if !chosen[c.Str()] {
			chosen[c.Str()] = true
			answer.Append(t.Meter, c)
		}
	}
	if n := answer.Len(); n < f.least() || n > f.most() {
		if f.max.IsNull() {
			return value.Null, "must be at least " + plural(f.least(), "choice")
		}
		return value.Null, "must be " + span(f.least(), f.most(), "choice")
	}
	return answer.Value(), ""
}

// among names the choices, or the first of many.
func (f *Field) among(last string) string {
	const most = 10
	var b strings.Builder
	for i, c := range f.Choices {
		switch {
		case i == most:
			fmt.Fprintf(&b, ", … (%d in all)", len(f.Choices))
			return b.String()
		case i > 0 && i == len(f.Choices)-1:
			b.WriteString(" " + last + " ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(value.Quote(c.Value))
	}
	return b.String()
}
