package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"ql/internal/account"
)

// Hash chains an entry to all that are before it.
type Hash [sha256.Size]byte

// String writes the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// canonicalHead starts the canonical bytes of every entry, so that no other bytes that are hashed
// are taken for one.
const canonicalHead = "ql audit entry 1\x00"

// Canonical appends the bytes of the entry that its hash is over: each number in 8 bytes, big
// endian, and each text behind its length in 4.
func (e *Entry) Canonical(dst []byte) []byte {
	dst = append(dst, canonicalHead...)
	for _, n := range []int64{int64(e.Account), e.Number, e.At.UnixMicro(), e.Count} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	for _, text := range []string{string(e.Act), e.On, string(e.By), e.Key, e.From, string(e.Result)} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(text)))
		dst = append(dst, text...)
	}
	return dst
}

// HashAfter returns the hash of the entry behind one with the hash before; zero for the first ever.
func (e *Entry) HashAfter(before Hash) Hash {
	return sha256.Sum256(e.Canonical(before[:]))
}

// Follow puts the entry behind a log's newest, and returns the head of the log with it.
func (h Head) Follow(e *Entry) Head {
	e.Number = h.Number + 1
	e.Hash = e.HashAfter(h.Hash)
	h.Number, h.Hash = e.Number, e.Hash
	h.Bytes += e.Bytes()
	return h
}

// PrunedOn writes what an entry of the act Pruned is about: the newest entry that was removed, and
// its hash.
func PrunedOn(number int64, hash Hash) string {
	return strconv.FormatInt(number, 10) + " " + hash.String()
}

// ParsePruned reads what PrunedOn wrote.
func ParsePruned(on string) (number int64, hash Hash, ok bool) {
	digits, hexadecimal, _ := strings.Cut(on, " ")
	number, err := strconv.ParseInt(digits, 10, 64)
	raw, hexErr := hex.DecodeString(hexadecimal)
	if err != nil || hexErr != nil || number < 1 || len(raw) != len(hash) {
		return 0, Hash{}, false
	}
	hash = Hash(raw)
	return number, hash, PrunedOn(number, hash) == on
}

// Broken says which entry of a log is not as it was appended.
type Broken struct {
	Number int64
	Why    string
}

// Error names the entry.
func (b *Broken) Error() string { return fmt.Sprintf("entry %d: %s", b.Number, b.Why) }

// Verified is what Verify found to be whole.
type Verified struct {
	Entries int64
	Head    Head
}

// Verify checks that a log is as it was appended: no entry is changed, missing or added, but for
// the oldest that were pruned. The first that is not is a *Broken. Whoever can write to the store
// can make another whole log: the hash of the newest entry, noted elsewhere, tells that it is
// another.
func Verify(ctx context.Context, s Store, id account.ID) (Verified, error) {
	var v Verified
	c := &checker{account: id}
	head, err := s.Scan(ctx, id, func(e Entry) error {
		v.Entries++
		return c.add(e)
	})
	v.Head = head
	if err == nil {
		err = c.end(head)
	}
	return v, err
}

// checker follows a chain. Where the log was pruned, the hash before its oldest entry is known when
// the anchor is found, which is the newest entry of the act Pruned: the oldest is checked at the end.
type checker struct {
	account     account.ID
	first, last Entry

	anchored   bool
	pruned     int64
	prunedHash Hash
}

func (c *checker) add(e Entry) error {
	switch {
	case e.Account != c.account:
		return &Broken{e.Number, "belongs to another log"}
	case c.last.Number == 0:
		c.first = e
		if e.Number == 1 && e.Hash != e.HashAfter(Hash{}) {
			return changed(e.Number)
		}
	case e.Number != c.last.Number+1:
		return &Broken{c.last.Number + 1, "is missing"}
	case e.Hash != e.HashAfter(c.last.Hash):
		return changed(e.Number)
	}
	if e.Act == Pruned {
		var ok bool
		if c.pruned, c.prunedHash, ok = ParsePruned(e.On); !ok {
			return &Broken{e.Number, "says that the log was pruned, and not where"}
		}
		c.anchored = true
	}
	c.last = e
	return nil
}

func changed(number int64) error {
	return &Broken{number, "was changed, or one before it was: its hash is another"}
}

// end checks the beginning by the newest anchor, and the end by the head.
func (c *checker) end(head Head) error {
	switch {
	case c.last.Number == 0 && head == Head{}:
		return nil
	case c.last.Number == 0:
		return &Broken{head.Pruned + 1, "is missing"}
	case !c.anchored && c.first.Number != 1:
		return &Broken{1, "is missing, and no entry says that the log was pruned"}
	case c.anchored && c.first.Number != c.pruned+1:
		return &Broken{c.pruned + 1, "is missing: the log was pruned only before it"}
	case c.anchored && c.first.Hash != c.first.HashAfter(c.prunedHash):
		return changed(c.first.Number)
	case head.Number > c.last.Number:
		return &Broken{c.last.Number + 1, "is missing"}
	case head.Number != c.last.Number || head.Hash != c.last.Hash:
		return &Broken{c.last.Number, "is not the newest that was appended"}
	case head.Pruned != c.pruned || head.PrunedHash != c.prunedHash:
		return &Broken{c.first.Number, "does not begin where the log was pruned"}
	}
	return nil
}
