package lib

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ql/lang/value"
)

// timeFormat is a form of time: codes such as YYYY with text between them or,
// where it has "2006" in it, the reference moment as Go writes it.
type timeFormat struct {
	text       string
	isGoLayout bool // by the reference moment
	parts      []formatPart
}

// formatPart is a code, or text that stands for itself.
type formatPart struct {
	code string
	text string
}

// timeCodes are the codes, by their letter: how many of it there may be.
var timeCodes = map[byte][]int{
	'Y': {4, 2}, 'M': {4, 3, 2, 1}, 'D': {2, 1}, 'd': {4, 3}, 'H': {2, 1}, 'h': {2, 1}, 'm': {2, 1}, 's': {2, 1}, 'S': {3}, 'A': {1}, 'a': {1}, 'Z': {1},
}

const longestFormat = 200

// format reads the form of a time.
func (in *input) format(i int) timeFormat {
	s := in.text(i, "the format")
	if in.err != nil {
		return timeFormat{}
	}
	if len(s) > longestFormat {
		in.fail(value.BadArgument, "takes a format of at most %d bytes for argument %d, not of %d", longestFormat, i+1, len(s))
		return timeFormat{}
	}
	in.Meter.Work(12 * len(s))
	f := timeFormat{text: s}
	if strings.Contains(s, "2006") {
		f.isGoLayout = true
		return f
	}
	if unknown := f.compile(); unknown != "" {
		in.fail(value.BadArgument, "does not know %s in the format %s: it knows YYYY YY MMMM MMM MM M DD D dddd ddd HH H hh h mm m ss s SSS A a Z, and text in [ ]", value.Quote(unknown), value.Quote(s))
	}
	return f
}

// compile finds the parts of the format; it returns the letters that are no
// code.
func (f *timeFormat) compile() (unknown string) {
	for s := f.text; s != ""; {
		n := 1
		switch b := s[0]; {
		case b == '[':
			if end := strings.IndexByte(s, ']'); end > 0 {
				f.add("", s[1:end])
				s = s[end+1:]
				continue
			}
			f.add("", "[")
		case b == 'T': // as between date and time
			f.add("", "T")
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z':
			for n < len(s) && s[n] == b {
				n++
			}
			if !slices.Contains(timeCodes[b], n) {
				return s[:n]
			}
			f.add(s[:n], "")
		default:
			_, n = utf8.DecodeRuneInString(s)
			f.add("", s[:n])
		}
		s = s[n:]
	}
	return ""
}

// hasYear reports whether the form tells the year.
func (f *timeFormat) hasYear() bool {
	for _, p := range f.parts {
		if p.code == "YYYY" || p.code == "YY" {
			return true
		}
	}
	return f.isGoLayout
}

func (f *timeFormat) add(code, text string) {
	f.parts = append(f.parts, formatPart{code, text})
}

// append appends t in this form.
func (f *timeFormat) append(dst []byte, t time.Time) []byte {
	if f.isGoLayout {
		return t.AppendFormat(dst, f.text)
	}
	for _, p := range f.parts {
		if p.code == "" {
			dst = append(dst, p.text...)
			continue
		}
		dst = appendCode(dst, p.code, t)
	}
	return dst
}

func appendCode(dst []byte, code string, t time.Time) []byte {
	switch code {
	case "YYYY":
		return appendDigits(dst, t.Year(), 4)
	case "YY":
		return appendDigits(dst, t.Year()%100, 2)
	case "MMMM":
		return append(dst, t.Month().String()...)
	case "MMM":
		return append(dst, t.Month().String()[:3]...)
	case "dddd":
		return append(dst, t.Weekday().String()...)
	case "ddd":
		return append(dst, t.Weekday().String()[:3]...)
	case "A":
		return t.AppendFormat(dst, "PM")
	case "a":
		return t.AppendFormat(dst, "pm")
	case "Z":
		return t.AppendFormat(dst, "Z07:00")
	case "SSS":
		return appendDigits(dst, t.Nanosecond()/int(time.Millisecond), 3)
	}
	return appendDigits(dst, number(code[0], t), len(code))
}

// number returns the number of a one- or two-letter code.
func number(letter byte, t time.Time) int {
	switch letter {
	case 'M':
		return int(t.Month())
	case 'D':
		return t.Day()
	case 'H':
		return t.Hour()
	case 'h':
		return (t.Hour()+11)%12 + 1
	case 'm':
		return t.Minute()
	}
	return t.Second()
}

// appendDigits appends n with zeros before it up to width.
func appendDigits(dst []byte, n, width int) []byte {
	s := strconv.Itoa(n)
	for range width - len(s) {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}

// parse reads s in this form; where it names no zone it is in loc.
func (f *timeFormat) parse(s string, loc *time.Location) (time.Time, bool) {
	if len(s) > longestFormat {
		return time.Time{}, false
	}
	if f.isGoLayout {
		t, err := time.ParseInLocation(f.text, s, loc)
		return t, err == nil
	}
	p := timeParser{s: s, loc: loc, month: 1, day: 1}
	for _, part := range f.parts {
		if part.code == "" {
			rest, ok := strings.CutPrefix(p.s, part.text)
			if !ok {
				return time.Time{}, false
			}
			p.s = rest
			continue
		}
		if !p.code(part.code) {
			return time.Time{}, false
		}
	}
	if p.s != "" {
		return time.Time{}, false
	}
	return p.time()
}

// timeParser takes the parts of a time from the front of s. Its methods report
// whether what they look for was there.
type timeParser struct {
	s                    string
	year, month, day     int
	hour, minute, second int
	nanos                int
	afternoon, half      bool // PM; any of AM and PM
	loc                  *time.Location
}

// time puts the parts together, if they are a moment there was.
func (p *timeParser) time() (time.Time, bool) {
	hour := p.hour
	if p.half {
		if hour < 1 || hour > 12 {
			return time.Time{}, false
		}
		hour %= 12
		if p.afternoon {
			hour += 12
		}
	}
	ok := p.year >= 1 && p.month >= 1 && p.month <= 12 && p.day >= 1 && hour < 24 && p.minute < 60 && p.second < 60
	if !ok || p.day > daysIn(time.Date(p.year, time.Month(p.month), 1, 0, 0, 0, 0, time.UTC)) {
		return time.Time{}, false
	}
	return localTime(time.Date(p.year, time.Month(p.month), p.day, hour, p.minute, p.second, p.nanos, time.UTC), p.loc), true
}

// digits takes a number of low to high digits.
func (p *timeParser) digits(to *int, low, high int) bool {
	n := min(digits(p.s), high)
	if n < low {
		return false
	}
	*to, _ = strconv.Atoi(p.s[:n])
	p.s = p.s[n:]
	return true
}

// byte takes b.
func (p *timeParser) byte(b byte) bool {
	if p.s == "" || p.s[0] != b {
		return false
	}
	p.s = p.s[1:]
	return true
}

// date takes YYYY-MM-DD.
func (p *timeParser) date() bool {
	q := *p
	ok := q.digits(&q.year, 4, 4) && q.byte('-') && q.digits(&q.month, 2, 2) && q.byte('-') && q.digits(&q.day, 2, 2)
	if ok {
		*p = q
	}
	return ok
}

// clock takes HH:mm, HH:mm:ss or HH:mm:ss.fff.
func (p *timeParser) clock() bool {
	if !p.digits(&p.hour, 2, 2) || !p.byte(':') || !p.digits(&p.minute, 2, 2) {
		return false
	}
	if !p.byte(':') {
		return true
	}
	if !p.digits(&p.second, 2, 2) {
		return false
	}
	if !p.byte('.') && !p.byte(',') {
		return true
	}
	n := digits(p.s)
	if n == 0 {
		return false
	}
	const most = 9
	p.nanos, _ = strconv.Atoi((p.s[:min(n, most)] + "000000000")[:most])
	p.s = p.s[n:]
	return true
}

// offset takes Z, ±HH, ±HHmm or ±HH:mm.
func (p *timeParser) offset() bool {
	if p.byte('Z') || p.byte('z') {
		p.loc = time.UTC
		return true
	}
	if p.s == "" || p.s[0] != '+' && p.s[0] != '-' {
		return false
	}
	sign := 1
	if p.s[0] == '-' {
		sign = -1
	}
	p.s = p.s[1:]
	hours, minutes := 0, 0
	if !p.digits(&hours, 2, 2) {
		return false
	}
	if p.byte(':') && digits(p.s) < 2 {
		return false
	}
	p.digits(&minutes, 2, 2)
	if hours > 23 || minutes > 59 {
		return false
	}
	p.loc = time.FixedZone("", sign*(hours*3600+minutes*60))
	return true
}

// code takes what a code stands for.
func (p *timeParser) code(code string) bool {
	switch code {
	case "YYYY":
		return p.digits(&p.year, 4, 4)
	case "YY":
		ok := p.digits(&p.year, 2, 2)
		// As in most of the world's software: 69 is 1969, 68 is 2068.
		if p.year += 1900; p.year < 1969 {
			p.year += 100
		}
		return ok
	case "MMMM", "MMM":
		return p.name(&p.month, len(code) == 4, func(i int) string { return time.Month(i).String() }, 1, 12)
	case "dddd", "ddd":
		var day int
		return p.name(&day, len(code) == 4, func(i int) string { return time.Weekday(i).String() }, 0, 6)
	case "A", "a":
		return p.halfDay()
	case "Z":
		return p.offset()
	case "SSS":
		ok := p.digits(&p.nanos, 3, 3)
		p.nanos *= int(time.Millisecond)
		return ok
	}
	return p.digits(p.field(code[0]), len(code), 2)
}

func (p *timeParser) field(letter byte) *int {
	switch letter {
	case 'M':
		return &p.month
	case 'D':
		return &p.day
	case 'H', 'h':
		return &p.hour
	case 'm':
		return &p.minute
	}
	return &p.second
}

// name takes one of the names of low to high, or its first three letters, in
// any case.
func (p *timeParser) name(to *int, long bool, name func(int) string, low, high int) bool {
	for i := low; i <= high; i++ {
		n := name(i)
		if !long {
			n = n[:3]
		}
		if len(p.s) >= len(n) && strings.EqualFold(p.s[:len(n)], n) {
			*to, p.s = i, p.s[len(n):]
			return true
		}
	}
	return false
}

func (p *timeParser) halfDay() bool {
	for _, half := range []string{"AM", "PM"} {
		if len(p.s) >= 2 && strings.EqualFold(p.s[:2], half) {
			p.half, p.afternoon, p.s = true, half == "PM", p.s[2:]
			return true
		}
	}
	return false
}
