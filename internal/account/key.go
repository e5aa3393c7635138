package account

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"

	"ql/internal/redacted"
)

// KeyPrefix starts every API key, and NamedKeyPrefix every named key, so that scanners find one that
// leaked. They are of one length.
const (
	KeyPrefix      = "qlk_"
	NamedKeyPrefix = "qln_"
)

const (
	keyBytes    = 32
	keyDigits   = 43 // of base 62, for 256 bits
	checkDigits = 6  // of base 62, for a CRC-32
	// lastKey are the digits of 256 bits that are all set. The alphabet is in
	// the order of its characters, so digits compare like the numbers they are.
	lastKey = "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1"
)

// Key is an API key or a named key.
type Key struct{ redacted.Text }

// KeyHash is the SHA-256 of a key's text, by which it is found.
type KeyHash [sha256.Size]byte

// ErrKey says that a text is no key: mistyped, cut off, or something else.
var ErrKey = errors.New("this is no key")

// NewKey makes an API key of 256 bits read from random.
func NewKey(random io.Reader) (Key, error) { return newKey(KeyPrefix, random) }

// NewNamedKey makes a named key likewise.
func NewNamedKey(random io.Reader) (Key, error) { return newKey(NamedKeyPrefix, random) }

func newKey(prefix string, random io.Reader) (Key, error) {
	var secret [keyBytes]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Key{}, fmt.Errorf("making a key: %w", err)
	}
	body := prefix + base62(secret[:])
	return Key{redacted.Text(body + keyCheck(body))}, nil
}

// ParseKey takes a text that NewKey may have made: its checksum holds.
func ParseKey(text string) (Key, error) { return parseKey(KeyPrefix, text) }

// ParseNamedKey takes a text that NewNamedKey may have made.
func ParseNamedKey(text string) (Key, error) { return parseKey(NamedKeyPrefix, text) }

func parseKey(prefix, text string) (Key, error) {
	if len(text) != len(prefix)+keyDigits+checkDigits || !strings.HasPrefix(text, prefix) {
		return Key{}, ErrKey
	}
	body, check := text[:len(prefix)+keyDigits], text[len(prefix)+keyDigits:]
	digits := body[len(prefix):]
	if !isBase62(digits) || digits > lastKey || check != keyCheck(body) {
		return Key{}, ErrKey
	}
	return Key{redacted.Text(text)}, nil
}

func keyCheck(body string) string {
	n := crc32.ChecksumIEEE([]byte(body))
	var check [checkDigits]byte
	for i := checkDigits - 1; i >= 0; i-- {
		check[i] = alphabet[n%uint32(len(alphabet))]
		n /= uint32(len(alphabet))
	}
	return string(check[:])
}

// shownDigits are how many digits of a key lists show, by which its owner knows it: what is left of
// it cannot be guessed.
const shownDigits = 6

// Shown is the beginning of the key, as lists show it.
func (k Key) Shown() string { return string(k.Text[:len(KeyPrefix)+shownDigits]) }

// Hash is what the store knows of the key.
func (k Key) Hash() KeyHash { return sha256.Sum256([]byte(k.Text)) }

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// base62 writes the bytes of a key as its digits.
func base62(secret []byte) string {
	var digits [keyDigits]byte
	n, base, digit := new(big.Int).SetBytes(secret), big.NewInt(int64(len(alphabet))), new(big.Int)
	for i := keyDigits - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		digits[i] = alphabet[digit.Int64()]
	}
	return string(digits[:])
}

func isBase62(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z') {
			return false
		}
	}
	return true
}
