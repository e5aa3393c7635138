package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"

	"ql/internal/redacted"
)

// linkTime is how long a link signs somebody in.
const linkTime = time.Hour

// link is the token by which one browser signs in without a password. It is held by the process alone,
// which has shown it to whoever has started it.
type link struct {
	mu      sync.Mutex
	hash    [sha256.Size]byte
	expires time.Time // zero where there is none
}

// NewLink returns the token of a link that signs one browser in, once and within the hour. The one of
// before counts no more.
func (s *SignIns) NewLink() redacted.Text {
	token := make([]byte, secretBytes)
	rand.Read(token) // never fails
	text := base64.RawURLEncoding.EncodeToString(token)
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.link.hash, s.link.expires = sha256.Sum256([]byte(text)), s.now().Add(linkTime)
	return redacted.Text(text)
}

// UseLink tells whether a token is that of the link, which counts no more then.
func (s *SignIns) UseLink(token redacted.Text) bool {
	given := sha256.Sum256([]byte(token.Reveal()))
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if !s.now().Before(s.link.expires) || subtle.ConstantTimeCompare(given[:], s.link.hash[:]) != 1 {
		return false
	}
	s.link.expires = time.Time{}
	return true
}
