package account

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"ql/internal/redacted"
)

func TestKey(t *testing.T) {
	form := regexp.MustCompile(`^qlk_[0-9A-Za-z]{49}$`)
	for _, secret := range [][]byte{bytes.Repeat([]byte{0}, 32), bytes.Repeat([]byte{0xff}, 32), random(t)} {
		k, err := NewKey(bytes.NewReader(secret))
		if err != nil {
			t.Fatal(err)
		}
		if !form.MatchString(k.Reveal()) {
			t.Errorf("%s has another form", k.Reveal())
		}
		again, err := ParseKey(k.Reveal())
		if err != nil || again != k {
			t.Errorf("%s is read back as %v, %v", k.Reveal(), again, err)
		}
		if k.Hash() != sha256.Sum256([]byte(k.Reveal())) {
			t.Error("the hash is not that of the text")
		}
	}
	if _, err := NewKey(strings.NewReader("short")); err == nil {
		t.Error("a key of too little chance is made")
	}
}

func random(t *testing.T) []byte {
	t.Helper()
	b := make([]byte, 32)
	rand.Read(b)
	return b
}

func TestLastKey(t *testing.T) {
	k, err := NewKey(bytes.NewReader(bytes.Repeat([]byte{0xff}, keyBytes)))
	if err != nil || k.Reveal()[len(KeyPrefix):][:keyDigits] != lastKey {
		t.Errorf("got %s, %v, want the digits %s", k.Reveal(), err, lastKey)
	}
}

// TestKnownKey pins the format: keys that users hold must stay keys.
func TestKnownKey(t *testing.T) {
	k, err := NewKey(bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := k.Reveal(), "qlk_0El6XFXwsUFD8J2vGxsaboW7rZYnQRBP5d9erwRwd293sM4cV"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNamedKeyText: a named key has the form of an API key and a prefix of its own, and neither is
// taken for the other.
func TestNamedKeyText(t *testing.T) {
	k, err := NewNamedKey(bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := k.Reveal(), "qln_0El6XFXwsUFD8J2vGxsaboW7rZYnQRBP5d9erwRwd29"; !strings.HasPrefix(got, want) || len(got) != len(want)+checkDigits {
		t.Errorf("got %s, want %s and a checksum", got, want)
	}
	if again, err := ParseNamedKey(k.Reveal()); err != nil || again != k {
		t.Errorf("%s is read back as %v, %v", k.Reveal(), again, err)
	}
	if got := k.Shown(); got != "qln_0El6XF" {
		t.Errorf("lists show %s", got)
	}
	if _, err := ParseKey(k.Reveal()); err == nil {
		t.Error("it is taken for an API key")
	}
	api, err := NewKey(bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseNamedKey(api.Reveal()); err == nil {
		t.Error("an API key is taken for it")
	}
	// The checksum is of the prefix too.
	if _, err := ParseNamedKey(NamedKeyPrefix + api.Reveal()[len(KeyPrefix):]); err == nil {
		t.Error("an API key with another prefix is taken for it")
	}
}

func TestParseKeyRefuses(t *testing.T) {
	k, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := k.Reveal()
	for i := range len(good) {
		for _, c := range []byte{'0', 'x', '-', 0xff} {
			if good[i] == c {
				continue
			}
			bad := good[:i] + string([]byte{c}) + good[i+1:]
			if _, err := ParseKey(bad); err == nil {
				t.Errorf("%s is taken though byte %d is wrong", bad, i)
			}
		}
	}
	// One more than 256 bits hold, with the checksum it would have.
	beyond := KeyPrefix + lastKey[:keyDigits-1] + string(lastKey[keyDigits-1]+1)
	for _, bad := range []string{"", "qlk_", good[:len(good)-1], good + "0", strings.ToUpper(good), " " + good, beyond + keyCheck(beyond)} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	k, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	type holder struct{ K Key }
	asJSON, err := json.Marshal(holder{k})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(asJSON)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts = append(texts, fmt.Sprintf(verb, k), fmt.Sprintf(verb, holder{k}), fmt.Sprintf(verb, &k))
	}
	for _, text := range texts {
		if strings.Contains(text, k.Reveal()) || strings.Contains(text, fmt.Sprintf("%x", k.Reveal())) || !strings.Contains(text, redacted.Mask) {
			t.Errorf("printed as %s", text)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, newOne := range []func(io.Reader) (Key, error){NewKey, NewNamedKey} {
		k, err := newOne(bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(k.Reveal())
	}
	f.Add("qlk_")
	f.Add("qln_")
	f.Fuzz(func(t *testing.T, text string) {
		newOne := NewKey
		k, err := ParseKey(text)
		if named, other := ParseNamedKey(text); other == nil {
			if err == nil {
				t.Fatalf("%q is a key of both kinds", text)
			}
			k, newOne, err = named, NewNamedKey, nil
		}
		if err != nil {
			return
		}
		digits := text[len(KeyPrefix) : len(KeyPrefix)+keyDigits]
		n := new(big.Int)
		for i := range len(digits) {
			n.Mul(n, big.NewInt(62)).Add(n, big.NewInt(int64(strings.IndexByte(alphabet, digits[i]))))
		}
		if k.Reveal() != text || n.BitLen() > 8*keyBytes {
			t.Fatalf("%q is taken as %q", text, k.Reveal())
		}
		again, err := newOne(bytes.NewReader(n.FillBytes(bytes.Repeat([]byte{0}, keyBytes))))
		if err != nil || again != k {
			t.Errorf("%q is no key that is made so", text)
		}
	})
}
