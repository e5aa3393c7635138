package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/lang/lib"
)

// Timing says when a schedule is due.
type Timing struct {
	Every time.Duration // an interval of elapsed time; 0 where there is a timetable
	Cron  string        // a timetable as it was written, "" where there is an interval
	Zone  string        // whose clocks the timetable goes by
	// Jitter is how much later than its time a tick may be due: each by an amount of its own, which
	// stays the same.
	Jitter time.Duration
}

// Bounds of what a schedule may say.
const (
	// ShortestEvery is the shortest interval that any plan allows.
	ShortestEvery = time.Second
	longestEvery  = 366 * 24 * time.Hour
	longestJitter = 24 * time.Hour
	longestCatch  = 366 * 24 * time.Hour
	// DefaultCatchUp is how late a tick may be unless its schedule says otherwise.
	DefaultCatchUp = time.Hour
	// Grace is how late a tick may be in any case: nothing happens at the very moment.
	Grace = 10 * time.Second
	// checked is of how many ticks of a timetable the gaps are looked at.
	checked = 200
)

// timetable is a timing that can be computed with.
type timetable struct {
	Timing
	cron Cron
	zone *time.Location
}

// compile reads a timing that was checked.
func (t *Timing) compile() (timetable, error) {
	if t.Cron == "" {
		return timetable{Timing: *t, zone: time.UTC}, nil
	}
	cron, err := ParseCron(t.Cron)
	if err != nil {
		return timetable{}, fault.Invalid("cron", "%s", err)
	}
	zone := lib.Zone(t.Zone)
	if zone == nil {
		hint := ""
		if near := lib.ZoneHint(t.Zone); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return timetable{}, fault.Invalid("zone", "is %.60q: a name such as Europe/Berlin or UTC fits%s", t.Zone, hint)
	}
	return timetable{*t, cron, zone}, nil
}

// check says what is wrong with a timing, for an account whose shortest interval is so long.
func (t *Timing) check(now time.Time, shortest time.Duration) error {
	switch {
	case t.Every == 0 && t.Cron == "":
		return fault.Invalid("every", "is missing: a schedule has an interval, such as \"every\": \"25h\", or a timetable, such as \"cron\": \"30 2 * * *\"")
	case t.Every != 0 && t.Cron != "":
		return fault.Invalid("cron", "stands beside every: one of the two fits")
	case t.Every != 0 && t.Zone != "":
		return fault.Invalid("zone", "is for timetables: an interval is elapsed time, wherever one is")
	case t.Every != 0 && t.Every < shortest:
		return tooOften("every", t.Every, shortest)
	case t.Every > longestEvery:
		return fault.Invalid("every", "is %s: at most %s fits", FormatDuration(t.Every), FormatDuration(longestEvery))
	case t.Jitter < 0 || t.Jitter > longestJitter:
		return fault.Invalid("jitter", "is %s: 0s to %s fits", FormatDuration(t.Jitter), FormatDuration(longestJitter))
	case t.Every != 0 && t.Jitter > t.Every:
		return fault.Invalid("jitter", "is %s: at most the interval fits, which is %s", FormatDuration(t.Jitter), FormatDuration(t.Every))
	case t.Every != 0:
		return nil
	}
	table, err := t.compile()
	if err != nil {
		return err
	}
	at := table.next(now, time.Time{})
	for range checked {
		next := table.next(at, time.Time{})
		if next.IsZero() {
			break
		}
		gap := next.Sub(at)
		if gap < shortest {
			return tooOften("cron", gap, shortest)
		}
		if t.Jitter > gap {
			return fault.Invalid("jitter", "is %s: at most the shortest time between two ticks fits, which is %s", FormatDuration(t.Jitter), FormatDuration(gap))
		}
		at = next
	}
	return nil
}

func tooOften(field string, got, shortest time.Duration) error {
	f := fault.Invalid(field, "comes every %s: the account's plan allows one tick every %s", FormatDuration(got), FormatDuration(shortest))
	f.Limit, f.Value = "schedule_every", int64(shortest.Seconds())
	return f
}

// next returns the first tick after a moment; zero for none. Intervals are counted from an anchor.
func (t *timetable) next(after, anchor time.Time) time.Time {
	if t.Cron != "" {
		return t.cron.Next(after, t.zone)
	}
	since := after.Sub(anchor)
	if since < 0 {
		return anchor
	}
	return after.Add(t.Every - since%t.Every)
}

// ParseDuration reads an amount of time such as 25h, 1d12h or 30s: weeks, days, hours, minutes and
// seconds, the longest first. A day has 24 hours.
func ParseDuration(field, text string) (time.Duration, error) {
	wrong := func() error {
		return fault.Invalid(field, "is %.40q: an amount of time such as 30s, 15m, 25h, 1d12h or 2w fits", text)
	}
	units := []struct {
		name string
		unit time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	rest, sum := text, time.Duration(0)
	for _, u := range units {
		number, after, found := strings.Cut(rest, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil || time.Duration(n) > (1<<62)/u.unit {
			return 0, wrong()
		}
		if sum += time.Duration(n) * u.unit; sum < 0 {
			return 0, wrong()
		}
		rest = after
	}
	if rest != "" || text == "" {
		return 0, wrong()
	}
	return sum, nil
}

// FormatDuration writes what ParseDuration reads: whole seconds.
func FormatDuration(d time.Duration) string {
	if d < time.Second {
		return "0s"
	}
	if day := 24 * time.Hour; d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	var b strings.Builder
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d %= u.unit
		}
	}
	return b.String()
}
