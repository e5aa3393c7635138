package password

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
)

var salt = bytes.Repeat([]byte{7}, saltLen)

func TestHashIsAPHCString(t *testing.T) {
	got, err := Hash("correct horse", bytes.NewReader(salt))
	if err != nil {
		t.Fatal(err)
	}
	if want := "$argon2id$v=19$m=19456,t=2,p=1$BwcHBwcHBwcHBwcHBwcHBw$"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want it to start with %s", got, want)
	}
	if NeedsRehash(got) {
		t.Error("a new hash needs no rehash")
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horsf": false, "": false} {
		if ok, err := Matches(password, got); ok != want || err != nil {
			t.Errorf("Matches(%q) = %v, %v, want %v", password, ok, err, want)
		}
	}
}

// TestKnownHash holds the format to a hash that another implementation made:
// the reference command's answer for password "password", salt "somesalt".
func TestKnownHash(t *testing.T) {
	const phc = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	if ok, err := Matches("password", phc); !ok || err != nil {
		t.Errorf("got %v, %v, want a match", ok, err)
	}
	if !NeedsRehash(phc) {
		t.Error("a hash with weak parameters needs a rehash")
	}
}

func TestUnmatched(t *testing.T) {
	phc, err := Unmatched(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := Matches("", phc); ok || err != nil {
		t.Errorf("%s matches: %v, %v", phc, ok, err)
	}
	if NeedsRehash(phc) {
		t.Errorf("%s takes other work than a new hash", phc)
	}
	if _, err := Unmatched(strings.NewReader("short")); err == nil {
		t.Error("it is made without chance")
	}
}

func TestHashRefuses(t *testing.T) {
	if _, err := Hash(strings.Repeat("a", MaxLength+1), bytes.NewReader(salt)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long password: got %v, want ErrTooLong", err)
	}
	if _, err := Hash("a", bytes.NewReader(salt[:3])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short salt: got %v, want io.ErrUnexpectedEOF", err)
	}
	if _, err := Matches(strings.Repeat("a", MaxLength+1), "x"); !errors.Is(err, ErrTooLong) {
		t.Errorf("matching a long password: got %v, want ErrTooLong", err)
	}
}

func TestMalformedHashes(t *testing.T) {
	const salt, tag = "c29tZXNhbHQ", "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for _, phc := range []string{
		"",
		"password",
		"$2b$12$abcdefghijklmnopqrstuu",
		"$argon2i$v=19$m=256,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=16$m=256,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=1048576,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=4294967296,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=1000,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=0,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=2,p=0$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=2,p=255$" + salt + "$" + tag,
		"$argon2id$v=19$m=8,t=2,p=4$" + salt + "$" + tag,
		"$argon2id$v=19$m=+256,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=0256,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$t=2,m=256,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=2$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=2,p=1,x=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=2,p=1$YQ$" + tag,
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$YQ",
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + strings.Repeat("A", 4096),
		"$argon2id$v=19$m=256,t=2,p=1$" + strings.Repeat("A", 4096) + "$" + tag,
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + tag + "$",
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + tag + "=",
		"$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + tag[:42] + "5",
		"x$argon2id$v=19$m=256,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=256,t=2,p=1$c29t\nZXNhbHQ$" + tag,
	} {
		if ok, err := Matches("password", phc); ok || !errors.Is(err, ErrMalformed) {
			t.Errorf("Matches(%q) = %v, %v, want ErrMalformed", phc, ok, err)
		}
		if !NeedsRehash(phc) {
			t.Errorf("NeedsRehash(%q) = false", phc)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4")
	f.Add("$argon2id$v=19$m=1048576,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR")
	f.Fuzz(func(t *testing.T, phc string) {
		h, err := parse(phc)
		if err != nil {
			return
		}
		if h.memory > maxMemory || h.passes > maxPasses || h.threads > maxThreads || len(h.tag) > maxTag {
			t.Errorf("%q: parameters out of bounds: %+v", phc, h)
		}
		if h.String() != phc {
			t.Errorf("%q is written back as %q", phc, h)
		}
	})
}

// TestWork: what a hash asks for is what it costs, and what is none costs nothing.
func TestWork(t *testing.T) {
	phc, err := Hash("correct horse", bytes.NewReader(salt))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Work("x", phc); n != DefaultWork || err != nil {
		t.Errorf("a new hash: %d, %v, want %d", n, err, DefaultWork)
	}
	const rest = "$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	if n, err := Work("x", "$argon2id$v=19$m=65536,t=8,p=4"+rest); n != 65536*8 || err != nil {
		t.Errorf("the largest: %d, %v", n, err)
	}
	if _, err := Work("x", "junk"); !errors.Is(err, ErrMalformed) {
		t.Errorf("junk: %v", err)
	}
	if _, err := Work(strings.Repeat("a", MaxLength+1), phc); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long password: %v", err)
	}
}
