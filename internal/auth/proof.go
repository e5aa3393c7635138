package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"sync"
)

// proof stands for a password of an account without telling it.
type proof [sha256.Size]byte

// prover makes proofs under a secret of this process. What it makes them with is
// used again: to take in the secret is half of the work.
type prover struct{ idle sync.Pool }

// workspace is what one proof at a time is made with.
type workspace struct {
	mac  hash.Hash
	text []byte
	sum  []byte
}

func newProver() *prover {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails
	return &prover{idle: sync.Pool{New: func() any { return &workspace{mac: hmac.New(sha256.New, secret)} }}}
}

// prove returns the proof of a password for somebody.
func (p *prover) prove(head []byte, name, secret string) (made proof) {
	w := p.idle.Get().(*workspace)
	defer p.idle.Put(w)
	w.text = append(append(append(w.text[:0], head...), name...), secret...)
	w.mac.Reset()
	w.mac.Write(w.text)
	clear(w.text) // no password stays behind
	w.sum = w.mac.Sum(w.sum[:0])
	copy(made[:], w.sum)
	return made
}
