package lib

import (
	"math"
	"strings"
	"time"

	"ql/lang/value"
)

var timeFunctions = []Builtin{
	{Name: "NOW", Min: 0, Max: 0, Host: true,
		Signature: "NOW()", Summary: "This moment, as text such as 2026-06-01T08:30:00Z.",
		Example: `NOW()`},
	{Name: "PARSE_TIME", Min: 1, Max: 4, Fn: withFallback(3, needs(1, parseTime)),
		Signature: "PARSE_TIME(text[, format[, zone[, otherwise]]])", Summary: "The moment that a text tells, as all functions of time write it, in UTC. Reads 2026-06-01, 2026-06-01 08:30 with or without seconds and zone, mail dates, and Unix seconds; or what the format says. Where the text names no zone, it is the given one or UTC. With a fourth argument: that, for null and for whatever is no moment.",
		Example: `PARSE_TIME("1.6.2026 10:30", "D.M.YYYY HH:mm", "Europe/Berlin")`, Result: "2026-06-01T08:30:00Z"},
	{Name: "FORMAT_TIME", Min: 2, Max: 3, Fn: needs(2, formatTime),
		Signature: "FORMAT_TIME(time, format[, zone])", Summary: "The moment for readers. YYYY YY year, MMMM MMM MM M month, DD D day, dddd ddd weekday, HH H hour, hh h with A or a for AM and PM, mm m minute, ss s second, SSS milliseconds, Z zone; text in [ ]. Or the way in which 2 January 2006 15:04:05 is to look.",
		Example: `FORMAT_TIME("2026-06-01T08:30:00Z", "dddd, D MMMM YYYY, HH:mm", "+02:00")`, Result: "Monday, 1 June 2026, 10:30"},
	{Name: "ADD_TIME", Min: 3, Max: 4, Fn: needs(3, addTime),
		Signature: "ADD_TIME(time, number, unit[, zone])", Summary: "The moment so many seconds, minutes, hours, days, weeks, months or years later, or earlier if negative. The last day of a month stays in the month. With a zone, days and longer units keep the time on its clocks, also where those are changed.",
		Example: `ADD_TIME("2026-10-24T07:00:00Z", 1, "day", "Europe/Berlin")`, Result: "2026-10-25T08:00:00Z"},
	{Name: "DIFFERENCE", Min: 2, Max: 4, Fn: needs(2, difference),
		Signature: "DIFFERENCE(time, earlier[, unit[, zone]])", Summary: "How many seconds, or what the unit says, lie between the two; negative where the first is earlier. Months and years are whole ones. With a zone, days and longer units are those of its calendar, of 23 or 25 hours where its clocks are changed.",
		Example: `DIFFERENCE("2026-06-03", "2026-06-01T12:00:00Z", "days")`, Result: "1.5"},
	{Name: "START_OF", Min: 2, Max: 3, Fn: needs(2, startOf),
		Signature: "START_OF(time, unit[, zone])", Summary: "The first moment of the minute, hour, day, week (Monday), month or year, in UTC or the given zone.",
		Example: `START_OF("2026-06-17T15:00:00Z", "month")`, Result: "2026-06-01T00:00:00Z"},
	{Name: "YEAR", Min: 1, Max: 2, Fn: timePart("YEAR", time.Time.Year),
		Signature: "YEAR(time[, zone])", Summary: "The year of a moment, in UTC or the given zone.",
		Example: `YEAR("2026-06-17")`, Result: "2026"},
	{Name: "MONTH", Min: 1, Max: 2, Fn: timePart("MONTH", func(t time.Time) int { return int(t.Month()) }),
		Signature: "MONTH(time[, zone])", Summary: "The month of a moment, 1 to 12.",
		Example: `MONTH("2026-06-17")`, Result: "6"},
	{Name: "DAY", Min: 1, Max: 2, Fn: timePart("DAY", time.Time.Day),
		Signature: "DAY(time[, zone])", Summary: "The day of the month of a moment, 1 to 31.",
		Example: `DAY("2026-06-17")`, Result: "17"},
	{Name: "WEEKDAY", Min: 1, Max: 2, Fn: timePart("WEEKDAY", weekday),
		Signature: "WEEKDAY(time[, zone])", Summary: "The day of the week of a moment, from 1 for Monday to 7 for Sunday.",
		Example: `WEEKDAY("2026-06-17")`, Result: "3"},
	{Name: "HOUR", Min: 1, Max: 2, Fn: timePart("HOUR", time.Time.Hour),
		Signature: "HOUR(time[, zone])", Summary: "The hour of a moment, 0 to 23.",
		Example: `HOUR("2026-06-17T15:04:05Z")`, Result: "15"},
	{Name: "MINUTE", Min: 1, Max: 2, Fn: timePart("MINUTE", time.Time.Minute),
		Signature: "MINUTE(time[, zone])", Summary: "The minute of a moment, 0 to 59.",
		Example: `MINUTE("2026-06-17T15:04:05Z")`, Result: "4"},
	{Name: "SECOND", Min: 1, Max: 2, Fn: timePart("SECOND", time.Time.Second),
		Signature: "SECOND(time[, zone])", Summary: "The second of a moment, 0 to 59.",
		Example: `SECOND("2026-06-17T15:04:05Z")`, Result: "5"},
	{Name: "TO_UNIX", Min: 1, Max: 1, Fn: needs(1, toUnix),
		Signature: "TO_UNIX(time)", Summary: "The moment as seconds since the start of 1970.",
		Example: `TO_UNIX("2026-06-01T08:30:00Z")`, Result: "1780302600"},
	{Name: "FROM_UNIX", Min: 1, Max: 1, Fn: needs(1, fromUnix),
		Signature: "FROM_UNIX(seconds)", Summary: "The moment so many seconds after the start of 1970.",
		Example: `FROM_UNIX(1780302600)`, Result: "2026-06-01T08:30:00Z"},
}

// What a function of time costs whatever its arguments are: they are short.
const timeWork = 80

// moment reads a time.
func (in *input) moment(i int, what string) time.Time {
	if in.err != nil {
		return time.Time{}
	}
	v := in.args[i]
	if !v.IsText() {
		hint := ""
		if v.IsNumber() {
			hint = "; FROM_UNIX(…) makes a time of seconds"
		}
		in.wrongKind(i, what, "a time such as 2026-06-01T08:30:00Z", hint)
		return time.Time{}
	}
	t, ok := parseMoment(v.Str(), time.UTC)
	if !ok {
		in.badTime(v.Str())
	}
	return t.UTC()
}

func (in *input) badTime(s string) {
	in.fail(value.BadTime, "cannot read %s as a time; times look like 2026-06-01T08:30:00Z, 2026-06-01 08:30 or 2026-06-01", value.Quote(s))
}

// time returns a moment as text: RFC 3339 in UTC, to the second or, where it
// has a part of one, to the millisecond.
func (in *input) time(t time.Time) (value.Value, error) {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		in.fail(value.BadTime, "gives a time outside of the years 1 to 9999")
		return value.Null, in.err
	}
	layout := "2006-01-02T15:04:05Z"
	if t.Nanosecond()/int(time.Millisecond) != 0 {
		layout = "2006-01-02T15:04:05.000Z"
	}
	var buf [32]byte
	return in.Call.text(string(t.AppendFormat(buf[:0], layout))), nil
}

// http1123 is the date of HTTP headers. Other names of zones than GMT have no
// one meaning.
const http1123 = "Mon, 02 Jan 2006 15:04:05 GMT"

// parseMoment reads a date with or without a time of day and a zone; without
// one it is in loc.
func parseMoment(s string, loc *time.Location) (time.Time, bool) {
	const longest = 64
	if len(s) > longest {
		return time.Time{}, false
	}
	p := timeParser{s: strings.TrimSpace(s), loc: loc}
	if !p.date() {
		for _, layout := range []string{time.RFC1123Z, http1123} {
			if t, err := time.ParseInLocation(layout, p.s, time.UTC); err == nil {
				return t, true
			}
		}
		return time.Time{}, false
	}
	if p.s != "" {
		if p.s[0] != 'T' && p.s[0] != 't' && p.s[0] != ' ' {
			return time.Time{}, false
		}
		p.s = p.s[1:]
		if !p.clock() {
			return time.Time{}, false
		}
		p.s = strings.TrimPrefix(p.s, " ")
		if p.s != "" && !p.offset() {
			return time.Time{}, false
		}
	}
	if p.s != "" {
		return time.Time{}, false
	}
	return p.time()
}

func parseTime(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	if args[0].IsNumber() && len(args) == 1 {
		return unixTime(c, "PARSE_TIME", args)
	}
	in := read(c, "PARSE_TIME", args)
	s, loc := in.text(0, "the text"), in.zone(2)
	if in.err != nil {
		return value.Null, in.err
	}
	if !in.given(1) {
		t, ok := parseMoment(s, loc)
		if !ok {
			in.badTime(s)
			return value.Null, in.err
		}
		return in.time(t)
	}
	format := in.format(1)
	if in.err == nil && !format.hasYear() {
		in.fail(value.BadArgument, "needs a format with the year, YYYY or YY, not %s", value.Quote(format.text))
	}
	if in.err != nil {
		return value.Null, in.err
	}
	t, ok := format.parse(s, loc)
	if !ok {
		in.fail(value.BadTime, "cannot read %s as a time of the form %s", value.Quote(s), value.Quote(format.text))
		return value.Null, in.err
	}
	return in.time(t)
}

func formatTime(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	in := read(c, "FORMAT_TIME", args)
	t, format, loc := in.moment(0, "the time"), in.format(1), in.zone(2)
	if in.err != nil {
		return value.Null, in.err
	}
	return c.text(string(format.append(nil, t.In(loc)))), nil
}

// unit is a unit of time: so many milliseconds, or months.
type unit struct {
	name   string
	millis int64
	months int64
}

// days returns how many days of the calendar the unit has, 0 for those that a
// clock counts.
func (u unit) days() int64 { return u.millis / dayMillis }

var units = []unit{
	{name: "second", millis: 1000}, {name: "minute", millis: 60_000}, {name: "hour", millis: 3_600_000},
	{name: "day", millis: dayMillis}, {name: "week", millis: 7 * dayMillis},
	{name: "month", months: 1}, {name: "year", months: 12},
}

func (in *input) unit(i int) unit {
	s := in.text(i, "the unit")
	if in.err != nil {
		return units[0]
	}
	for _, u := range units {
		if strings.EqualFold(s, u.name) || strings.EqualFold(s, u.name+"s") {
			return u
		}
	}
	in.fail(value.BadArgument, `takes "seconds", "minutes", "hours", "days", "weeks", "months" or "years" for argument %d, the unit, not %s`, i+1, value.Quote(s))
	return units[0]
}

const (
	daySeconds = 86_400
	dayMillis  = 1000 * daySeconds
)

// More than all the time there is between the years 1 and 9999.
const (
	mostDays   = 10_000 * 366
	mostMillis = mostDays * dayMillis
	mostMonths = 10_000 * 12
)

func addTime(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	in := read(c, "ADD_TIME", args)
	t, u, loc := in.moment(0, "the time"), in.unit(2), in.zone(3)
	if u.months > 0 {
		n := in.whole(1, "the number")
		if in.err != nil {
			return value.Null, in.err
		}
		return in.time(addMonths(t.In(loc), min(max(n, -mostMonths), mostMonths)*u.months))
	}
	n := in.number(1, "the number")
	if in.err != nil {
		return value.Null, in.err
	}
	if days := u.days(); days > 0 && in.given(3) {
		// Whole days go by the calendar, the rest of one by the clock.
		whole, rest := math.Modf(min(max(n.Float()*float64(days), -mostDays), mostDays))
		t = addDays(t.In(loc), int(whole))
		return in.time(time.UnixMilli(t.UnixMilli() + int64(math.Round(rest*dayMillis))))
	}
	millis := math.Round(n.Float() * float64(u.millis))
	if math.Abs(millis) > mostMillis {
		millis = math.Copysign(mostMillis, millis)
	}
	return in.time(time.UnixMilli(t.UnixMilli() + int64(millis)))
}

// addMonths adds months in t's zone, keeping to the last day of a shorter month.
func addMonths(t time.Time, months int64) time.Time {
	if months == 0 {
		return t // also where its time of day is there twice
	}
	y, m, d := t.Date()
	first := time.Date(y, m+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	return onDay(t, first.AddDate(0, 0, min(d, daysIn(first))-1))
}

// addDays adds days in t's zone.
func addDays(t time.Time, days int) time.Time {
	if days == 0 {
		return t
	}
	y, m, d := t.Date()
	return onDay(t, time.Date(y, m, d+days, 0, 0, 0, 0, time.UTC))
}

// onDay returns t's time of day on another day, in t's zone.
func onDay(t, day time.Time) time.Time {
	return localTime(time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), t.Location())
}

// daysIn returns how many days t's month has.
func daysIn(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func difference(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	in := read(c, "DIFFERENCE", args)
	a, b, u, loc := in.moment(0, "the time"), in.moment(1, "the earlier time"), units[0], in.zone(3)
	if in.given(2) {
		u = in.unit(2)
	}
	if in.err != nil {
		return value.Null, in.err
	}
	if u.months > 0 {
		return value.Int(wholeMonths(a.In(loc), b.In(loc)) / u.months), nil
	}
	if days := u.days(); days > 0 && in.given(3) {
		return c.number("DIFFERENCE", calendarDays(a.In(loc), b.In(loc))/float64(days))
	}
	millis := a.UnixMilli() - b.UnixMilli()
	if millis%u.millis == 0 {
		return value.Int(millis / u.millis), nil
	}
	return c.number("DIFFERENCE", float64(millis)/float64(u.millis))
}

// wholeMonths returns how many whole months lie between b and a, by the calendar
// of their zone.
func wholeMonths(a, b time.Time) int64 {
	if a.Before(b) {
		return -wholeMonths(b, a)
	}
	n := int64(a.Year()-b.Year())*12 + int64(a.Month()-b.Month())
	if addMonths(b, n).After(a) {
		n--
	}
	return n
}

// calendarDays returns how many days lie between b and a by the calendar of their
// zone: whole ones, and of the last one the part that has passed, however many
// hours it has.
func calendarDays(a, b time.Time) float64 {
	if a.Before(b) {
		return -calendarDays(b, a)
	}
	n := int((dateOf(a).Unix() - dateOf(b).Unix()) / daySeconds)
	from := addDays(b, n)
	if from.After(a) {
		n--
		from = addDays(b, n)
	}
	rest := a.UnixMilli() - from.UnixMilli()
	if rest == 0 {
		return float64(n)
	}
	return float64(n) + float64(rest)/float64(addDays(b, n+1).UnixMilli()-from.UnixMilli())
}

// dateOf returns t's date in its zone, as a day of UTC.
func dateOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func startOf(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	in := read(c, "START_OF", args)
	t, u, loc := in.moment(0, "the time"), in.unit(1), in.zone(2)
	if in.err != nil {
		return value.Null, in.err
	}
	t = t.In(loc)
	y, m, d := t.Date()
	switch u.name {
	case "second", "minute", "hour":
		return in.time(startOfClock(t, u))
	case "week":
		d -= weekday(t) - 1
	case "month":
		d = 1
	case "year":
		m, d = time.January, 1
	}
	start, _ := resolveLocal(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), loc)
	return in.time(start)
}

// startOfClock returns the first moment of t's second, minute or hour. It counts
// back from t: on the clock the hour may be there twice.
func startOfClock(t time.Time, u unit) time.Time {
	past := time.Duration(t.Nanosecond())
	if u.name != "second" {
		past += time.Duration(t.Second()) * time.Second
	}
	if u.name == "hour" {
		past += time.Duration(t.Minute()) * time.Minute
	}
	return t.Add(-past)
}

// weekday returns 1 for Monday to 7 for Sunday.
func weekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

// timePart makes a function that gives one number of a time.
func timePart(name string, f func(time.Time) int) Func {
	return needs(1, func(c *Call, args []value.Value) (value.Value, error) {
		c.Meter.Work(timeWork)
		in := read(c, name, args)
		t, loc := in.moment(0, "the time"), in.zone(1)
		if in.err != nil {
			return value.Null, in.err
		}
		return value.Int(int64(f(t.In(loc)))), nil
	})
}

func toUnix(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	in := read(c, "TO_UNIX", args)
	t := in.moment(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	return c.number("TO_UNIX", float64(t.UnixMilli())/1000)
}

func fromUnix(c *Call, args []value.Value) (value.Value, error) {
	c.Meter.Work(timeWork)
	return unixTime(c, "FROM_UNIX", args)
}

func unixTime(c *Call, name string, args []value.Value) (value.Value, error) {
	in := read(c, name, args)
	n := in.number(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	millis := math.Round(n.Float() * 1000)
	if math.Abs(millis) > mostMillis {
		millis = math.Copysign(mostMillis, millis)
	}
	return in.time(time.UnixMilli(int64(millis)))
}
