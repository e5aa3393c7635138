package schedule

import (
	"testing"
	"time"
)

// FuzzCron: what is read as a timetable has times that come one after the other, or none.
func FuzzCron(f *testing.F) {
	for _, text := range []string{"30 2 * * *", "*/15 0-6,22 L jan-mar mon-fri", "@daily", "0 0 29 2 *", "59 23 31 12 7", "* * * *", "61 * * * *", "5-1 * * * *"} {
		f.Add(text, int64(1_772_366_400))
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, second int64) {
		c, err := ParseCron(text)
		if err != nil {
			return
		}
		at := time.Unix(second%(1<<33), 0)
		for range 3 {
			next := c.Next(at, zone)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q: %s follows %s", text, next, at)
			}
			at = next
		}
	})
}

// FuzzDuration: what is read is written as something that is read as the same.
func FuzzDuration(f *testing.F) {
	for _, text := range []string{"25h", "1d12h", "2w", "30s", "1h30", "-1s", "2147483647w", "1d1d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration("every", text)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("%q is %s", text, d)
		}
		if again, err := ParseDuration("every", FormatDuration(d)); err != nil || again != d {
			t.Fatalf("%q is %s, written as %q: %s, %v", text, d, FormatDuration(d), again, err)
		}
	})
}
