package seal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checks keeps the record of a key.
type checks struct{ record []byte }

func (c *checks) EnsureKeyCheck(_ context.Context, record []byte) ([]byte, error) {
	if c.record == nil {
		c.record = record
	}
	return c.record, nil
}

func (c *checks) ReplaceKeyCheck(_ context.Context, record []byte) error {
	c.record = record
	return nil
}

// TestRotation goes through the steps of a rotation, each of which a process may end after.
func TestRotation(t *testing.T) {
	file, store := filepath.Join(t.TempDir(), "master.key"), &checks{}
	open := func() *Vault {
		t.Helper()
		v, err := OpenVault(t.Context(), store, file, false)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := open()
	token := v.Token(7, "form")
	sealed, err := v.Seal(7, Secret, "a", []byte("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	wantOpen := func(v *Vault, sealed []byte) {
		t.Helper()
		if plain, err := v.Open(7, Secret, "a", sealed); err != nil || string(plain) != "s3cret" {
			t.Errorf("%q, %v", plain, err)
		}
		if v.Token(7, "form") != token {
			t.Error("tokens are others")
		}
	}
	for round := range 3 {
		earlier := open()
		r, err := BeginRotation(t.Context(), store, file)
		if err != nil || r.Resumed {
			t.Fatalf("%v, resumed: %t", err, r.Resumed)
		}
		during := open()
		wantOpen(during, sealed)
		if again, err := BeginRotation(t.Context(), store, file); err != nil || !again.Resumed || again.vault.id != r.vault.id {
			t.Fatalf("a second start makes another key: %v", err)
		}
		renewed, err := r.Reseal(7, Secret, "a", sealed)
		if err != nil || renewed == nil {
			t.Fatal(err)
		}
		if same, err := r.Reseal(7, Secret, "a", renewed); same != nil || err != nil {
			t.Errorf("it is sealed again: %v", err)
		}
		if _, err := r.Reseal(8, Secret, "a", sealed); !errors.Is(err, ErrDamaged) {
			t.Errorf("of another account: %v", err)
		}
		wantOpen(during, renewed)
		if err := r.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := open()
		wantOpen(after, renewed)
		if _, err := after.Open(7, Secret, "a", sealed); !errors.Is(err, ErrWrongKey) {
			t.Errorf("round %d: the key before is still known: %v", round, err)
		}
		if _, err := earlier.Open(7, Secret, "a", renewed); !errors.Is(err, ErrWrongKey) {
			t.Errorf("round %d: the key before opens what is new: %v", round, err)
		}
		sealed = renewed
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".master-*")); len(left) > 0 || err != nil {
		t.Errorf("%v are left, %v", left, err)
	}

	// The key of another store is not rotated.
	other := filepath.Join(t.TempDir(), "master.key")
	if _, err := makeMasterKey(other); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BeginRotation(t.Context(), store, other); err == nil {
		t.Error("the key of another store is rotated")
	}
	if now, err := os.ReadFile(other); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the file was changed: %v", err)
	}
}

// FuzzKeyRing checks that what is read of a key file is what would be written.
func FuzzKeyRing(f *testing.F) {
	one := keyRing{keys: []MasterKey{newMasterKey()}}
	two := keyRing{keys: []MasterKey{newMasterKey(), newMasterKey()}, tokens: bytes.Repeat([]byte{7}, masterKeyLen)}
	f.Add(one.text())
	f.Add(two.text())
	f.Add(two.text() + one.text())
	f.Add(tokenPrefix)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseKeyRing("file", text)
		if err != nil {
			return
		}
		if strings.Join(strings.Fields(r.text()), " ") != strings.Join(strings.Fields(text), " ") {
			t.Error("it would be written otherwise")
		}
		if _, err := newVault(r); err != nil {
			t.Error(err)
		}
	})
}
