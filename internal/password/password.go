// Package password makes and checks argon2id hashes in the PHC string format
// ($argon2id$v=19$m=…,t=…,p=…$salt$tag). It decides what a hash costs and what
// of a stored string is believed; who may log in, how often one may try and
// how many hashes run at once are its callers' business, the last by a Gate.
package password

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// MaxLength is the most bytes of a password: longer ones are refused before
// any work is done.
const MaxLength = 256

// ErrTooLong says that a password has more than MaxLength bytes.
var ErrTooLong = fmt.Errorf("a password has at most %d bytes", MaxLength)

// ErrMalformed says that a stored text is no hash that this package knows, or
// that it asks for more work than any of ours does.
var ErrMalformed = errors.New("this is no password hash: it must be an argon2id hash such as PASSWORD_HASH makes")

// Parameters of new hashes: OWASP's minimum for argon2id, about 30 ms of one
// core.
const (
	memory  = 19456 // KiB
	passes  = 2
	threads = 1
	saltLen = 16
	tagLen  = 32
)

// Bounds of what is believed of a stored string. Scripts hand over strings of
// their own making: nobody may spend a gigabyte by writing m=1048576.
const (
	maxMemory  = 64 << 10 // KiB
	maxPasses  = 8
	maxThreads = 4
	minSalt    = 8
	maxSalt    = 64
	minTag     = 16
	maxTag     = 64
)

// Hash returns the PHC string of password, with a salt read from salt.
func Hash(password string, salt io.Reader) (string, error) {
	if len(password) > MaxLength {
		return "", ErrTooLong
	}
	h := hash{memory: memory, passes: passes, threads: threads, salt: make([]byte, saltLen)}
	if _, err := io.ReadFull(salt, h.salt); err != nil {
		return "", fmt.Errorf("reading a salt: %w", err)
	}
	h.tag = h.derive(password, tagLen)
	return h.String(), nil
}

// Unmatched returns a PHC string that no password is known to match, and that takes as long to
// check as one of Hash: its tag is read from random, as its salt is.
func Unmatched(random io.Reader) (string, error) {
	h := hash{memory: memory, passes: passes, threads: threads, salt: make([]byte, saltLen), tag: make([]byte, tagLen)}
	for _, part := range [][]byte{h.salt, h.tag} {
		if _, err := io.ReadFull(random, part); err != nil {
			return "", fmt.Errorf("reading a salt: %w", err)
		}
	}
	return h.String(), nil
}

// Matches reports whether password is the one that phc was made of. The
// comparison takes the same time wherever the two differ.
func Matches(password, phc string) (bool, error) {
	if len(password) > MaxLength {
		return false, ErrTooLong
	}
	h, err := parse(phc)
	if err != nil {
		return false, err
	}
	tag := h.derive(password, len(h.tag))
	return subtle.ConstantTimeCompare(tag, h.tag) == 1, nil
}

// NeedsRehash reports whether phc was made with other parameters than new
// hashes are, so that it should be made anew when its password is next at
// hand.
func NeedsRehash(phc string) bool {
	h, err := parse(phc)
	return err != nil || h.memory != memory || h.passes != passes || h.threads != threads ||
		len(h.salt) != saltLen || len(h.tag) != tagLen
}

// DefaultWork is what a new hash costs.
const DefaultWork = memory * passes

// The bytes that are held while a password is hashed: for a new hash, and for the
// largest that is believed.
const (
	DefaultMemory = memory << 10
	MaxMemory     = maxMemory << 10
)

// Work returns what checking a password against phc costs: kibibytes of memory
// times passes over them. The error is that of Matches.
func Work(password, phc string) (uint64, error) {
	if len(password) > MaxLength {
		return 0, ErrTooLong
	}
	h, err := parse(phc)
	if err != nil {
		return 0, err
	}
	return uint64(h.memory) * uint64(h.passes), nil
}

// hash is a PHC string taken apart.
type hash struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
	salt    []byte
	tag     []byte
}

func (h *hash) derive(password string, n int) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.threads, uint32(n))
}

// encoding is the PHC format's base64: no padding, no stray bits.
var encoding = base64.RawStdEncoding.Strict()

// String writes the hash in the PHC string format.
func (h *hash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.threads,
		encoding.EncodeToString(h.salt), encoding.EncodeToString(h.tag))
}

func parse(phc string) (*hash, error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return nil, ErrMalformed
	}
	params := strings.Split(parts[3], ",")
	if len(params) != 3 {
		return nil, ErrMalformed
	}
	m, okM := parameter(params[0], "m=", maxMemory)
	t, okT := parameter(params[1], "t=", maxPasses)
	p, okP := parameter(params[2], "p=", maxThreads)
	if !okM || !okT || !okP || m < 8*p {
		return nil, ErrMalformed
	}
	salt, okSalt := decode(parts[4], minSalt, maxSalt)
	tag, okTag := decode(parts[5], minTag, maxTag)
	if !okSalt || !okTag {
		return nil, ErrMalformed
	}
	return &hash{memory: m, passes: t, threads: uint8(p), salt: salt, tag: tag}, nil
}

// parameter reads "m=19456" and its like: 1 to most, in its only spelling.
func parameter(s, prefix string, most uint64) (uint32, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n < 1 || n > most || strconv.FormatUint(n, 10) != digits {
		return 0, false
	}
	return uint32(n), true
}

func decode(s string, least, most int) ([]byte, bool) {
	if n := encoding.DecodedLen(len(s)); n < least || n > most || strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := encoding.DecodeString(s)
	return b, err == nil
}
