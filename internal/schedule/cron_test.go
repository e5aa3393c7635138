package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ql/lang/lib"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func TestCron(t *testing.T) {
	const after = "2026-11-18T02:17:11Z" // a Wednesday
	for text, want := range map[string][]string{
		"* * * * *":            {"2026-11-18T02:18:00Z", "2026-11-18T02:19:00Z"},
		"*/20 * * * *":         {"2026-11-18T02:20:00Z", "2026-11-18T02:40:00Z", "2026-11-18T03:00:00Z"},
		"5/20 * * * *":         {"2026-11-18T02:25:00Z", "2026-11-18T02:45:00Z", "2026-11-18T03:05:00Z"},
		"30 2 * * *":           {"2026-11-18T02:30:00Z", "2026-11-19T02:30:00Z"},
		"0 9-17/4 * * mon-fri": {"2026-11-18T09:00:00Z", "2026-11-18T13:00:00Z", "2026-11-18T17:00:00Z", "2026-11-19T09:00:00Z"},
		"0 0 1,15 * *":         {"2026-12-01T00:00:00Z", "2026-12-15T00:00:00Z"},
		"0 0 L * *":            {"2026-11-30T00:00:00Z", "2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z", "2027-02-28T00:00:00Z"},
		"0 0 29 2 *":           {"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"},
		"0 12 * * 7":           {"2026-11-22T12:00:00Z", "2026-11-29T12:00:00Z"},
		"0 12 * * fri-sun":     {"2026-11-20T12:00:00Z", "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-27T12:00:00Z"},
		"0 0 13 * FRI":         {"2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"},
		"0 0 */2 * FRI":        {"2026-11-27T00:00:00Z", "2026-12-11T00:00:00Z"},
		"0 0 1 Jan,JUL *":      {"2027-01-01T00:00:00Z", "2027-07-01T00:00:00Z"},
		"@hourly":              {"2026-11-18T03:00:00Z", "2026-11-18T04:00:00Z"},
		"@daily":               {"2026-11-19T00:00:00Z"},
		"@midnight":            {"2026-11-19T00:00:00Z"},
		"@weekly":              {"2026-11-22T00:00:00Z"},
		"@monthly":             {"2026-12-01T00:00:00Z"},
		"@Yearly":              {"2027-01-01T00:00:00Z"},
		"@annually":            {"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"},
	} {
		c, err := ParseCron(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		at := moment(t, after)
		for _, next := range want {
			if at = c.Next(at, time.UTC); !at.Equal(moment(t, next)) {
				t.Errorf("%s: got %s, want %s", text, at.Format(time.RFC3339), next)
				break
			}
		}
	}
}

func TestCronMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "has 0 fields: five fit",
		"* * * *":                "has 4 fields: five fit",
		"0 * * * * *":            "there are no seconds",
		"60 * * * *":             `wrong minute: "60" is none: 0 to 59 fits`,
		"* 24 * * *":             `wrong hour: "24" is none: 0 to 23 fits`,
		"* * 0 * *":              `wrong day of the month: "0" is none: 1 to 31 fits`,
		"* * * 13 *":             `wrong month: "13" is none: 1 to 12 or JAN to DEC fits`,
		"* * * * 8":              `wrong day of the week: "8" is none: 0 to 7 or SUN to SAT fits`,
		"* * * * monday":         `wrong day of the week: "monday" is none`,
		"*/0 * * * *":            `wrong minute: "*/0" has the step "0": 1 to 59 fits`,
		"*/x * * * *":            `has the step "x"`,
		"30-10 * * * *":          `wrong minute: "30-10" runs backwards: 10-30 fits`,
		"1, * * * *":             "wrong minute: a value is missing",
		"+1 * * * *":             `"+1" is none`,
		"-1 * * * *":             "a value is missing",
		"0 0 31 2,4 *":           "never comes",
		"@reboot":                `is "@reboot": five fields fit, or @hourly`,
		"? * * * *":              `"?" is none`,
		strings.Repeat("*", 201): "has 201 bytes",
	} {
		_, err := ParseCron(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// zonesOfChanges have clocks that are put by an hour, by half an hour and by two, at midnight and in
// the night, in March and in October; some have none.
var zonesOfChanges = []string{
	"Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles", "America/Havana", "America/Santiago",
	"Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut", "Antarctica/Troll", "Africa/Casablanca", "Asia/Kathmandu",
}

// TestClockChanges compares with every minute there is: on the days around each change, each time of
// a timetable comes once, and one that is skipped when clocks skip it.
func TestClockChanges(t *testing.T) {
	var tables []Cron
	texts := []string{"30 2 * * *", "* * * * *", "0 0 * * *", "*/15 1-3 * * *", "59 23 * * *", "0 * * * sun"}
	for _, text := range texts {
		c, err := ParseCron(text)
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, c)
	}
	changes := 0
	for _, name := range zonesOfChanges {
		zone := lib.Zone(name)
		if zone == nil {
			t.Fatalf("there is no zone %s", name)
		}
		for _, day := range daysOfChange(zone) {
			changes++
			from, to := day.Add(-13*time.Hour), day.Add(26*time.Hour)
			for i := range tables {
				var got []time.Time
				for at := tables[i].Next(from, zone); !at.After(to); at = tables[i].Next(at, zone) {
					got = append(got, at)
				}
				if want := everyMinute(&tables[i], zone, from, to); !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%s, %q around %s: got %v, want %v", name, texts[i], day, got, want)
				}
			}
		}
	}
	if changes < 40 {
		t.Errorf("clocks changed on %d days only", changes)
	}
}

// daysOfChange are the starts of the hours in which clocks are changed, of some years.
func daysOfChange(zone *time.Location) (days []time.Time) {
	_, before := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).In(zone).Zone()
	for at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2026; at = at.Add(time.Hour) {
		_, offset := at.In(zone).Zone()
		if offset != before {
			days = append(days, at.Add(-time.Hour))
			before = offset
		}
	}
	return days
}

// everyMinute finds the ticks by looking at what clocks show at every minute.
func everyMinute(c *Cron, zone *time.Location, from, to time.Time) (ticks []time.Time) {
	fits := func(shown time.Time) bool {
		return c.minute&(1<<shown.Minute()) != 0 && c.hour&(1<<shown.Hour()) != 0 && c.month&(1<<shown.Month()) != 0 && c.isDay(shown)
	}
	shownAt := func(at time.Time) time.Time {
		l := at.In(zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	seen := map[time.Time]bool{}
	start := from.Add(-3 * time.Hour)
	last := shownAt(start.Add(-time.Minute))
	for at := start; !at.After(to); at = at.Add(time.Minute) {
		shown := shownAt(at)
		due := false
		for skipped := last.Add(time.Minute); skipped.Before(shown); skipped = skipped.Add(time.Minute) {
			due = due || !seen[skipped] && fits(skipped)
			seen[skipped] = true
		}
		due = due || !seen[shown] && fits(shown)
		seen[shown] = true
		if last = shown; due && at.After(from) {
			ticks = append(ticks, at)
		}
	}
	return ticks
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"25h": 25 * time.Hour, "1d12h": 36 * time.Hour, "2w": 336 * time.Hour, "90m": 90 * time.Minute, "1h30m5s": time.Hour + 30*time.Minute + 5*time.Second, "0s": 0} {
		got, err := ParseDuration("every", text)
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
		if again, err := ParseDuration("every", FormatDuration(got)); err != nil || again != got {
			t.Errorf("%s is written %s", text, FormatDuration(got))
		}
	}
	for _, text := range []string{"", "5", "h", "1.5h", "-1h", "1h1d", "1m1m", "99999999999w", "1 h", "1y"} {
		if d, err := ParseDuration("every", text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
}
