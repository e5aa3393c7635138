package relational

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"ql/internal/job"
)

// IDs tells where a job's id stands in the index of ids. An id is a secret, and
// looks random to everybody. In an index that would cost each job a page of its
// own, once there are many. So the store keeps a key under which ids are
// encrypted moments: what stands in the index is the moment, and jobs of one time
// stand together. An id that was not made here stands anywhere.
//
// Without a key, as in a store that had jobs before it could have one, ids stand
// as they are.
type IDs struct {
	block   cipher.Block // nil without a key
	counter atomic.Uint64
}

// The 122 free bits of an id are two halves, which a few rounds exchange.
const (
	idRounds = 6
	halfBits = 61
	halfMask = 1<<halfBits - 1
)

// keyTable holds the key: one row, made while there are no jobs.
const (
	readIDKey = "SELECT key FROM id_key WHERE one = 1"
	makeIDKey = "INSERT INTO id_key (one, key) SELECT 1, ? WHERE NOT EXISTS (SELECT 1 FROM jobs) AND NOT EXISTS (SELECT 1 FROM id_key WHERE one = 1)"
)

// OpenIDs reads the key of a store, made where there may be one.
func OpenIDs(t Tx) (*IDs, error) {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	if _, err := t.exec(makeIDKey, key); err != nil {
		return nil, err
	}
	found, err := t.one(readIDKey, func(r row) { key = r.bytes(0) })
	if err != nil || !found {
		return &IDs{}, err
	}
	block, err := aes.NewCipher(key)
	return &IDs{block: block}, err
}

// round mixes a half with the key; b is room for one block.
func (c *IDs) round(b []byte, i byte, half uint64) uint64 {
	clear(b)
	b[0] = i
	binary.BigEndian.PutUint64(b[8:], half)
	c.block.Encrypt(b, b)
	return binary.BigEndian.Uint64(b) & halfMask
}

// halves takes the free bits out of an id; false for one that is no UUIDv4.
func halves(id job.ID) (left, right uint64, ok bool) {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	if high>>12&0xf != 4 || low>>62 != 2 {
		return 0, 0, false
	}
	low &= 1<<62 - 1
	return (high>>16<<12|high&0xfff)<<1 | low>>halfBits, low & halfMask, true
}

// joined is the other way round of halves.
func joined(left, right uint64) (id job.ID) {
	high := left >> 1
	binary.BigEndian.PutUint64(id[:8], high>>12<<16|4<<12|high&0xfff)
	binary.BigEndian.PutUint64(id[8:], 2<<62|left&1<<halfBits|right)
	return id
}

// place returns where an id stands in the index.
func (c *IDs) place(id job.ID) []byte {
	if c == nil || c.block == nil {
		return id[:]
	}
	left, right, ok := halves(id)
	if !ok {
		return append(id[:], 0) // longer, so that it meets no other
	}
	place := make([]byte, aes.BlockSize)
	for i := idRounds; i > 0; i-- {
		left, right = right^c.round(place, byte(i), left), left
	}
	binary.BigEndian.PutUint64(place, left)
	binary.BigEndian.PutUint64(place[8:], right)
	return place
}

// id returns the id that stands at a place.
func (c *IDs) id(place []byte) (id job.ID) {
	if c == nil || c.block == nil || len(place) != len(id) {
		copy(id[:], place)
		return id
	}
	return c.at(binary.BigEndian.Uint64(place), binary.BigEndian.Uint64(place[8:]))
}

func (c *IDs) at(left, right uint64) job.ID {
	b := make([]byte, aes.BlockSize)
	for i := 1; i <= idRounds; i++ {
		left, right = right, left^c.round(b, byte(i), right)
	}
	return joined(left, right)
}

// NewID returns an id that nobody can guess, and that stands in the index beside
// those made at the same time.
func (s *Store) NewID() job.ID {
	c := s.ids
	if c.block == nil {
		return job.NewID()
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	moment := uint64(time.Now().UnixMicro())>>2<<10 | c.counter.Add(1)&1023
	return c.at(moment&halfMask, binary.BigEndian.Uint64(b[:])&halfMask)
}

// MadeAt returns when an id was made, by the clock of the node that made it; false where that cannot be told.
func (s *Store) MadeAt(id job.ID) (time.Time, bool) {
	if s.ids.block == nil {
		return time.Time{}, false
	}
	place := s.ids.place(id)
	if len(place) != aes.BlockSize {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(place) >> 10 << 2)), true
}
