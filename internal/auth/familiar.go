package auth

import (
	"crypto/sha256"
	"net/netip"
	"time"
)

const (
	// familiarNames bounds the names of which it is known where they log in from,
	// and familiarNetworks for each of them how many addresses and networks are.
	familiarNames    = 10_000
	familiarNetworks = 32
)

// familiars are where names logged in from of late: addresses, and the networks
// around them. Each name has its own few, so that nobody with an account of its
// own makes us forget where others log in from. Its owner locks.
type familiars struct {
	names *lru[[sha256.Size]byte, *familiar]
}

type familiar struct{ seen []sighting }

type sighting struct {
	prefix netip.Prefix
	last   time.Time
}

func newFamiliars() *familiars {
	return &familiars{names: newLRU[[sha256.Size]byte, *familiar](familiarNames)}
}

// knows tells whether a name logged in from a network, or an address, of late.
func (f *familiars) knows(name [sha256.Size]byte, prefix netip.Prefix, now time.Time) bool {
	of, ok := f.names.get(name)
	if !ok {
		return false
	}
	for i := range of.seen {
		if of.seen[i].prefix == prefix {
			return now.Sub(of.seen[i].last) < goodFor
		}
	}
	return false
}

// note remembers where a name logged in from.
func (f *familiars) note(from origins, now time.Time) {
	of, ok := f.names.get(from.name)
	if !ok {
		of = &familiar{}
		f.names.put(from.name, of)
	}
	of.note(from.near, now)
	of.note(from.exact, now)
}

// note puts a network in the place of itself, or of the one seen least lately
// where there are too many.
func (f *familiar) note(prefix netip.Prefix, now time.Time) {
	oldest := 0
	for i := range f.seen {
		if f.seen[i].prefix == prefix {
			f.seen[i].last = now
			return
		}
		if f.seen[i].last.Before(f.seen[oldest].last) {
			oldest = i
		}
	}
	if len(f.seen) < familiarNetworks {
		f.seen = append(f.seen, sighting{prefix, now})
		return
	}
	f.seen[oldest] = sighting{prefix, now}
}
