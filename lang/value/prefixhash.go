package value

import (
	"hash/maphash"
	"unsafe"
)

// hashStep is how many bytes lie between two states that prefixHashes keeps.
const hashStep = 1 << 10

// prefixHashes gives the hashes of texts that share their blocks, each by a few
// steps however long it is: the states of the hash on its way through a block
// are kept.
type prefixHashes struct {
	states map[unsafe.Pointer][]maphash.Hash // after each hashStep bytes
}

// hash returns what hashText does, and how many bytes it has looked at for that.
func (p *prefixHashes) hash(v Value) (h uint32, work int) {
	if p.states == nil {
		p.states = map[unsafe.Pointer][]maphash.Hash{}
	}
	states, s := p.states[v.p], v.Str()
	whole := len(s) / hashStep
	for len(states) < whole {
		var next maphash.Hash
		if n := len(states); n > 0 {
			next = states[n-1]
		} else {
			next.SetSeed(seed)
		}
		at := len(states) * hashStep
		_, _ = next.WriteString(s[at : at+hashStep]) // never fails
		states = append(states, next)
		work += hashStep
	}
	p.states[v.p] = states
	last := states[whole-1]
	_, _ = last.WriteString(s[whole*hashStep:])
	sum := last.Sum64()
	return fold(sum), work + len(s) - whole*hashStep
}
