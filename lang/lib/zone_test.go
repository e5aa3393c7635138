package lib

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestAllZones checks that each zone of the database can be read.
func TestAllZones(t *testing.T) {
	files := zoneFiles()
	if len(files) < 590 {
		t.Errorf("the database has %d zones", len(files))
	}
	for name, file := range files {
		if loc, err := readZone(file); err != nil || loc.String() != name {
			t.Errorf("%s: %v, %v", name, loc, err)
		}
	}
}

// TestFuelOfZones checks that a zone costs the same, read before or not, known or
// not.
func TestFuelOfZones(t *testing.T) {
	var costs []int64
	for _, name := range []string{"Antarctica/Troll", "Antarctica/Troll", "Mars/Base"} {
		c := newCall()
		before := c.Meter.Fuel + c.Meter.Reserve
		c.namedZone(name)
		costs = append(costs, before-c.Meter.Fuel-c.Meter.Reserve)
	}
	if costs[0] <= 0 || costs[0] != costs[1] || costs[0] != costs[2] {
		t.Errorf("they cost %d", costs)
	}
}

// TestZonesOfTheMachine runs the cases of times on a machine whose own zones are
// wrong: every name leads to one in the middle of the Pacific.
func TestZonesOfTheMachine(t *testing.T) {
	const again = "QL_TEST_ZONES"
	if os.Getenv(again) != "" {
		if loc, err := time.LoadLocation("Europe/Berlin"); err != nil || time.Unix(0, 0).In(loc).Hour() == 1 {
			t.Fatalf("the machine's own zones are right: %v, %v", loc, err)
		}
		TestCases(t)
		return
	}
	wrong, err := contentOf(zoneFiles()["Pacific/Kiritimati"])
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name := range zoneFiles() {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, wrong, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestZonesOfTheMachine$")
	cmd.Env = append(os.Environ(), again+"=1", "ZONEINFO="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLocalTime looks at the clocks of every zone around each of their changes in
// thirty years: a time that they show is found, the first one where there are two,
// and one that they skip is as much later as they are put forward.
func TestLocalTime(t *testing.T) {
	for name, file := range zoneFiles() {
		loc, err := readZone(file)
		if err != nil {
			t.Fatal(err)
		}
		last := time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC).In(loc); ; {
			_, end := at.ZoneBounds()
			if end.IsZero() || end.After(last) {
				break
			}
			if !end.After(at) { // as package time has it for some years
				at = at.Add(24 * time.Hour)
				continue
			}
			_, before := end.Add(-time.Second).Zone()
			_, after := end.Zone()
			for _, around := range []int{-3601, -3600, -1800, -1, 0, 1, 1799, 1800, 3599, 3600, 7200} {
				for _, offset := range []int{before, after} {
					shown := end.UTC().Add(time.Duration(around+offset) * time.Second)
					want := shown.Add(-time.Duration(before) * time.Second)
					if !want.Before(end) && !shown.Add(-time.Duration(after)*time.Second).Before(end) {
						want = shown.Add(-time.Duration(after) * time.Second)
					}
					if got := localTime(shown, loc); !got.Equal(want) {
						t.Fatalf("%s: %s is %s, want %s", name, shown.Format(time.DateTime), got.UTC(), want)
					}
				}
			}
			at = end
		}
	}
}
