package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"sync"
)

// digest is the keyed hash of a password of an account: it stands for it without telling it.
type digest [sha256.Size]byte

// digester makes digests under a secret of this process. What it makes them with is
// used again: to take in the secret is half of the work.
type digester struct{ idle sync.Pool }

// hasher is what one digest at a time is made with.
type hasher struct {
	mac  hash.Hash
	text []byte
	sum  []byte
}

func newDigester() *digester {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails
	return &digester{idle: sync.Pool{New: func() any { return &hasher{mac: hmac.New(sha256.New, secret)} }}}
}

// digest returns the digest of a password for somebody.
func (d *digester) digest(head []byte, name, secret string) (made digest) {
	h := d.idle.Get().(*hasher)
	defer d.idle.Put(h)
	h.text = append(append(append(h.text[:0], head...), name...), secret...)
	h.mac.Reset()
	h.mac.Write(h.text)
	clear(h.text) // no password stays behind
	h.sum = h.mac.Sum(h.sum[:0])
	copy(made[:], h.sum)
	return made
}
