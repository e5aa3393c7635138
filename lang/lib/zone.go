package lib

import (
	archive "archive/zip"
	"cmp"
	_ "embed"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"ql/lang/source"
	"ql/lang/value"
)

// zoneData is the IANA time zone database, 2025c, as Go 1.26 has it in
// lib/time/zoneinfo.zip. Package time would read the files of the machine first,
// and a script would compute otherwise on the next one.
//
//go:embed zones.zip
var zoneData string

// zoneFiles are what the database has under each name.
var zoneFiles = sync.OnceValue(func() map[string]*archive.File {
	files := map[string]*archive.File{}
	r, err := archive.NewReader(strings.NewReader(zoneData), int64(len(zoneData)))
	if err != nil {
		return files // a test finds it
	}
	for _, f := range r.File {
		if plainZoneName(f.Name) {
			files[f.Name] = f
		}
	}
	return files
})

// zones holds the zones that were asked for by name. There are a few hundred
// names, and no others get in.
var zones sync.Map // name → *time.Location

// zone reads the optional zone of a time: a name such as Europe/Berlin, UTC, or
// an offset such as +02:00.
func (in *input) zone(i int) *time.Location {
	if !in.given(i) {
		return time.UTC
	}
	s := in.text(i, "the zone")
	if in.err != nil || s == "UTC" {
		return time.UTC
	}
	p := timeParser{s: s}
	if p.offset() && p.s == "" {
		return p.loc
	}
	if loc := in.namedZone(s); loc != nil {
		return loc
	}
	in.fail(value.BadArgument, `takes a zone such as "Europe/Berlin", "UTC" or "+02:00" for argument %d, not %s%s`, i+1, value.Quote(s), in.zoneHint(s))
	return time.UTC
}

// zoneHint names a zone that a wrong name may be meant for, if there is one.
func (c *Call) zoneHint(wrong string) string {
	if len(wrong) > longestZone {
		return ""
	}
	c.Meter.Work(len(zoneNames()) * (len(wrong) + 8) * 3)
	if n := nearestZone(wrong); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

func nearestZone(wrong string) string {
	names := zoneNames()
	name := strings.ReplaceAll(wrong, " ", "_")
	for _, n := range names {
		if strings.EqualFold(n, name) || strings.EqualFold(n[strings.LastIndexByte(n, '/')+1:], name) {
			return n
		}
	}
	return source.Nearest(name, names)
}

// zoneNames are the names of the database, in order, those of places first.
var zoneNames = sync.OnceValue(func() []string {
	return slices.SortedFunc(maps.Keys(zoneFiles()), func(a, b string) int {
		return cmp.Or(strings.Count(b, "/")-strings.Count(a, "/"), strings.Compare(a, b))
	})
})

// localTime returns the moment at which clocks of loc show the date and time that
// t has in UTC. Of two such moments it is the first. Where clocks are put forward
// past that time it is as much later as they are put forward.
func localTime(t time.Time, loc *time.Location) time.Time {
	_, at := resolveLocal(t, loc)
	return at
}

// resolveLocal returns the moment at which clocks of loc first show the date and
// time that t has in UTC, or any later one, and the moment that localTime returns.
func resolveLocal(t time.Time, loc *time.Location) (first, at time.Time) {
	if loc == time.UTC {
		return t, t
	}
	// No offset is as large: clocks are changed in between, if they are. The bounds
	// of a zone that package time knows are wrong for some years.
	const widest = 26 * time.Hour
	before, after := offsetAt(t.Add(-widest), loc), offsetAt(t.Add(widest), loc)
	at = t.Add(-before).In(loc)
	if before == after || offsetAt(at, loc) == before {
		return at, at
	}
	later := t.Add(-after).In(loc)
	if offsetAt(later, loc) == after {
		return later, later
	}
	// Clocks do not show it: they are changed after later, and at the latest at at.
	from, span := later, int(at.Sub(later)/time.Second)
	n := sort.Search(span, func(i int) bool { return offsetAt(from.Add(time.Duration(i)*time.Second), loc) == after })
	return from.Add(time.Duration(n) * time.Second), at
}

// offsetAt returns how far clocks of loc are ahead at a moment.
func offsetAt(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// namedZone finds a zone, or returns nil. It costs the same whether the zone was
// read before, since fuel must not depend on what else a process did: a process
// reads each name once at most, and the price of looking is for all of them.
func (c *Call) namedZone(name string) *time.Location {
	c.Meter.Work(100)
	return lookupZone(name)
}

func lookupZone(name string) *time.Location {
	if len(name) > longestZone {
		return nil
	}
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location)
	}
	file := zoneFiles()[name]
	if file == nil {
		return nil
	}
	loc, err := readZone(file)
	if err != nil {
		return nil
	}
	zones.Store(name, loc)
	return loc
}

func readZone(file *archive.File) (*time.Location, error) {
	data, err := contentOf(file)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(file.Name, data)
}

func contentOf(file *archive.File) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// longestZone is longer than any name in the database.
const longestZone = 40

// plainZoneName reports whether name has the form of a name in the database.
// Other spellings of a path would name the same zone in countless ways, and
// "Local" would tell where the service runs.
func plainZoneName(name string) bool {
	if name == "" || len(name) > longestZone || name == "Local" {
		return false
	}
	slash := true // at the start, or after a slash
	for i := range len(name) {
		switch b := name[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '_', b == '-', b == '+':
			slash = false
		case b == '/' && !slash:
			slash = true
		default:
			return false
		}
	}
	return !slash
}

// Zone finds a zone by its name, such as Europe/Berlin or UTC, or returns nil.
func Zone(name string) *time.Location {
	if name == "UTC" {
		return time.UTC
	}
	return lookupZone(name)
}

// FirstShown returns the moment at which clocks of loc first show the date and time that t has in
// UTC, or any later one where they are put forward past it.
func FirstShown(t time.Time, loc *time.Location) time.Time {
	first, _ := resolveLocal(t, loc)
	return first
}

// ZoneHint names a zone that a wrong name may be meant for, "" for none.
func ZoneHint(wrong string) string {
	if len(wrong) > longestZone {
		return ""
	}
	return nearestZone(wrong)
}
