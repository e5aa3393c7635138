package auth

import (
	"crypto/sha256"
	"net/netip"
	"time"
)

const (
	// maxKnownNames bounds the names of which it is known where they log in from,
	// and maxNetworksOfName for each of them how many addresses and networks are.
	maxKnownNames     = 10_000
	maxNetworksOfName = 32
)

// knownNetworks are where names logged in from of late: addresses, and the networks
// around them. Each name has its own few, so that nobody with an account of its
// own makes us forget where others log in from. Its owner locks.
type knownNetworks struct {
	names *lru[[sha256.Size]byte, *networksOfName]
}

type networksOfName struct{ seen []seenNetwork }

type seenNetwork struct {
	prefix netip.Prefix
	last   time.Time
}

func newKnownNetworks() *knownNetworks {
	return &knownNetworks{names: newLRU[[sha256.Size]byte, *networksOfName](maxKnownNames)}
}

// has tells whether a name logged in from a network, or an address, of late.
func (f *knownNetworks) has(name [sha256.Size]byte, prefix netip.Prefix, now time.Time) bool {
	of, ok := f.names.Get(name)
	if !ok {
		return false
	}
	for i := range of.seen {
		if of.seen[i].prefix == prefix {
			return now.Sub(of.seen[i].last) < knownFor
		}
	}
	return false
}

// add remembers where a name logged in from.
func (f *knownNetworks) add(from source, now time.Time) {
	of, ok := f.names.Get(from.name)
	if !ok {
		of = &networksOfName{}
		f.names.Add(from.name, of)
	}
	of.add(from.near, now)
	of.add(from.exact, now)
}

// add puts a network in the place of itself, or of the one seen least lately
// where there are too many.
func (f *networksOfName) add(prefix netip.Prefix, now time.Time) {
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
	if len(f.seen) < maxNetworksOfName {
		f.seen = append(f.seen, seenNetwork{prefix, now})
		return
	}
	f.seen[oldest] = seenNetwork{prefix, now}
}
