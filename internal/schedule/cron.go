package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"ql/lang/lib"
)

// Cron is a timetable of five fields, as crontab(5) has them: minute, hour, day of the month, month
// and day of the week. The zero Cron never comes.
type Cron struct {
	minute, hour, day, month, weekday uint64 // a bit for each value
	lastDay                           bool   // L: the last day of the month
	eitherDay                         bool   // both days are restricted: one of them is enough
}

// cronField is one of the five.
type cronField struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

var cronFields = [...]cronField{
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of the week", min: 0, max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// macros are names for timetables.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

const macrosText = "@hourly, @daily, @weekly, @monthly or @yearly"

// longestCron is how many bytes a timetable may have.
const longestCron = 200

// ParseCron reads a timetable. Its error says which field is wrong and what would fit.
func ParseCron(text string) (Cron, error) {
	if len(text) > longestCron {
		return Cron{}, fmt.Errorf("has %d bytes: %d fit", len(text), longestCron)
	}
	fields := strings.Fields(text)
	if len(fields) == 1 && strings.HasPrefix(fields[0], "@") {
		plain, ok := macros[strings.ToLower(fields[0])]
		if !ok {
			return Cron{}, fmt.Errorf("is %q: five fields fit, or %s", fields[0], macrosText)
		}
		fields = strings.Fields(plain)
	}
	switch {
	case len(fields) == 6:
		return Cron{}, fmt.Errorf("has 6 fields: five fit, minute, hour, day of the month, month and day of the week; there are no seconds and no years")
	case len(fields) != len(cronFields):
		return Cron{}, fmt.Errorf("has %d fields: five fit, minute, hour, day of the month, month and day of the week, such as 30 2 * * *", len(fields))
	}
	var c Cron
	for i, to := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.weekday} {
		f := &cronFields[i]
		for item := range strings.SplitSeq(fields[i], ",") {
			if i == 2 && strings.EqualFold(item, "L") {
				c.lastDay = true
				continue
			}
			set, err := f.parse(item)
			if err != nil {
				return Cron{}, fmt.Errorf("has a wrong %s: %w", f.name, err)
			}
			*to |= set
		}
	}
	if c.weekday&(1<<7) != 0 { // both are Sunday
		c.weekday = c.weekday&^(1<<7) | 1
	}
	c.eitherDay = !strings.HasPrefix(fields[2], "*") && !strings.HasPrefix(fields[4], "*")
	if c.nextShown(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, errors.New("never comes: none of its months has such a day")
	}
	return c, nil
}

// parse reads one item of a list: *, a value, a range, each with a step or without.
func (f *cronField) parse(item string) (set uint64, err error) {
	whole, step, stepped := strings.Cut(item, "/")
	by := 1
	if stepped {
		if by, err = strconv.Atoi(step); err != nil || by < 1 || by > f.max {
			return 0, fmt.Errorf("%q has the step %q: 1 to %d fits", item, step, f.max)
		}
	}
	first, last := f.min, f.max
	if whole == "*" {
		if f.max == 7 {
			last = 6
		}
	} else {
		low, high, ranged := strings.Cut(whole, "-")
		if first, err = f.value(low); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			if last, err = f.value(high); err != nil {
				return 0, err
			}
			if last == 0 && f.max == 7 && first > 0 {
				last = 7 // as in FRI-SUN
			}
		case !stepped:
			last = first
		case f.max == 7:
			last = 6
		}
	}
	if first > last {
		return 0, fmt.Errorf("%q runs backwards: %d-%d fits, or two ranges with a comma between", item, last, first)
	}
	for v := first; v <= last; v += by {
		set |= 1 << v
	}
	return set, nil
}

func (f *cronField) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.min || v > f.max || strings.HasPrefix(text, "+") {
		fits := fmt.Sprintf("%d to %d", f.min, f.max)
		if len(f.names) > 0 {
			fits += fmt.Sprintf(" or %s to %s", strings.ToUpper(f.names[0]), strings.ToUpper(f.names[len(f.names)-1]))
		}
		if text == "" {
			return 0, fmt.Errorf("a value is missing: %s fits", fits)
		}
		return 0, fmt.Errorf("%.40q is none: %s fits", text, fits)
	}
	return v, nil
}

// Next returns the first moment after one at which it is time, by the clocks of a zone; zero for
// never. A time that clocks skip is the moment at which they do, and one that they show twice is the
// first of the two: each comes once.
func (c *Cron) Next(after time.Time, zone *time.Location) time.Time {
	local := after.In(zone)
	shown := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
	for {
		if shown = c.nextShown(shown); shown.IsZero() {
			return time.Time{}
		}
		// Of times that were shown twice, the first may be past.
		if at := lib.FirstShown(shown, zone); at.After(after) {
			return at.UTC()
		}
	}
}

// farthest is how many years there may be between two times: the 29th of February may be left out
// once in between, and then come on another day of the week.
const farthest = 12

// nextShown returns the first date and time after one, which clocks would show, that fits; zero for
// none. Both are in UTC, whatever the zone.
func (c *Cron) nextShown(after time.Time) time.Time {
	t := after.Add(time.Minute)
	for end := t.Year() + farthest; t.Year() <= end; {
		if c.month&(1<<t.Month()) == 0 {
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if !c.isDay(t) {
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
			continue
		}
		hour := following(c.hour, t.Hour())
		if hour < 0 {
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
			continue
		}
		minute := 0
		if hour == t.Hour() {
			minute = t.Minute()
		}
		if minute = following(c.minute, minute); minute >= 0 {
			return time.Date(t.Year(), t.Month(), t.Day(), hour, minute, 0, 0, time.UTC)
		}
		t = time.Date(t.Year(), t.Month(), t.Day(), hour+1, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// isDay tells whether a day fits. As ever with cron, where both kinds of days are restricted, one of
// them is enough.
func (c *Cron) isDay(t time.Time) bool {
	day := c.day&(1<<t.Day()) != 0 || c.lastDay && t.AddDate(0, 0, 1).Day() == 1
	weekday := c.weekday&(1<<t.Weekday()) != 0
	if c.eitherDay {
		return day || weekday
	}
	return day && weekday
}

// following returns the first value of a set that is not below one; -1 for none.
func following(set uint64, from int) int {
	if set >>= from; set == 0 {
		return -1
	}
	return from + bits.TrailingZeros64(set)
}
