package lib

import (
	"sync"
	"time"
	_ "time/tzdata" // so that zones have names on machines without a zone database

	"ql/lang/value"
)

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
	in.fail(value.BadArgument, `takes a zone such as "Europe/Berlin", "UTC" or "+02:00" for argument %d, not %s`, i+1, value.Quote(s))
	return time.UTC
}

func (c *Call) namedZone(name string) *time.Location {
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location)
	}
	if !plainZoneName(name) {
		return nil
	}
	c.Meter.Work(10_000) // reading the database
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, loc)
	return loc
}

// plainZoneName reports whether name has the form of a name in the database.
// Other spellings of a path would name the same zone in countless ways, and
// "Local" would tell where the service runs.
func plainZoneName(name string) bool {
	const longest = 40
	if name == "" || len(name) > longest || name == "Local" {
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
