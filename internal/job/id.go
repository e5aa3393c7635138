package job

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
)

// ID names a job: a random UUID of version 4. Who knows it may see the job, so
// it is a secret and never logged whole.
type ID [16]byte

// NewID returns a fresh ID.
func NewID() ID {
	var id ID
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

const idLength = 36

// startsGroup reports whether a hyphen stands before byte i.
func startsGroup(i int) bool { return i == 4 || i == 6 || i == 8 || i == 10 }

// String returns the ID in the one form in which it is written.
func (id ID) String() string {
	var text [idLength]byte
	at := 0
	for i, b := range id {
		if startsGroup(i) {
			text[at] = '-'
			at++
		}
		hex.Encode(text[at:], []byte{b})
		at += 2
	}
	return string(text[:])
}

// ParseID reads an ID in the form of String, in large or small letters. It
// reports false for any other text, and for a UUID that NewID would not make.
func ParseID(text string) (ID, bool) {
	var id ID
	if len(text) != idLength {
		return ID{}, false
	}
	at := 0
	for i := range id {
		if startsGroup(i) {
			if text[at] != '-' {
				return ID{}, false
			}
			at++
		}
		high, low := digit(text[at]), digit(text[at+1])
		if high > 15 || low > 15 {
			return ID{}, false
		}
		id[i] = high<<4 | low
		at += 2
	}
	return id, id[6]>>4 == 4 && id[8]>>6 == 2
}

// digit returns the value of a hexadecimal digit, more than 15 for anything
// else.
func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// Short returns the first eight digits, which are enough to find a job in a
// log and not enough to see it.
func (id ID) Short() string { return id.String()[:8] }

// LogValue keeps the whole ID out of logs.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.Short()) }
